/* SPDX-License-Identifier: MIT */
/* The ARP and neighbour-discovery table. */
#ifndef PTN_SYS_NEIGH_H
#define PTN_SYS_NEIGH_H

#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ctl.h"
#include "base/err.h"

#define PTN_NEIGHBOURS 65536

struct ptn_neighbour {
    char address[INET6_ADDRSTRLEN];
    char interface[IF_NAMESIZE];
    char mac[3 * 32]; /* empty = unknown */
    uint16_t state;   /* NUD_… */
    uint8_t family;
};

/* What `ip neigh` shows: no entries in state NOARP. Free the array. */
ptn_must_check int ptn_neigh_list(const struct ptn_ctl *ctl, struct ptn_neighbour **ret_neighbours,
                                  size_t *ret_n, struct ptn_err *err);

/* "reachable", "stale", …; "none" for a state without a name. */
const char *ptn_neigh_state_name(uint16_t state);

#endif
