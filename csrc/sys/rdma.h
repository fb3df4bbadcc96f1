/* SPDX-License-Identifier: MIT */
/* The InfiniBand and RoCE devices of this host, and whether this process may use them. */
#ifndef PTN_SYS_RDMA_H
#define PTN_SYS_RDMA_H

#include <stddef.h>

#include "base/auto.h"
#include "base/err.h"

#define PTN_RDMA_DEVICES 256

struct ptn_rdma_device {
    char name[64];
    char uverbs[96]; /* its device file; empty = the kernel names none */
    int err_no;      /* why it may not be opened; 0 = it may */
};

/* All devices, by name. `root` is "/" or a private copy of sys and dev. A host without any gives
 * none. Free the array. */
ptn_must_check int ptn_rdma_list(const char *root, struct ptn_rdma_device **ret_devices,
                                 size_t *ret_n, struct ptn_err *err);

#endif
