/* SPDX-License-Identifier: MIT */
/* Which way the kernel would send a packet: RTM_GETROUTE. */
#include "sys/route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "sys/nl.h"

struct destination {
    uint8_t family, bits;
    uint8_t bytes[16];
    uint32_t ifindex; /* of the scope; 0 = none */
};

static int parse_target(const char *text, struct destination *ret_to, struct ptn_err *err)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct destination to = {0};
    char address[INET6_ADDRSTRLEN];
    const char *percent = strchr(text, '%');
    size_t len = percent ? (size_t)(percent - text) : strlen(text);

    if (!ptn_text_copy_n(address, sizeof(address), text, len))
        goto bad;
    if (inet_pton(AF_INET, address, to.bytes) == 1 && !percent) {
        to.family = AF_INET;
        to.bits = 32;
    } else if (inet_pton(AF_INET6, address, to.bytes) == 1) {
        to.family = AF_INET6;
        to.bits = 128;
    } else {
        goto bad;
    }
    if (to.family == AF_INET6 && !percent && memcmp(to.bytes, mapped, sizeof(mapped)) == 0) {
        to.family = AF_INET; /* the kernel sends IPv4 there, by the routes of IPv4 */
        to.bits = 32;
        memmove(to.bytes, to.bytes + sizeof(mapped), 4);
    }
    if (percent) {
        to.ifindex = if_nametoindex(percent + 1);
        if (!to.ifindex)
            return ptn_err_set(err, PTN_ERR_INPUT, EINVAL, "%.64s: there is no interface %.15s",
                               text, percent + 1);
    }
    *ret_to = to;
    return 0;
bad:
    return ptn_err_set(err, PTN_ERR_INPUT, EINVAL,
                       "%.64s: not a numeric address such as 10.0.0.1 or fe80::1%%eth0", text);
}

static void put_address(const struct nlattr *attr, char *to, size_t size)
{
    int family = nla_len(attr) == 4 ? AF_INET : AF_INET6;

    if (nla_len(attr) == 4 || nla_len(attr) == 16)
        (void)inet_ntop(family, nla_data(attr), to, (socklen_t)size);
}

static void put_interface(uint32_t index, struct ptn_route *route)
{
    if (!if_indextoname(index, route->interface))
        route->interface[0] = 0;
}

/* struct rtvia: a family and an address of it (an IPv4 route through an IPv6 gateway). */
static void put_via(const struct nlattr *attr, struct ptn_route *route)
{
    const struct rtvia *via = nla_data(attr);
    int len = nla_len(attr) - (int)sizeof(via->rtvia_family);

    if ((via->rtvia_family == AF_INET && len >= 4) || (via->rtvia_family == AF_INET6 && len >= 16))
        (void)inet_ntop(via->rtvia_family, via->rtvia_addr, route->gateway, sizeof(route->gateway));
}

static void put_hop(struct nlattr **tb, struct ptn_route *route)
{
    if (tb[RTA_GATEWAY])
        put_address(tb[RTA_GATEWAY], route->gateway, sizeof(route->gateway));
    if (tb[RTA_VIA] && nla_len(tb[RTA_VIA]) > (int)sizeof(uint16_t))
        put_via(tb[RTA_VIA], route);
}

/* Of several next hops the first stands for the route. */
static void put_multipath(const struct nlattr *attr, struct ptn_route *route)
{
    const struct rtnexthop *hop = nla_data(attr);
    struct nlattr *tb[RTA_MAX + 1];

    if (nla_len(attr) < (int)sizeof(*hop) || hop->rtnh_len < sizeof(*hop) ||
        hop->rtnh_len > nla_len(attr))
        return;
    put_interface((uint32_t)hop->rtnh_ifindex, route);
    if (nla_parse(tb, RTA_MAX, (struct nlattr *)RTNH_DATA(hop), (int)(hop->rtnh_len - sizeof(*hop)),
                  NULL) == 0)
        put_hop(tb, route);
}

