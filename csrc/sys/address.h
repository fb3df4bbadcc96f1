/* SPDX-License-Identifier: MIT */
/* The addresses of links. */
#ifndef PTN_SYS_ADDRESS_H
#define PTN_SYS_ADDRESS_H

#include "sys/link.h"
#include "sys/nl.h"

/* All addresses, or those of one link (index > 0), sorted by link and within it in the kernel's
 * order, IPv4 first. Free the array. */
ptn_must_check int ptn_address_list(struct nl_sock *sk, int32_t index, const struct ptn_ctl *ctl,
                                    struct ptn_address **ret_addresses, size_t *ret_n,
                                    struct ptn_err *err);

#endif
