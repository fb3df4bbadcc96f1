/* SPDX-License-Identifier: MIT */
/* The limits of this process, and the size of its shared memory. */
#ifndef PTN_SYS_LIMIT_H
#define PTN_SYS_LIMIT_H

#include <stdint.h>

#define PTN_LIMIT_UNLIMITED INT64_C(-1)
#define PTN_LIMIT_UNKNOWN   INT64_C(-2)

struct ptn_limits {
    int64_t nofile_soft, nofile_hard;
    int64_t memlock_soft_bytes, memlock_hard_bytes;
    int64_t shm_size_bytes, shm_free_bytes; /* of /dev/shm; free for this user */
    int shm_err_no;                         /* why no file may be made in it; 0 = it may */
    int64_t shm_nccl_files;                 /* called nccl-* */
};

/* Never fails: what cannot be had is PTN_LIMIT_UNKNOWN. */
void ptn_limits_get(struct ptn_limits *ret_limits);

#endif
