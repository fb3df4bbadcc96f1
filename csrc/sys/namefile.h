/* SPDX-License-Identifier: MIT */
/* Lines of /etc/hosts, resolv.conf and nsswitch.conf. */
#ifndef PTN_SYS_NAMEFILE_H
#define PTN_SYS_NAMEFILE_H

#include <stdbool.h>
#include <stddef.h>

#define PTN_NAMEFILE_MAX_BYTES (4u << 20)

/* The words of a line: separated by blanks, ended by a comment sign of `comments` or the line's
 * end. */
struct ptn_words {
    const char *at, *end; /* what is left of the line */
};

struct ptn_words ptn_words_of(const char *line, size_t len, const char *comments);

/* The next word, not 0-ended; false at the end. */
bool ptn_words_next(struct ptn_words *words, const char **ret_word, size_t *ret_len);

/* Is the word this text. */
bool ptn_words_is(const char *word, size_t len, const char *text);

#endif
