/* SPDX-License-Identifier: MIT */
/* Policy rules: which table decides on a packet. */
#ifndef PTN_SYS_RULE_H
#define PTN_SYS_RULE_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ctl.h"
#include "base/err.h"

#define PTN_RULES 32768

struct ptn_rule {
    char source[INET6_ADDRSTRLEN + 4], destination[INET6_ADDRSTRLEN + 4]; /* empty = all */
    char iif[IF_NAMESIZE], oif[IF_NAMESIZE];                              /* empty = any */
    int64_t priority, table, fwmark;                                      /* fwmark -1 = none */
    uint8_t family, action;                                               /* AF_…, FR_ACT_… */
    bool inverted; /* `not`: for packets that do not match */
};

/* All rules, IPv4 then IPv6. Free the array. */
ptn_must_check int ptn_rule_list(const struct ptn_ctl *ctl, struct ptn_rule **ret_rules,
                                 size_t *ret_n, struct ptn_err *err);

/* "lookup", "prohibit", …; NULL for an action without a name. */
const char *ptn_rule_action_name(uint8_t action);

#endif
