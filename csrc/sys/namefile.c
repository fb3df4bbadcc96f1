/* SPDX-License-Identifier: MIT */
/* Lines of /etc/hosts (hosts(5)), resolv.conf(5) and nsswitch.conf(5). */
#include "sys/namefile.h"

#include <string.h>

struct ptn_words ptn_words_of(const char *line, size_t len, const char *comments)
{
    struct ptn_words words = {line, line + len};

    for (const char *p = line; p < words.end; p++)
        if (*p && strchr(comments, *p)) {
            words.end = p;
            break;
        }
    return words;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

bool ptn_words_next(struct ptn_words *words, const char **ret_word, size_t *ret_len)
{
    const char *p = words->at;

    while (p < words->end && is_blank(*p))
        p++;
    words->at = p;
    while (p < words->end && !is_blank(*p))
        p++;
    if (p == words->at)
        return false;
    *ret_word = words->at;
    *ret_len = (size_t)(p - words->at);
    words->at = p;
    return true;
}

bool ptn_words_is(const char *word, size_t len, const char *text)
{
    return strlen(text) == len && memcmp(word, text, len) == 0;
}
