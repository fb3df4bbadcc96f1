/* SPDX-License-Identifier: MIT */
/* Cleanup at the end of a scope, and moving a value out of it. */
#ifndef PTN_BASE_AUTO_H
#define PTN_BASE_AUTO_H

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#define ptn_auto(fn)   __attribute__((cleanup(fn)))
#define ptn_must_check __attribute__((warn_unused_result))

/* The pointer, leaving NULL behind: the cleanup then frees nothing. */
#define PTN_TAKE(ptr)                                                                              \
    ({                                                                                             \
        __typeof__(ptr) ptn_taken_ = (ptr);                                                        \
        (ptr) = NULL;                                                                              \
        ptn_taken_;                                                                                \
    })

#define PTN_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* `ptn_auto(ptn_freep) struct x *p = NULL;` */
static inline void ptn_freep(void *ptr_to_ptr)
{
    free(*(void **)ptr_to_ptr);
}

/* `ptn_auto(ptn_closep) int fd = -1;` */
static inline void ptn_closep(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd); /* nothing was written through it that a failed close could lose */
}

/* `ptn_auto(ptn_closedirp) DIR *dir = NULL;` */
static inline void ptn_closedirp(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

#endif
