/* SPDX-License-Identifier: MIT */
/* Lines of /etc/hosts and its like: every word lies within its line. */
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "sys/namefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *line, *word;
    size_t pos = 0, n, len;

    while (ptn_text_line((const char *)data, size, &pos, &line, &n)) {
        struct ptn_words words = ptn_words_of(line, n, "#;");

        while (ptn_words_next(&words, &word, &len))
            if (len == 0 || word < line || word + len > line + n)
                __builtin_trap();
    }
    return 0;
}
