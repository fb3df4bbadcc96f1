/* SPDX-License-Identifier: MIT */
/* What a name resolves to, as getaddrinfo gives it to torch, with a deadline. */
#ifndef PTN_PROBE_RESOLVE_H
#define PTN_PROBE_RESOLVE_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/ctl.h"
#include "base/err.h"
#include "probe/sock.h"

#define PTN_RESOLVE_ADDRESSES 64  /* more of one name are not kept */
#define PTN_RESOLVE_NAMES     256 /* in one call; each has a thread */

enum ptn_resolve_flags {
    PTN_RESOLVE_REVERSE = 1,   /* also the name of each address */
    PTN_RESOLVE_CANONICAL = 2, /* also the canonical name */
};

struct ptn_resolved {
    struct ptn_sock_addr addr;
    int8_t local;       /* 1 a socket of this host can be bound to it, 0 not, -1 unknown */
    int64_t reverse_ns; /* -1 = not asked, or not answered before the deadline */
    char reverse[NI_MAXHOST];
};

struct ptn_resolution {
    int gai;         /* 0, or EAI_…; PTN_RESOLVE_LATE when the deadline passed */
    int err_no;      /* with EAI_SYSTEM */
    int64_t time_ns; /* -1 when it did not end */
    char canonical[NI_MAXHOST];
    struct ptn_resolved *addrs; /* owned, in getaddrinfo's order */
    size_t n;
};

#define PTN_RESOLVE_LATE 1 /* EAI_ values are negative */

/* Resolve n names at once (1 to PTN_RESOLVE_NAMES), each in a thread of its own that is abandoned
 * at the deadline: getaddrinfo cannot be cancelled. The array is freed with ptn_resolve_free. */
ptn_must_check int ptn_resolve_run(const char *const *names, size_t n, unsigned flags,
                                   const struct ptn_ctl *ctl,
                                   struct ptn_resolution **ret_resolutions, struct ptn_err *err);

void ptn_resolve_free(struct ptn_resolution *resolutions, size_t n);

#endif
