/* SPDX-License-Identifier: MIT */
/* The limits of this process: getrlimit, statvfs and access of /dev/shm. */
#include "sys/limit.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "base/auto.h"

static const char SHM[] = "/dev/shm";

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

/* NCCL's segments are nccl-XXXXXX (ncclShmOpen). */
static int64_t count_nccl_files(void)
{
    ptn_auto(ptn_closedirp) DIR *dir = opendir(SHM);
    struct dirent *entry;
    int64_t n = 0;

    if (!dir)
        return PTN_LIMIT_UNKNOWN;
    while ((entry = readdir(dir)))
        n += strncmp(entry->d_name, "nccl-", 5) == 0;
    return n;
}

void ptn_limits_get(struct ptn_limits *ret_limits)
{
    const int64_t unknown = PTN_LIMIT_UNKNOWN;
    struct ptn_limits l = {unknown, unknown, unknown, unknown, unknown, unknown, 0, unknown};
    struct statvfs fs;

    get(RLIMIT_NOFILE, &l.nofile_soft, &l.nofile_hard);
    get(RLIMIT_MEMLOCK, &l.memlock_soft_bytes, &l.memlock_hard_bytes);
    if (access(SHM, W_OK | X_OK) < 0)
        l.shm_err_no = errno;
    l.shm_nccl_files = count_nccl_files();
    if (statvfs(SHM, &fs) == 0) {
        l.shm_size_bytes = (int64_t)(fs.f_blocks * fs.f_frsize);
        l.shm_free_bytes = (int64_t)(fs.f_bavail * fs.f_frsize);
    }
    *ret_limits = l;
}
