/* SPDX-License-Identifier: MIT */
/* What a kernel setting says in this namespace. */
#ifndef PTN_SYS_SYSCTL_H
#define PTN_SYS_SYSCTL_H

#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/err.h"

#define PTN_SYSCTL_KEY   256
#define PTN_SYSCTL_VALUE 65536 /* ip_local_reserved_ports may list thousands */

enum ptn_sysctl_scope {
    PTN_SYSCTL_UNKNOWN,
    PTN_SYSCTL_NAMESPACE, /* this network namespace has its own value */
    PTN_SYSCTL_HOST,      /* one value for the whole kernel */
};

struct ptn_sysctl {
    char *value; /* owned; NULL when it could not be read */
    enum ptn_sysctl_scope scope;
    int32_t err_no;  /* 0, or why value is NULL */
    int8_t writable; /* by this process; -1 = absent */
};

/* -EINVAL with err filled for a key that is no sysctl name. */
ptn_must_check int ptn_sysctl_check_key(const char *key, struct ptn_err *err);

/* Read n keys ("net.core.somaxconn" or "net/ipv4/conf/eth0.1/rp_filter", as sysctl(8)). Free with
 * ptn_sysctl_free. */
ptn_must_check int ptn_sysctl_get(const char *const *keys, size_t n, struct ptn_sysctl **ret_rows,
                                  struct ptn_err *err);

void ptn_sysctl_free(struct ptn_sysctl *rows, size_t n);

#endif
