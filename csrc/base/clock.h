/* SPDX-License-Identifier: MIT */
/* Monotonic time in nanoseconds. */
#ifndef PTN_BASE_CLOCK_H
#define PTN_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define PTN_MS_NS INT64_C(1000000)
#define PTN_S_NS  INT64_C(1000000000)

static inline int64_t ptn_clock_now_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
    return (int64_t)ts.tv_sec * PTN_S_NS + ts.tv_nsec;
}

#endif
