/* SPDX-License-Identifier: MIT */
/* Which way the kernel would send a packet, and the default routes. */
#ifndef PTN_SYS_ROUTE_H
#define PTN_SYS_ROUTE_H

#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ctl.h"
#include "base/err.h"

#define PTN_ROUTE_TARGETS  4096
#define PTN_ROUTE_DEFAULTS 1024

struct ptn_route {
    char target[80];                  /* as asked for; "default" for an entry of a table */
    char source[INET6_ADDRSTRLEN];    /* empty = not told */
    char gateway[INET6_ADDRSTRLEN];   /* empty = on the link */
    char interface[IF_NAMESIZE];      /* empty = none */
    uint8_t family, type;             /* AF_…, RTN_… */
    int64_t table, metric, mtu_bytes; /* -1 = not told */
    int32_t err_no;                   /* 0, or why there is no way */
};

/* For each numeric target ("10.0.0.1", "fe80::1%eth0") the kernel's own choice, by RTM_GETROUTE: no
 * table is dumped. A target without a way is a row with err_no. Free the array. */
ptn_must_check int ptn_route_get(const char *const *targets, size_t n, const struct ptn_ctl *ctl,
                                 struct ptn_route **ret_routes, struct ptn_err *err);

/* The default routes (prefix length 0) of all tables, IPv4 then IPv6. Free the array. */
ptn_must_check int ptn_route_list_defaults(const struct ptn_ctl *ctl, struct ptn_route **ret_routes,
                                           size_t *ret_n, struct ptn_err *err);

/* "unicast", "blackhole", …; NULL for a type without a name. */
const char *ptn_route_type_name(uint8_t type);

#endif
