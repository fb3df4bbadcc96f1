/* SPDX-License-Identifier: MIT */
/* TCP sockets of this namespace: NETLINK_SOCK_DIAG, or /proc/net/tcp where it is refused. */
#include "sys/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "base/vec.h"
#include "sys/nl.h"
#include "sys/owner.h"
#include "sys/proctcp.h"

#define PROC_MAX_BYTES (64u << 20)
#define BIT(state)     (1u << (state))

/* Every socket of the wanted states, one call each. */
typedef int (*on_socket)(const struct inet_diag_msg *msg, struct nlattr **tb, void *user,
                         struct ptn_err *err);

struct walk {
    on_socket row;
    void *user;
    uint32_t states;
};

static int diag_row(struct nlmsghdr *nlh, void *user, struct ptn_err *err)
{
    const struct walk *walk = user;
    struct nlattr *tb[INET_DIAG_MAX + 1];

    if (nlmsg_parse(nlh, sizeof(struct inet_diag_msg), tb, INET_DIAG_MAX, NULL) < 0)
        return ptn_err_set(err, PTN_ERR_SYSTEM, EPROTO, "parse a socket of sock_diag");
    return walk->row(nlmsg_data(nlh), tb, walk->user, err);
}

static int diag_walk(struct walk *walk, const struct ptn_ctl *ctl, struct ptn_err *err)
{
    ptn_auto(ptn_nl_closep) struct nl_sock *sk = NULL;
    int r = ptn_nl_open(&sk, NETLINK_SOCK_DIAG, err);

    for (int i = 0; i < 2 && r == 0; i++) {
        const struct inet_diag_req_v2 req = {
            .sdiag_family = i ? AF_INET6 : AF_INET,
            .sdiag_protocol = IPPROTO_TCP,
            .idiag_states = walk->states,
        };
        ptn_auto(ptn_nl_msgp) struct nl_msg *msg = NULL;

        r = ptn_nl_request(&msg, SOCK_DIAG_BY_FAMILY, &req, sizeof(req), err);
        if (r == 0)
            r = ptn_nl_dump(sk, msg, diag_row, NULL, walk, ctl, "dump of TCP sockets", err);
    }
    return r;
}

