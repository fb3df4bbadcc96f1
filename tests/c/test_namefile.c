/* SPDX-License-Identifier: MIT */
/* Words of the lines of /etc/hosts and its like. */
#include <string.h>

#include "check.h"
#include "sys/namefile.h"

static void test_words(void)
{
    static const char line[] = "\t10.0.0.1  a b\tc # d";
    static const char *const expected[] = {"10.0.0.1", "a", "b", "c"};
    struct ptn_words words = ptn_words_of(line, strlen(line), "#;");
    const char *word;
    size_t len, n = 0;

    while (ptn_words_next(&words, &word, &len)) {
        CHECK(n < 4 && ptn_words_is(word, len, expected[n]));
        n++;
    }
    CHECK_EQ(n, 4);
    CHECK(!ptn_words_next(&words, &word, &len));
}

static void test_nothing(void)
{
    static const char *const lines[] = {"", "   ", "# all", " ; x", "\r"};
    const char *word;
    size_t len;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct ptn_words words = ptn_words_of(lines[i], strlen(lines[i]), "#;");

        CHECK(!ptn_words_next(&words, &word, &len));
    }
}

static void test_bytes(void)
{
    static const char line[] = "a\0b c";
    struct ptn_words words = ptn_words_of(line, sizeof(line) - 1, "#");
    const char *word;
    size_t len;

    CHECK(ptn_words_next(&words, &word, &len)); /* a zero byte is a byte like any other */
    CHECK_EQ(len, 3);
    CHECK(!ptn_words_is(word, len, "a"));
    CHECK(ptn_words_next(&words, &word, &len));
    CHECK(ptn_words_is(word, len, "c"));
}

int main(void)
{
    test_words();
    test_nothing();
    test_bytes();
    CHECK_DONE();
}
