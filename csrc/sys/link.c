/* SPDX-License-Identifier: MIT */
/* The links of this network namespace: RTM_GETLINK and RTM_GETADDR. */
#include "sys/link.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "sys/address.h"
#include "sys/nl.h"

static void copy_text(const struct nlattr *attr, char *to, size_t size)
{
    if (attr)
        (void)ptn_text_copy_n(to, size, nla_data(attr), (size_t)nla_len(attr));
}

static void copy_mac(const struct nlattr *attr, char *to)
{
    if (attr && nla_len(attr) > 0)
        (void)ptn_text_mac(to, PTN_LINK_MAC, nla_data(attr), (size_t)nla_len(attr));
}

/* libnl does not know IFLA_PROP_LIST. Names of up to 127 bytes, any number of them. */
static int copy_altnames(const struct nlattr *list, struct ptn_link *link, struct ptn_err *err)
{
    const struct nlattr *attr;
    size_t size = 1, at = 0;
    int left;

    if (!list)
        return 0;
    nla_for_each_nested(attr, list, left) size += (size_t)nla_len(attr) + 1;
    link->altnames = calloc(1, size);
    if (!link->altnames)
        return ptn_err_memory(err, "alternative names");
    nla_for_each_nested(attr, list, left)
    {
        if (nla_type(attr) != IFLA_ALT_IFNAME || nla_len(attr) == 0)
            continue;
        (void)ptn_text_copy_n(link->altnames + at, size - at, nla_data(attr),
                              (size_t)nla_len(attr));
        at += strlen(link->altnames + at) + 1;
    }
    return 0;
}

static void copy_counters(const struct nlattr *attr, struct ptn_link *link)
{
    struct rtnl_link_stats64 stats = {0};
    size_t len = attr ? (size_t)nla_len(attr) : 0;

    if (!attr)
        return;
    memcpy(&stats, nla_data(attr), len < sizeof(stats) ? len : sizeof(stats));
    link->has_counters = true;
    link->counters = (struct ptn_link_counters){
        .rx_bytes = stats.rx_bytes,
        .tx_bytes = stats.tx_bytes,
        .rx_packets = stats.rx_packets,
        .tx_packets = stats.tx_packets,
        .rx_errors = stats.rx_errors,
        .tx_errors = stats.tx_errors,
        .rx_dropped = stats.rx_dropped,
        .tx_dropped = stats.tx_dropped,
    };
}

static void copy_parent(struct nlattr **tb, struct ptn_link *link)
{
    char bus[16] = "";

    copy_text(tb[IFLA_PARENT_DEV_BUS_NAME], bus, sizeof(bus));
    if (strcmp(bus, "pci") == 0)
        copy_text(tb[IFLA_PARENT_DEV_NAME], link->pci_address, sizeof(link->pci_address));
}

static int link_row(struct nlmsghdr *nlh, void *user, struct ptn_err *err)
{
    const struct ifinfomsg *info = nlmsg_data(nlh);
    struct nlattr *tb[IFLA_MAX + 1], *kind[IFLA_INFO_MAX + 1];
    struct ptn_link *link;

    if (nlh->nlmsg_type != RTM_NEWLINK || info->ifi_family != AF_UNSPEC)
        return 0;
    if (nlmsg_parse(nlh, sizeof(*info), tb, IFLA_MAX, NULL) < 0)
        return ptn_err_set(err, PTN_ERR_SYSTEM, EPROTO, "parse a link");
    link = ptn_vec_add(user, err);
    if (!link)
        return -ENOMEM;
    link->index = info->ifi_index;
    link->type = info->ifi_type;
    link->flags = info->ifi_flags;
    link->carrier = link->autoneg = link->full_duplex = -1;
    link->numa_node = link->peer_netns = link->speed_mbps = -1;
    copy_text(tb[IFLA_IFNAME], link->name, sizeof(link->name));
    link->mtu = tb[IFLA_MTU] ? (int32_t)nla_get_u32(tb[IFLA_MTU]) : -1;
    link->state = tb[IFLA_OPERSTATE] ? nla_get_u8(tb[IFLA_OPERSTATE]) : 0;
    if (tb[IFLA_CARRIER] && link->flags & IFF_UP) /* of a link that is down it says nothing */
        link->carrier = nla_get_u8(tb[IFLA_CARRIER]) != 0;
    copy_mac(tb[IFLA_ADDRESS], link->mac);
    copy_mac(tb[IFLA_PERM_ADDRESS], link->perm_mac);
    if (tb[IFLA_MASTER])
        link->master_index = (int32_t)nla_get_u32(tb[IFLA_MASTER]);
    if (tb[IFLA_LINK_NETNSID])
        link->peer_netns = (int32_t)nla_get_u32(tb[IFLA_LINK_NETNSID]);
    if (tb[IFLA_LINK] && !tb[IFLA_LINK_NETNSID]) /* else an index of the other namespace */
        link->lower_index = (int32_t)nla_get_u32(tb[IFLA_LINK]);
    if (tb[IFLA_LINKINFO] && nla_parse_nested(kind, IFLA_INFO_MAX, tb[IFLA_LINKINFO], NULL) == 0)
        copy_text(kind[IFLA_INFO_KIND], link->info_kind, sizeof(link->info_kind));
    copy_counters(tb[IFLA_STATS64], link);
    copy_parent(tb, link);
    return copy_altnames(tb[IFLA_PROP_LIST], link, err);
}

static void drop_links(void *user)
{
    struct ptn_vec *vec = user;
    struct ptn_link *links = vec->items;

    for (size_t i = 0; i < vec->n; i++)
        free(links[i].altnames);
    vec->n = 0;
}

