/* SPDX-License-Identifier: MIT */
/* Who listens on which TCP port of this namespace, and how many sockets are in which state. */
#ifndef PTN_SYS_PORT_H
#define PTN_SYS_PORT_H

#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ctl.h"
#include "base/err.h"

#define PTN_PORT_LISTENERS 65536 /* more than that is an error */

struct ptn_listener {
    char address[INET6_ADDRSTRLEN];
    char interface[IF_NAMESIZE]; /* empty = not bound to one */
    char command[17];            /* empty = owner unknown */
    uint64_t inode;
    uint32_t uid;
    int32_t pid;     /* -1 = owner unknown */
    int32_t ppid;    /* -1 = unknown */
    int32_t backlog; /* -1 = unknown */
    int32_t port;
    int8_t v6only; /* 1, 0, or -1 for IPv4 and where it is not told */
    uint8_t family;
};

struct ptn_port_counts {
    int64_t established, time_wait, syn_sent, close_wait, listen;
};

struct ptn_port_span {
    int64_t first, last;
};

struct ptn_port_ranges {
    int64_t ephemeral_first, ephemeral_last; /* -1 = unknown */
    int64_t unprivileged_start;              /* -1 = unknown */
    struct ptn_port_span *reserved;          /* owned */
    size_t n_reserved;
};

/* All TCP listeners, IPv4 then IPv6, with their owners as far as this user may see them. By
 * sock_diag; where the kernel has none (gVisor, seccomp) from /proc/net/tcp and tcp6. Free the
 * array. */
ptn_must_check int ptn_port_list(const struct ptn_ctl *ctl, struct ptn_listener **ret_listeners,
                                 size_t *ret_n, struct ptn_err *err);

/* Sockets by state, both families. */
ptn_must_check int ptn_port_count(const struct ptn_ctl *ctl, struct ptn_port_counts *ret_counts,
                                  struct ptn_err *err);

/* net.ipv4.ip_local_port_range, ip_local_reserved_ports, ip_unprivileged_port_start. */
ptn_must_check int ptn_port_ranges_get(struct ptn_port_ranges *ret_ranges, struct ptn_err *err);

#endif
