/* SPDX-License-Identifier: MIT */
/* The limits of this process: getrlimit, statvfs of /dev/shm. */
#include "sys/limit.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

static int64_t value_of(rlim_t value)
{
    return value == RLIM_INFINITY || value > INT64_MAX ? PTN_LIMIT_UNLIMITED : (int64_t)value;
}

static void get(__rlimit_resource_t which, int64_t *ret_soft, int64_t *ret_hard)
{
    struct rlimit limit;

    if (getrlimit(which, &limit) < 0)
        return;
    *ret_soft = value_of(limit.rlim_cur);
    *ret_hard = value_of(limit.rlim_max);
}

void ptn_limits_get(struct ptn_limits *ret_limits)
{
    const int64_t unknown = PTN_LIMIT_UNKNOWN;
    struct ptn_limits l = {unknown, unknown, unknown, unknown, unknown, unknown};
    struct statvfs fs;

    get(RLIMIT_NOFILE, &l.nofile_soft, &l.nofile_hard);
    get(RLIMIT_MEMLOCK, &l.memlock_soft_bytes, &l.memlock_hard_bytes);
    if (statvfs("/dev/shm", &fs) == 0) {
        l.shm_size_bytes = (int64_t)(fs.f_blocks * fs.f_frsize);
        l.shm_free_bytes = (int64_t)(fs.f_bavail * fs.f_frsize);
    }
    *ret_limits = l;
}