/* Without the counters of IPv6, a quarter of each answer, that nobody here reads; those of the
 * link still come. */
static int link_request(struct nl_msg **ret_msg, struct ptn_err *err)
{
    const struct ifinfomsg info = {.ifi_family = AF_UNSPEC};
    ptn_auto(ptn_nl_msgp) struct nl_msg *msg = NULL;
    int r = ptn_nl_request(&msg, RTM_GETLINK, &info, sizeof(info), err);

    if (r < 0)
        return r;
    if (nla_put_u32(msg, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS) < 0)
        return ptn_err_memory(err, "netlink request");
    *ret_msg = PTN_TAKE(msg);
    return 0;
}

static int ask_link(struct nl_sock *sk, int attribute, const char *name, struct ptn_vec *links,
                    const struct ptn_ctl *ctl, struct ptn_err *err)
{
    ptn_auto(ptn_nl_msgp) struct nl_msg *msg = NULL;
    int r = link_request(&msg, err);

    if (r < 0)
        return r;
    if (nla_put_string(msg, attribute, name) < 0)
        return ptn_err_memory(err, "netlink request");
    return ptn_nl_ask(sk, msg, link_row, links, ctl, "ask for a link", err);
}

static int ask_links(struct nl_sock *sk, const char *name, struct ptn_vec *links,
                     const struct ptn_ctl *ctl, struct ptn_err *err)
{
    ptn_auto(ptn_nl_msgp) struct nl_msg *msg = NULL;
    int r;

    if (!name) {
        r = link_request(&msg, err);
        return r < 0 ? r
                     : ptn_nl_dump(sk, msg, link_row, drop_links, links, ctl, "dump of links", err);
    }
    /* IFLA_IFNAME is limited to 15 bytes, and the first kernels with alternative names (5.5) do not
     * look for them by it. */
    r = strlen(name) < IF_NAMESIZE ? ask_link(sk, IFLA_IFNAME, name, links, ctl, err) : -ENODEV;
    if (r == -ENODEV)
        r = ask_link(sk, IFLA_ALT_IFNAME, name, links, ctl, err);
    /* ENODEV: no such link; EINVAL: a kernel before 5.5, which has no alternative names */
    return r == -ENODEV || (r == -EINVAL && links->n == 0) ? 0 : r;
}

static int by_index(const void *a, const void *b)
{
    const struct ptn_link *const *x = a, *const *y = b;

    return ((*x)->index > (*y)->index) - ((*x)->index < (*y)->index);
}

static struct ptn_link *find(struct ptn_link *const *sorted, size_t n, int32_t index)
{
    const struct ptn_link key = {.index = index}, *key_ptr = &key;
    struct ptn_link *const *hit = bsearch(&key_ptr, sorted, n, sizeof(*sorted), by_index);

    return hit ? *hit : NULL;
}

/* A master or lower link that was not read (one link by name) is asked of the kernel. */
static void name_other(struct ptn_link *const *sorted, size_t n, int32_t index, char *to)
{
    const struct ptn_link *other = find(sorted, n, index);

    if (other)
        (void)ptn_text_copy(to, IF_NAMESIZE, other->name);
    else if (!if_indextoname((unsigned)index, to))
        to[0] = 0;
}

static int join(struct ptn_link_table *table, struct ptn_err *err)
{
    ptn_auto(ptn_freep) struct ptn_link **sorted = calloc(table->n + 1, sizeof(*sorted));

    if (!sorted)
        return ptn_err_memory(err, "links");
    for (size_t i = 0; i < table->n; i++)
        sorted[i] = &table->links[i];
    qsort(sorted, table->n, sizeof(*sorted), by_index);
    for (size_t i = 0; i < table->n; i++) {
        struct ptn_link *link = &table->links[i];

        if (link->master_index)
            name_other(sorted, table->n, link->master_index, link->master);
        if (link->lower_index && link->lower_index != link->index)
            name_other(sorted, table->n, link->lower_index, link->lower);
    }
    for (size_t i = 0; i < table->n_addresses; i++) {
        const struct ptn_address *address = &table->addresses[i];
        struct ptn_link *link = find(sorted, table->n, (int32_t)address->index);

        if (link && !link->addresses)
            link->addresses = address;
        if (link)
            link->n_addresses++;
    }
    return 0;
}

int ptn_link_list(const char *name, const struct ptn_ctl *ctl, struct ptn_link_table *ret_table,
                  struct ptn_err *err)
{
    struct ptn_vec links = PTN_VEC(struct ptn_link, PTN_LINKS, "links");
    ptn_auto(ptn_nl_closep) struct nl_sock *sk = NULL;
    struct ptn_link_table table = {0};
    struct ptn_err own = {0};
    int r;

    err = err ? err : &own;
    r = ptn_nl_open(&sk, NETLINK_ROUTE, err);
    if (r == 0)
        r = ask_links(sk, name, &links, ctl, err);
    table.links = ptn_vec_take(&links, &table.n);
    if (r == 0 && table.n > 0)
        r = ptn_address_list(sk, name ? table.links[0].index : 0, ctl, &table.addresses,
                             &table.n_addresses, err);
    if (r == 0)
        r = join(&table, err);
    if (r < 0) {
        ptn_link_table_done(&table);
        return r;
    }
    *ret_table = table;
    return 0;
}

void ptn_link_table_done(struct ptn_link_table *table)
{
    for (size_t i = 0; i < table->n; i++)
        free(table->links[i].altnames);
    free(table->links);
    free(table->addresses);
    *table = (struct ptn_link_table){0};
}
