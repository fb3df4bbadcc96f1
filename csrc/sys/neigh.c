/* SPDX-License-Identifier: MIT */
/* The ARP and neighbour-discovery table: RTM_GETNEIGH. */
#include "sys/neigh.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "base/text.h"
#include "base/vec.h"
#include "sys/nl.h"

static int neigh_row(struct nlmsghdr *nlh, void *user, struct ptn_err *err)
{
    const struct ndmsg *ndm = nlmsg_data(nlh);
    struct nlattr *tb[NDA_MAX + 1];
    struct ptn_neighbour *row;

    if (nlh->nlmsg_type != RTM_NEWNEIGH ||
        (ndm->ndm_family != AF_INET && ndm->ndm_family != AF_INET6) || ndm->ndm_state & NUD_NOARP)
        return 0;
    if (nlmsg_parse(nlh, sizeof(*ndm), tb, NDA_MAX, NULL) < 0)
        return ptn_err_set(err, PTN_ERR_SYSTEM, EPROTO, "parse a neighbour");
    if (!tb[NDA_DST] || nla_len(tb[NDA_DST]) != (ndm->ndm_family == AF_INET ? 4 : 16))
        return 0;
    row = ptn_vec_add(user, err);
    if (!row)
        return -ENOMEM;
    row->family = ndm->ndm_family;
    row->state = ndm->ndm_state;
    (void)inet_ntop(row->family, nla_data(tb[NDA_DST]), row->address, sizeof(row->address));
    if (!if_indextoname((unsigned)ndm->ndm_ifindex, row->interface))
        row->interface[0] = 0;
    if (tb[NDA_LLADDR])
        (void)ptn_text_mac(row->mac, sizeof(row->mac), nla_data(tb[NDA_LLADDR]),
                           (size_t)nla_len(tb[NDA_LLADDR]));
    return 0;
}

static void forget(void *user)
{
    struct ptn_vec *rows = user;

    rows->n = 0;
}

int ptn_neigh_list(const struct ptn_ctl *ctl, struct ptn_neighbour **ret_neighbours, size_t *ret_n,
                   struct ptn_err *err)
{
    ptn_auto(ptn_vec_done) struct ptn_vec rows =
        PTN_VEC(struct ptn_neighbour, PTN_NEIGHBOURS, "neighbours");
    ptn_auto(ptn_nl_closep) struct nl_sock *sk = NULL;
    ptn_auto(ptn_nl_msgp) struct nl_msg *msg = NULL;
    const struct ndmsg ndm = {.ndm_family = AF_UNSPEC};
    int r = ptn_nl_open(&sk, NETLINK_ROUTE, err);

    if (r == 0)
        r = ptn_nl_request(&msg, RTM_GETNEIGH, &ndm, sizeof(ndm), err);
    if (r == 0)
        r = ptn_nl_dump(sk, msg, neigh_row, forget, &rows, ctl, "dump of neighbours", err);
    if (r < 0)
        return r;
    *ret_neighbours = ptn_vec_take(&rows, ret_n);
    return 0;
}

const char *ptn_neigh_state_name(uint16_t state)
{
    switch (state) {
    case NUD_INCOMPLETE:
        return "incomplete";
    case NUD_REACHABLE:
        return "reachable";
    case NUD_STALE:
        return "stale";
    case NUD_DELAY:
        return "delay";
    case NUD_PROBE:
        return "probe";
    case NUD_FAILED:
        return "failed";
    case NUD_PERMANENT:
        return "permanent";
    default:
        return "none";
    }
}
