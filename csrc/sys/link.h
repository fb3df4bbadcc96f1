/* SPDX-License-Identifier: MIT */
/* The links of this network namespace with their addresses. */
#ifndef PTN_SYS_LINK_H
#define PTN_SYS_LINK_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ctl.h"
#include "base/err.h"

#define PTN_LINKS     65536
#define PTN_ADDRESSES 262144
#define PTN_LINK_MAC  (3 * 32) /* InfiniBand's has 20 bytes */

struct ptn_address {
    char address[INET6_ADDRSTRLEN];
    char peer[INET6_ADDRSTRLEN]; /* empty = none */
    char label[IF_NAMESIZE];     /* empty = none */
    uint32_t index;              /* of the link */
    int32_t prefix;
    uint32_t flags;        /* IFA_F_… */
    uint8_t family, scope; /* AF_…, RT_SCOPE_… */
};

struct ptn_link_counters {
    uint64_t rx_bytes, tx_bytes, rx_packets, tx_packets;
    uint64_t rx_errors, tx_errors, rx_dropped, tx_dropped;
};

struct ptn_link {
    char name[IF_NAMESIZE];
    char info_kind[24]; /* empty = physical or loopback */
    char mac[PTN_LINK_MAC], perm_mac[PTN_LINK_MAC];
    char master[IF_NAMESIZE], lower[IF_NAMESIZE]; /* empty = none here */
    char driver[32], pci_address[32];             /* empty = unknown */
    char *altnames;                      /* owned: names, each ended by 0, then one more 0 */
    const struct ptn_address *addresses; /* in the table of addresses */
    size_t n_addresses;
    struct ptn_link_counters counters;
    uint32_t flags;                       /* IFF_… */
    uint8_t state;                        /* IF_OPER_… */
    int8_t full_duplex, carrier, autoneg; /* -1 = unknown */
    uint16_t type;                        /* ARPHRD_… */
    bool has_counters, is_wireless;
    int32_t index, mtu, numa_node, peer_netns, speed_mbps; /* the last three -1 = unknown */
    int32_t master_index, lower_index;                     /* 0 = none */
};

struct ptn_link_table {
    struct ptn_link *links; /* owned, in the kernel's order */
    size_t n;
    struct ptn_address *addresses; /* owned, by link */
    size_t n_addresses;
};

/* All links, or with `name` (a name or an alternative name) that one alone by a filtered question:
 * an unknown name is an empty table. Speed, duplex, driver and place are filled by ptn_nic_fill. */
ptn_must_check int ptn_link_list(const char *name, const struct ptn_ctl *ctl,
                                 struct ptn_link_table *ret_table, struct ptn_err *err);

void ptn_link_table_done(struct ptn_link_table *table);

/* What people call this sort of link: "physical", "veth", "tunnel", …; the kernel's own word where
 * there is no other. */
const char *ptn_link_kind(const struct ptn_link *link);

/* May there be a device below: a driver, a PCI address, a NUMA node. */
bool ptn_link_has_device(const struct ptn_link *link);

/* "global", "link", …; NULL for a scope without a name. */
const char *ptn_address_scope_name(uint8_t scope);

#endif
