/* SPDX-License-Identifier: MIT */
/* The addresses of links: RTM_GETADDR. */
#include "sys/address.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"

struct list {
    struct ptn_vec rows;
    int32_t index; /* keep this link's only; 0 = all: old kernels ignore the filter */
};

static void put(const struct nlattr *attr, int family, char *to)
{
    if (attr && nla_len(attr) == (family == AF_INET ? 4 : 16))
        ptn_text_ip(to, family, nla_data(attr));
}

static int address_row(struct nlmsghdr *nlh, void *user, struct ptn_err *err)
{
    const struct ifaddrmsg *msg = nlmsg_data(nlh);
    struct nlattr *tb[IFA_MAX + 1], *local, *other;
    struct list *list = user;
    struct ptn_address *row;

    if (nlh->nlmsg_type != RTM_NEWADDR ||
        (msg->ifa_family != AF_INET && msg->ifa_family != AF_INET6) ||
        (list->index && (int32_t)msg->ifa_index != list->index))
        return 0;
    if (nlmsg_parse(nlh, sizeof(*msg), tb, IFA_MAX, NULL) < 0)
        return ptn_err_set(err, PTN_ERR_SYSTEM, EPROTO, "parse an address");
    row = ptn_vec_add(&list->rows, err);
    if (!row)
        return -ENOMEM;
    /* IFA_LOCAL is the own address, IFA_ADDRESS the other end, where there are both */
    local = tb[IFA_LOCAL] ? tb[IFA_LOCAL] : tb[IFA_ADDRESS];
    other = tb[IFA_LOCAL] ? tb[IFA_ADDRESS] : NULL;
    row->index = msg->ifa_index;
    row->family = msg->ifa_family;
    row->scope = msg->ifa_scope;
    row->prefix = msg->ifa_prefixlen;
    row->flags = tb[IFA_FLAGS] ? nla_get_u32(tb[IFA_FLAGS]) : msg->ifa_flags;
    put(local, row->family, row->address);
    if (local && other &&
        (nla_len(local) != nla_len(other) ||
         memcmp(nla_data(local), nla_data(other), (size_t)nla_len(local)) != 0))
        put(other, row->family, row->peer);
    if (tb[IFA_LABEL])
        (void)ptn_text_copy_n(row->label, sizeof(row->label), nla_data(tb[IFA_LABEL]),
                              (size_t)nla_len(tb[IFA_LABEL]));
    return 0;
}

static void forget(void *user)
{
    struct list *list = user;

    list->rows.n = 0;
}

/* Stable without an extra key: the rows lie in one array, so their places break ties. */
static int by_link(const void *a, const void *b)
{
    const struct ptn_address *const *x = a, *const *y = b;

    if ((*x)->index != (*y)->index)
        return (*x)->index < (*y)->index ? -1 : 1;
    return (*x > *y) - (*x < *y);
}

static int sort_by_link(struct ptn_vec *rows, struct ptn_err *err)
{
    ptn_auto(ptn_freep) struct ptn_address **order = calloc(rows->n + 1, sizeof(*order));
    struct ptn_address *items = rows->items, *sorted;

    if (!order)
        return ptn_err_memory(err, "addresses");
    for (size_t i = 0; i < rows->n; i++)
        order[i] = &items[i];
    qsort(order, rows->n, sizeof(*order), by_link);
    sorted = calloc(rows->n + 1, sizeof(*sorted));
    if (!sorted)
        return ptn_err_memory(err, "addresses");
    for (size_t i = 0; i < rows->n; i++)
        sorted[i] = *order[i];
    free(rows->items);
    rows->items = sorted;
    return 0;
}

int ptn_address_list(struct nl_sock *sk, int32_t index, const struct ptn_ctl *ctl,
                     struct ptn_address **ret_addresses, size_t *ret_n, struct ptn_err *err)
{
    struct list list = {.rows = PTN_VEC(struct ptn_address, PTN_ADDRESSES, "addresses"),
                        .index = index};
    const struct ifaddrmsg hdr = {.ifa_family = AF_UNSPEC, .ifa_index = (uint32_t)index};
    ptn_auto(ptn_nl_msgp) struct nl_msg *msg = NULL;
    int r = ptn_nl_request(&msg, RTM_GETADDR, &hdr, sizeof(hdr), err);

    if (r == 0)
        r = ptn_nl_dump(sk, msg, address_row, forget, &list, ctl, "dump of addresses", err);
    if (r == -ENODEV && index)
        r = 0; /* the link went away in between: it has no addresses any more */
    if (r == 0)
        r = sort_by_link(&list.rows, err);
    if (r < 0) {
        ptn_vec_done(&list.rows);
        return r;
    }
    *ret_addresses = ptn_vec_take(&list.rows, ret_n);
    return 0;
}

const char *ptn_address_scope_name(uint8_t scope)
{
    switch (scope) {
    case RT_SCOPE_UNIVERSE:
        return "global";
    case RT_SCOPE_SITE:
        return "site";
    case RT_SCOPE_LINK:
        return "link";
    case RT_SCOPE_HOST:
        return "host";
    case RT_SCOPE_NOWHERE:
        return "nowhere";
    default:
        return NULL;
    }
}
