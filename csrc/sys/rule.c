/* SPDX-License-Identifier: MIT */
/* Policy rules: RTM_GETRULE. */
#include "sys/rule.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/fib_rules.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "sys/nl.h"

struct list {
    struct ptn_vec rules;
    size_t before; /* rows of the families that are done */
};

static void put_prefix(const struct nlattr *attr, int family, int bits, char *to, size_t size)
{
    char address[INET6_ADDRSTRLEN] = "";

    if (nla_len(attr) != (family == AF_INET ? 4 : 16))
        return;
    (void)inet_ntop(family, nla_data(attr), address, sizeof(address));
    (void)snprintf(to, size, bits == (family == AF_INET ? 32 : 128) ? "%s" : "%s/%d", address,
                   bits);
}

static int rule_row(struct nlmsghdr *nlh, void *user, struct ptn_err *err)
{
    const struct fib_rule_hdr *hdr = nlmsg_data(nlh);
    struct nlattr *tb[FRA_MAX + 1];
    struct list *list = user;
    struct ptn_rule *rule;

    if (nlh->nlmsg_type != RTM_NEWRULE)
        return 0;
    if (nlmsg_parse(nlh, sizeof(*hdr), tb, FRA_MAX, NULL) < 0)
        return ptn_err_set(err, PTN_ERR_SYSTEM, EPROTO, "parse a rule");
    rule = ptn_vec_add(&list->rules, err);
    if (!rule)
        return -ENOMEM;
    rule->family = hdr->family;
    rule->action = hdr->action;
    rule->inverted = hdr->flags & FIB_RULE_INVERT;
    rule->priority = tb[FRA_PRIORITY] ? nla_get_u32(tb[FRA_PRIORITY]) : 0;
    rule->table = tb[FRA_TABLE] ? nla_get_u32(tb[FRA_TABLE]) : hdr->table;
    rule->fwmark = tb[FRA_FWMARK] ? (int64_t)nla_get_u32(tb[FRA_FWMARK]) : -1;
    if (tb[FRA_SRC])
        put_prefix(tb[FRA_SRC], hdr->family, hdr->src_len, rule->source, sizeof(rule->source));
    if (tb[FRA_DST])
        put_prefix(tb[FRA_DST], hdr->family, hdr->dst_len, rule->destination,
                   sizeof(rule->destination));
    if (tb[FRA_IIFNAME])
        (void)ptn_text_copy_n(rule->iif, sizeof(rule->iif), nla_data(tb[FRA_IIFNAME]),
                              (size_t)nla_len(tb[FRA_IIFNAME]));
    if (tb[FRA_OIFNAME])
        (void)ptn_text_copy_n(rule->oif, sizeof(rule->oif), nla_data(tb[FRA_OIFNAME]),
                              (size_t)nla_len(tb[FRA_OIFNAME]));
    return 0;
}

static void forget(void *user)
{
    struct list *list = user;

    list->rules.n = list->before;
}

int ptn_rule_list(const struct ptn_ctl *ctl, struct ptn_rule **ret_rules, size_t *ret_n,
                  struct ptn_err *err)
{
    struct list list = {.rules = PTN_VEC(struct ptn_rule, PTN_RULES, "rules")};
    ptn_auto(ptn_nl_closep) struct nl_sock *sk = NULL;
    int r = ptn_nl_open(&sk, NETLINK_ROUTE, err);

    for (int i = 0; i < 2 && r == 0; i++) {
        const struct fib_rule_hdr hdr = {.family = i ? AF_INET6 : AF_INET};
        ptn_auto(ptn_nl_msgp) struct nl_msg *msg = NULL;

        list.before = list.rules.n;
        r = ptn_nl_request(&msg, RTM_GETRULE, &hdr, sizeof(hdr), err);
        if (r == 0)
            r = ptn_nl_dump(sk, msg, rule_row, forget, &list, ctl, "dump of rules", err);
        if (r == -EAFNOSUPPORT || r == -EOPNOTSUPP)
            r = 0; /* a kernel without policy routing, or without IPv6 */
    }
    if (r < 0) {
        ptn_vec_done(&list.rules);
        return r;
    }
    *ret_rules = ptn_vec_take(&list.rules, ret_n);
    return 0;
}

const char *ptn_rule_action_name(uint8_t action)
{
    static const char *const names[] = {
        [FR_ACT_UNSPEC] = "none",         [FR_ACT_TO_TBL] = "lookup",
        [FR_ACT_GOTO] = "goto",           [FR_ACT_NOP] = "nop",
        [FR_ACT_BLACKHOLE] = "blackhole", [FR_ACT_UNREACHABLE] = "unreachable",
        [FR_ACT_PROHIBIT] = "prohibit",
    };

    return action < PTN_COUNT(names) ? names[action] : NULL;
}
