/* SPDX-License-Identifier: MIT */
/* What the driver says about a link. */
#ifndef PTN_SYS_NIC_H
#define PTN_SYS_NIC_H

#include "sys/link.h"

#define PTN_NIC_FEATURES 128

struct ptn_nic_detail {
    /* -1 = the driver does not say */
    int32_t rx_ring, rx_ring_max, tx_ring, tx_ring_max;
    int32_t combined_channels, combined_channels_max, rx_channels, tx_channels;
    int8_t pause_autoneg, pause_rx, pause_tx;
    uint32_t fec;                        /* active ETHTOOL_FEC_… bits; 0 = not told */
    char features[PTN_NIC_FEATURES][32]; /* names of the active ones */
    size_t n_features;
};

/* Fill speed, duplex, autonegotiation, driver, PCI address and NUMA node of all links of the table.
 * What a driver does not say stays unknown. */
ptn_must_check int ptn_nic_fill(struct ptn_link_table *table, const struct ptn_ctl *ctl,
                                struct ptn_err *err);

/* Rings, channels, pause, FEC and offloads of one link. */
ptn_must_check int ptn_nic_detail_get(const char *name, struct ptn_nic_detail *ret_detail,
                                      struct ptn_err *err);

#endif
