/* SPDX-License-Identifier: MIT */
/* Assertions of the C unit tests: each failure prints its place, and main goes on. */
#ifndef PTN_TESTS_CHECK_H
#define PTN_TESTS_CHECK_H

#include <stdio.h>
#include <string.h>

static int check_failures, check_count;

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        check_count++;                                                                             \
        if (!(cond)) {                                                                             \
            check_failures++;                                                                      \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond);                   \
        }                                                                                          \
    } while (0)

/* Two integers of any type up to 64 bits. */
#define CHECK_EQ(a, b)                                                                             \
    do {                                                                                           \
        long long check_a_ = (long long)(a), check_b_ = (long long)(b);                            \
        check_count++;                                                                             \
        if (check_a_ != check_b_) {                                                                \
            check_failures++;                                                                      \
            fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #a, check_a_,     \
                    check_b_);                                                                     \
        }                                                                                          \
    } while (0)

#define CHECK_STR(a, b)                                                                            \
    do {                                                                                           \
        const char *check_a_ = (a), *check_b_ = (b);                                               \
        check_count++;                                                                             \
        if (!check_a_ || strcmp(check_a_, check_b_) != 0) {                                        \
            check_failures++;                                                                      \
            fprintf(stderr, "%s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #a,           \
                    check_a_ ? check_a_ : "(null)", check_b_);                                     \
        }                                                                                          \
    } while (0)

/* The end of main. */
#define CHECK_DONE()                                                                               \
    do {                                                                                           \
        printf("%s: %d checks, %d failed\n", __FILE__, check_count, check_failures);               \
        return check_failures || !check_count ? 1 : 0;                                             \
    } while (0)

#endif