static void put_mtu(const struct nlattr *attr, struct ptn_route *route)
{
    struct nlattr *tb[RTAX_MAX + 1];

    if (nla_parse_nested(tb, RTAX_MAX, (struct nlattr *)attr, NULL) == 0 && tb[RTAX_MTU])
        route->mtu_bytes = nla_get_u32(tb[RTAX_MTU]);
}

static int read_route(struct nlmsghdr *nlh, struct ptn_route *route, struct ptn_err *err)
{
    const struct rtmsg *rtm = nlmsg_data(nlh);
    struct nlattr *tb[RTA_MAX + 1];

    if (nlmsg_parse(nlh, sizeof(*rtm), tb, RTA_MAX, NULL) < 0)
        return ptn_err_set(err, PTN_ERR_SYSTEM, EPROTO, "parse a route");
    route->family = rtm->rtm_family;
    route->type = rtm->rtm_type;
    route->table = tb[RTA_TABLE] ? nla_get_u32(tb[RTA_TABLE]) : rtm->rtm_table;
    route->metric = tb[RTA_PRIORITY] ? (int64_t)nla_get_u32(tb[RTA_PRIORITY]) : -1;
    route->mtu_bytes = -1;
    if (tb[RTA_OIF])
        put_interface(nla_get_u32(tb[RTA_OIF]), route);
    if (tb[RTA_PREFSRC])
        put_address(tb[RTA_PREFSRC], route->source, sizeof(route->source));
    if (tb[RTA_MULTIPATH])
        put_multipath(tb[RTA_MULTIPATH], route);
    put_hop(tb, route);
    if (tb[RTA_METRICS])
        put_mtu(tb[RTA_METRICS], route);
    return 0;
}

static int one_row(struct nlmsghdr *nlh, void *user, struct ptn_err *err)
{
    if (nlh->nlmsg_type != RTM_NEWROUTE)
        return 0;
    return read_route(nlh, user, err);
}

/* An IPv6 unreachable route is answered as a route of that type, an IPv4 one by an errno. */
static int32_t errno_of_type(uint8_t type)
{
    switch (type) {
    case RTN_UNREACHABLE:
        return EHOSTUNREACH;
    case RTN_PROHIBIT:
        return EACCES;
    case RTN_BLACKHOLE:
        return EINVAL;
    case RTN_THROW:
        return ENETUNREACH;
    default:
        return 0;
    }
}

/* What the kernel says in place of a route; EINVAL is its answer to a blackhole route. */
static bool is_answer(int r)
{
    return r == -ENETUNREACH || r == -EHOSTUNREACH || r == -EACCES || r == -EINVAL ||
           r == -ENETDOWN;
}

static int get_one(struct nl_sock *sk, const char *target, const struct ptn_ctl *ctl,
                   struct ptn_route *route, struct ptn_err *err)
{
    ptn_auto(ptn_nl_msgp) struct nl_msg *msg = NULL;
    struct rtmsg rtm = {0};
    struct destination to;
    int r = parse_target(target, &to, err);

    if (r < 0)
        return r;
    (void)ptn_text_copy(route->target, sizeof(route->target), target);
    route->family = to.family;
    route->table = route->metric = route->mtu_bytes = -1;
    rtm.rtm_family = to.family;
    if (to.family ==
        AF_INET) /* IPv6 tells the table anyway, and refuses the flag (strict checks) */
        rtm.rtm_flags = RTM_F_LOOKUP_TABLE;
    rtm.rtm_dst_len = to.bits;
    r = ptn_nl_request(&msg, RTM_GETROUTE, &rtm, sizeof(rtm), err);
    if (r < 0)
        return r;
    if (nla_put(msg, RTA_DST, to.bits / 8, to.bytes) < 0 ||
        (to.ifindex && nla_put_u32(msg, RTA_OIF, to.ifindex) < 0))
        return ptn_err_memory(err, "netlink request");
    r = ptn_nl_ask(sk, msg, one_row, route, ctl, "ask for a route", err);
    if (is_answer(r)) {
        route->err_no = -r;
        return 0;
    }
    if (r == 0)
        route->err_no = errno_of_type(route->type);
    return r;
}

