/* SPDX-License-Identifier: MIT */
/* Strict parsing and bounded copying of short texts. */
#ifndef PTN_BASE_TEXT_H
#define PTN_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"

/* Whole text is one decimal number in [min, max]: 0, else -EINVAL (no number, trailing text) or
 * -ERANGE. White space is not forgiven. */
ptn_must_check int ptn_text_i64(const char *text, int64_t min, int64_t max, int64_t *ret_value);

/* Copy at most size - 1 bytes and end them with 0; true when nothing was cut. `size` > 0. */
bool ptn_text_copy(char *to, size_t size, const char *from);

/* The same from a buffer that need not end with 0. */
bool ptn_text_copy_n(char *to, size_t size, const char *from, size_t from_len);

/* Cut white space at the end in place. */
void ptn_text_rstrip(char *text);

/* The next line of buf from *pos on: its start and length without the line end; false at the end.
 */
bool ptn_text_line(const char *buf, size_t len, size_t *pos, const char **ret_line,
                   size_t *ret_len);

/* Lower-case hex with colons of `len` bytes into `to`, whose size must be at least 3 * len (or 1).
 */
bool ptn_text_mac(char *to, size_t size, const uint8_t *bytes, size_t len);

#define PTN_TEXT_IP 46 /* INET6_ADDRSTRLEN */

/* The address as inet_ntop writes it, whose printf is a third of the work for a table of addresses.
 * AF_INET has 4 bytes, AF_INET6 16. */
void ptn_text_ip(char to[static PTN_TEXT_IP], int family, const uint8_t *bytes);

#endif