static int proc_walk(const struct walk *walk, struct ptn_err *err)
{
    static const char *const files[] = {"tcp", "tcp6"};
    ptn_auto(ptn_closep) int dir = ptn_file_root("/proc/net", err);

    if (dir < 0)
        return dir;
    for (size_t i = 0; i < PTN_COUNT(files); i++) {
        ptn_auto(ptn_freep) char *text = NULL;
        ssize_t len = ptn_file_read_all(dir, files[i], PROC_MAX_BYTES, &text, err);
        const char *line;
        size_t pos = 0, n;

        if (len == -ENOENT && i == 1)
            break; /* no IPv6 */
        if (len < 0)
            return (int)len;
        while (ptn_text_line(text, (size_t)len, &pos, &line, &n)) {
            struct inet_diag_msg msg = {0};
            struct nlattr *none[INET_DIAG_MAX + 1] = {0};
            struct ptn_proctcp row;
            int r;

            if (!ptn_proctcp_parse(line, n, &row) || row.state > 31 ||
                !(walk->states & BIT(row.state)))
                continue;
            msg.idiag_family = row.family;
            msg.idiag_state = row.state;
            msg.id.idiag_sport = htons(row.port);
            memcpy(msg.id.idiag_src, row.address, sizeof(msg.id.idiag_src));
            msg.idiag_uid = row.uid;
            msg.idiag_inode = (uint32_t)row.inode;
            msg.idiag_wqueue = UINT32_MAX;
            r = walk->row(&msg, none, walk->user, err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static bool is_refused(int r)
{
    return r == -ENOENT || r == -EACCES || r == -EPERM || r == -EPROTONOSUPPORT ||
           r == -EAFNOSUPPORT || r == -EOPNOTSUPP || r == -ENOSYS;
}

static int keep_listener(const struct inet_diag_msg *msg, struct nlattr **tb, void *user,
                         struct ptn_err *err)
{
    struct ptn_listener *l = ptn_vec_add(user, err);

    if (!l)
        return -err->err_no;
    l->family = msg->idiag_family;
    l->port = ntohs(msg->id.idiag_sport);
    l->uid = msg->idiag_uid;
    l->inode = msg->idiag_inode;
    l->pid = -1;
    l->ppid = -1;
    /* of a listener the kernel gives the backlog here (tcp_diag_get_info) */
    l->backlog = msg->idiag_wqueue > INT32_MAX ? -1 : (int32_t)msg->idiag_wqueue;
    l->v6only = -1;
    if (tb[INET_DIAG_SKV6ONLY])
        l->v6only = (int8_t)(nla_get_u8(tb[INET_DIAG_SKV6ONLY]) != 0);
    (void)inet_ntop(l->family, msg->id.idiag_src, l->address, sizeof(l->address));
    if (msg->id.idiag_if && !if_indextoname(msg->id.idiag_if, l->interface))
        (void)snprintf(l->interface, sizeof(l->interface), "%u", msg->id.idiag_if);
    return 0;
}

int ptn_port_list(const struct ptn_ctl *ctl, struct ptn_listener **ret_listeners, size_t *ret_n,
                  struct ptn_err *err)
{
    ptn_auto(ptn_vec_done) struct ptn_vec list =
        PTN_VEC(struct ptn_listener, PTN_PORT_LISTENERS, "listeners");
    struct walk walk = {keep_listener, &list, BIT(TCP_LISTEN)};
    struct ptn_err own = {0};
    int r;

    err = err ? err : &own;
    r = diag_walk(&walk, ctl, err);
    if (is_refused(r)) {
        ptn_vec_done(&list);
        r = proc_walk(&walk, err);
    }
    if (r == 0)
        r = ptn_owner_find(list.items, list.n, ctl, err);
    if (r < 0)
        return r;
    *ret_listeners = ptn_vec_take(&list, ret_n);
    return 0;
}

static int count_socket(const struct inet_diag_msg *msg, struct nlattr **tb, void *user,
                        struct ptn_err *err)
{
    struct ptn_port_counts *counts = user;

    (void)tb;
    (void)err;
    switch (msg->idiag_state) {
    case TCP_ESTABLISHED:
        counts->established++;
        break;
    case TCP_TIME_WAIT:
        counts->time_wait++;
        break;
    case TCP_SYN_SENT:
        counts->syn_sent++;
        break;
    case TCP_CLOSE_WAIT:
        counts->close_wait++;
        break;
    case TCP_LISTEN:
        counts->listen++;
        break;
    default:
        break;
    }
    return 0;
}

int ptn_port_count(const struct ptn_ctl *ctl, struct ptn_port_counts *ret_counts,
                   struct ptn_err *err)
{
    struct ptn_port_counts counts = {0};
    struct walk walk = {count_socket, &counts,
                        BIT(TCP_ESTABLISHED) | BIT(TCP_TIME_WAIT) | BIT(TCP_SYN_SENT) |
                            BIT(TCP_CLOSE_WAIT) | BIT(TCP_LISTEN)};
    int r = diag_walk(&walk, ctl, err);

    if (is_refused(r)) {
        memset(&counts, 0, sizeof(counts));
        r = proc_walk(&walk, err);
    }
    if (r < 0)
        return r;
    *ret_counts = counts;
    return 0;
}

/* "1,5-9\n": the kernel's own print of a bitmap. */
static int parse_spans(const char *text, struct ptn_vec *spans, struct ptn_err *err)
{
    for (const char *p = text; *p && *p != '\n';) {
        struct ptn_port_span *span = ptn_vec_add(spans, err);
        char *end;

        if (!span)
            return -ENOMEM;
        span->first = span->last = strtol(p, &end, 10);
        if (*end == '-')
            span->last = strtol(end + 1, &end, 10);
        if (end == p || (*end && *end != ',' && *end != '\n'))
            return ptn_err_set(err, PTN_ERR_SYSTEM, EPROTO, "parse ip_local_reserved_ports");
        p = *end == ',' ? end + 1 : end;
    }
    return 0;
}

int ptn_port_ranges_get(struct ptn_port_ranges *ret_ranges, struct ptn_err *err)
{
    ptn_auto(ptn_vec_done) struct ptn_vec spans =
        PTN_VEC(struct ptn_port_span, 65536, "reserved ports");
    ptn_auto(ptn_closep) int dir = ptn_file_root("/proc/sys/net/ipv4", err);
    struct ptn_port_ranges ranges = {-1, -1, -1, NULL, 0};
    ptn_auto(ptn_freep) char *reserved = NULL;
    long first, last;
    char text[64];

    if (dir < 0)
        return dir;
    if (ptn_file_read(dir, "ip_local_port_range", text, sizeof(text), NULL) > 0 &&
        sscanf(text, "%ld %ld", &first, &last) == 2) {
        ranges.ephemeral_first = first;
        ranges.ephemeral_last = last;
    }
    if (ptn_file_read(dir, "ip_unprivileged_port_start", text, sizeof(text), NULL) > 0) {
        ptn_text_rstrip(text);
        if (ptn_text_i64(text, 0, 65536, &ranges.unprivileged_start) < 0)
            ranges.unprivileged_start = -1;
    }
    if (ptn_file_read_all(dir, "ip_local_reserved_ports", 1u << 20, &reserved, NULL) > 0) {
        int r = parse_spans(reserved, &spans, err);

        if (r < 0)
            return r;
    }
    ranges.reserved = ptn_vec_take(&spans, &ranges.n_reserved);
    *ret_ranges = ranges;
    return 0;
}