int ptn_route_get(const char *const *targets, size_t n, const struct ptn_ctl *ctl,
                  struct ptn_route **ret_routes, struct ptn_err *err)
{
    ptn_auto(ptn_nl_closep) struct nl_sock *sk = NULL;
    ptn_auto(ptn_freep) struct ptn_route *routes = NULL;
    int r;

    if (n > PTN_ROUTE_TARGETS)
        return ptn_err_set(err, PTN_ERR_INPUT, EINVAL, "%zu targets: at most %d are taken", n,
                           PTN_ROUTE_TARGETS);
    routes = calloc(n ? n : 1, sizeof(*routes));
    if (!routes)
        return ptn_err_memory(err, "routes");
    r = ptn_nl_open(&sk, NETLINK_ROUTE, err);
    for (size_t i = 0; i < n && r == 0; i++)
        r = get_one(sk, targets[i], ctl, &routes[i], err);
    if (r < 0)
        return r;
    *ret_routes = PTN_TAKE(routes);
    return 0;
}

struct defaults {
    struct ptn_vec routes;
    size_t before; /* rows of the families that are done */
};

static int default_row(struct nlmsghdr *nlh, void *user, struct ptn_err *err)
{
    const struct rtmsg *rtm = nlmsg_data(nlh);
    struct defaults *defaults = user;
    struct ptn_route *route;

    if (nlh->nlmsg_type != RTM_NEWROUTE || rtm->rtm_dst_len != 0 || rtm->rtm_flags & RTM_F_CLONED)
        return 0;
    route = ptn_vec_add(&defaults->routes, err);
    if (!route)
        return -ENOMEM;
    (void)ptn_text_copy(route->target, sizeof(route->target), "default");
    return read_route(nlh, route, err);
}

static void forget(void *user)
{
    struct defaults *defaults = user;

    defaults->routes.n = defaults->before;
}

int ptn_route_list_defaults(const struct ptn_ctl *ctl, struct ptn_route **ret_routes, size_t *ret_n,
                            struct ptn_err *err)
{
    struct defaults defaults = {
        .routes = PTN_VEC(struct ptn_route, PTN_ROUTE_DEFAULTS, "default routes")};
    ptn_auto(ptn_nl_closep) struct nl_sock *sk = NULL;
    struct ptn_err own = {0};
    int r;

    err = err ? err : &own;
    r = ptn_nl_open(&sk, NETLINK_ROUTE, err);
    for (int i = 0; i < 2 && r == 0; i++) {
        const struct rtmsg rtm = {.rtm_family = i ? AF_INET6 : AF_INET};
        ptn_auto(ptn_nl_msgp) struct nl_msg *msg = NULL;

        defaults.before = defaults.routes.n;
        r = ptn_nl_request(&msg, RTM_GETROUTE, &rtm, sizeof(rtm), err);
        if (r == 0)
            r = ptn_nl_dump(sk, msg, default_row, forget, &defaults, ctl, "dump of routes", err);
        if (i && (r == -EAFNOSUPPORT || r == -EOPNOTSUPP))
            r = 0; /* no IPv6 */
    }
    if (r < 0) {
        ptn_vec_done(&defaults.routes);
        return r;
    }
    *ret_routes = ptn_vec_take(&defaults.routes, ret_n);
    return 0;
}

const char *ptn_route_type_name(uint8_t type)
{
    static const char *const names[] = {
        [RTN_UNSPEC] = "none",
        [RTN_UNICAST] = "unicast",
        [RTN_LOCAL] = "local",
        [RTN_BROADCAST] = "broadcast",
        [RTN_ANYCAST] = "anycast",
        [RTN_MULTICAST] = "multicast",
        [RTN_BLACKHOLE] = "blackhole",
        [RTN_UNREACHABLE] = "unreachable",
        [RTN_PROHIBIT] = "prohibit",
        [RTN_THROW] = "throw",
        [RTN_NAT] = "nat",
        [RTN_XRESOLVE] = "xresolve",
    };

    return type < PTN_COUNT(names) ? names[type] : NULL;
}
