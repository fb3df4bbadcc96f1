/* SPDX-License-Identifier: MIT */
/* The lines of /proc/net/tcp and tcp6 (net/ipv4/tcp_ipv4.c, get_tcp4_sock). */
#include "sys/proctcp.h"

#include <string.h>
#include <sys/socket.h>

struct cursor {
    const char *at, *end;
};

static void skip_blanks(struct cursor *c)
{
    while (c->at < c->end && *c->at == ' ')
        c->at++;
}

static int hex_digit(char ch)
{
    if (ch >= '0' && ch <= '9')
        return ch - '0';
    if (ch >= 'A' && ch <= 'F')
        return ch - 'A' + 10;
    if (ch >= 'a' && ch <= 'f')
        return ch - 'a' + 10;
    return -1;
}

/* Exactly `digits` hex digits. */
static bool take_hex(struct cursor *c, int digits, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (int i = 0; i < digits; i++) {
        int digit = c->at < c->end ? hex_digit(*c->at) : -1;

        if (digit < 0)
            return false;
        value = value << 4 | (unsigned)digit;
        c->at++;
    }
    *ret_value = value;
    return true;
}

static bool take_char(struct cursor *c, char ch)
{
    if (c->at >= c->end || *c->at != ch)
        return false;
    c->at++;
    return true;
}

static bool take_decimal(struct cursor *c, uint64_t *ret_value)
{
    const char *start;
    uint64_t value = 0;

    skip_blanks(c);
    for (start = c->at; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (unsigned)(*c->at - '0'), &value))
            return false;
    *ret_value = value;
    return c->at > start;
}

static void skip_word(struct cursor *c)
{
    skip_blanks(c);
    while (c->at < c->end && *c->at != ' ')
        c->at++;
}

/* "0100007F:1F90": each 32-bit word of the address is printed in host order. */
static bool take_endpoint(struct cursor *c, struct ptn_proctcp *row)
{
    const char *colon;
    int words = 0;
    uint64_t value;

    skip_blanks(c);
    colon = memchr(c->at, ':', (size_t)(c->end - c->at));
    if (!colon || (colon - c->at != 8 && colon - c->at != 32))
        return false;
    words = (int)(colon - c->at) / 8;
    row->family = words == 1 ? AF_INET : AF_INET6;
    for (int i = 0; i < words; i++) {
        uint32_t word;

        if (!take_hex(c, 8, &value))
            return false;
        word = (uint32_t)value;
        memcpy(row->address + 4 * i, &word, sizeof(word));
    }
    if (!take_char(c, ':') || !take_hex(c, 4, &value))
        return false;
    row->port = (uint16_t)value;
    return true;
}

bool ptn_proctcp_parse(const char *line, size_t len, struct ptn_proctcp *ret_row)
{
    struct cursor c = {line, line + len};
    struct ptn_proctcp row = {0};
    uint64_t value;

    if (!take_decimal(&c, &value) || !take_char(&c, ':') || !take_endpoint(&c, &row))
        return false;
    skip_word(&c); /* the remote end */
    skip_blanks(&c);
    if (!take_hex(&c, 2, &value))
        return false;
    row.state = (uint8_t)value;
    for (int i = 0; i < 3; i++)
        skip_word(&c); /* queues, timer, retransmits */
    if (!take_decimal(&c, &value) || value > UINT32_MAX)
        return false;
    row.uid = (uint32_t)value;
    if (!take_decimal(&c, &value) || !take_decimal(&c, &row.inode)) /* timeout, inode */
        return false;
    *ret_row = row;
    return true;
}
