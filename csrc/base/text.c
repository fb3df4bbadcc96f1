/* SPDX-License-Identifier: MIT */
/* Strict parsing and bounded copying of short texts. */
#include "base/text.h"

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
