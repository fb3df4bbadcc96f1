/* SPDX-License-Identifier: MIT */
/* Strict parsing and bounded copying of short texts. */
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

int ptn_text_i64(const char *text, int64_t min, int64_t max, int64_t *ret_value)
{
    const char *p = text;
    bool negative = *p == '-', fits = true;
    int64_t value = 0;

    if (negative)
        p++;
    if (*p < '0' || *p > '9')
        return -EINVAL;
    for (; *p >= '0' && *p <= '9'; p++) {
        int digit = *p - '0';

        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value)) /* negative has room for INT64_MIN */
            fits = false;
    }
    if (*p)
        return -EINVAL;
    if (!fits || (!negative && value == INT64_MIN))
        return -ERANGE;
    if (!negative)
        value = -value;
    if (value < min || value > max)
        return -ERANGE;
    *ret_value = value;
    return 0;
}

bool ptn_text_copy_n(char *to, size_t size, const char *from, size_t from_len)
{
    size_t n = strnlen(from, from_len);
    bool whole = n < size;

    if (!whole)
        n = size - 1;
    memcpy(to, from, n);
    to[n] = 0;
    return whole;
}

bool ptn_text_copy(char *to, size_t size, const char *from)
{
    return ptn_text_copy_n(to, size, from, size);
}

void ptn_text_rstrip(char *text)
{
    size_t n = strlen(text);

    while (n > 0 && strchr(" \t\r\n\v\f", text[n - 1]))
        text[--n] = 0;
}

bool ptn_text_line(const char *buf, size_t len, size_t *pos, const char **ret_line, size_t *ret_len)
{
    const char *end;
    size_t n;

    if (*pos >= len)
        return false;
    end = memchr(buf + *pos, '\n', len - *pos);
    n = end ? (size_t)(end - (buf + *pos)) : len - *pos;
    *ret_line = buf + *pos;
    *ret_len = n;
    *pos += n + (end ? 1 : 0);
    return true;
}

bool ptn_text_mac(char *to, size_t size, const uint8_t *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";

    if (size == 0 || (len > 0 && size < 3 * len))
        return false;
    to[0] = 0;
    for (size_t i = 0; i < len; i++) {
        to[3 * i] = digits[bytes[i] >> 4];
        to[3 * i + 1] = digits[bytes[i] & 15];
        to[3 * i + 2] = i + 1 < len ? ':' : 0;
    }
    return true;
}

static char *put_number(char *to, unsigned value, unsigned base)
{
    char digits[8];
    int n = 0;

    do {
        digits[n++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    while (n > 0)
        *to++ = digits[--n];
    return to;
}

/* Where the longest run of zeros begins, and its length: 0 when none is longer than one. */
static int longest_zeros(const unsigned words[static 8], int *ret_len)
{
    int at = 0, longest = 1;

    for (int i = 0, n = 0; i < 8; i++) {
        n = words[i] ? 0 : n + 1;
        if (n > longest) {
            longest = n;
            at = i + 1 - n;
        }
    }
    *ret_len = longest > 1 ? longest : 0;
    return at;
}

static void put_ip6(char *to, const uint8_t *bytes)
{
    unsigned words[8];
    int zeros, n_zeros;

    for (int i = 0; i < 8; i++)
        words[i] = (unsigned)bytes[2 * i] << 8 | bytes[2 * i + 1];
    zeros = longest_zeros(words, &n_zeros);
    for (int i = 0; i < 8; i++) {
        if (n_zeros && i == zeros) {
            *to++ = ':';
            i += n_zeros - 1;
            if (i == 7)
                *to++ = ':';
            continue;
        }
        if (i > 0)
            *to++ = ':';
        to = put_number(to, words[i], 16);
    }
    *to = 0;
}

void ptn_text_ip(char to[static PTN_TEXT_IP], int family, const uint8_t *bytes)
{
    static const uint8_t zeros[10];

    if (family == AF_INET) {
        for (int i = 0; i < 4; i++) {
            to = put_number(to, bytes[i], 10);
            *to++ = i < 3 ? '.' : 0;
        }
    } else if (memcmp(bytes, zeros, sizeof(zeros)) == 0) { /* may end as IPv4: ::ffff:10.0.0.1 */
        (void)inet_ntop(AF_INET6, bytes, to, PTN_TEXT_IP);
    } else {
        put_ip6(to, bytes);
    }
}
