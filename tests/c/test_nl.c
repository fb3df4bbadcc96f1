/* SPDX-License-Identifier: MIT */
/* Do netlink requests to the running kernel end, and are their answers whole. */
#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "base/clock.h"
#include "check.h"
#include "fault.h"
#include "sys/nl.h"

struct seen {
    int rows, resets, lo;
};

static int see(struct nlmsghdr *nlh, void *user, struct ptn_err *err)
{
    const struct ifinfomsg *info = nlmsg_data(nlh);
    struct seen *seen = user;
    struct nlattr *name = nlmsg_find_attr(nlh, sizeof(*info), IFLA_IFNAME);

    (void)err;
    seen->rows++;
    if (name && strcmp(nla_get_string(name), "lo") == 0)
        seen->lo = info->ifi_index;
    return 0;
}

static int refuse(struct nlmsghdr *nlh, void *user, struct ptn_err *err)
{
    (void)nlh;
    (void)user;
    return ptn_err_set(err, PTN_ERR_LIMIT, E2BIG, "more than 0 links");
}

static void forget(void *user)
{
    struct seen *seen = user;

    *seen = (struct seen){.resets = seen->resets + 1};
}

/* Dump (index 0) or ask for one link. */
static int links(int index, ptn_nl_row row, struct seen *seen, const struct ptn_ctl *ctl,
                 struct ptn_err *err)
{
    const struct ifinfomsg hdr = {.ifi_index = index};
    ptn_auto(ptn_nl_closep) struct nl_sock *sk = NULL;
    ptn_auto(ptn_nl_msgp) struct nl_msg *msg = NULL;
    int r = ptn_nl_open(&sk, NETLINK_ROUTE, err);

    if (r < 0)
        return r;
    CHECK(fcntl(nl_socket_get_fd(sk), F_GETFD) & FD_CLOEXEC);
    CHECK(fcntl(nl_socket_get_fd(sk), F_GETFL) & O_NONBLOCK);
    r = ptn_nl_request(&msg, RTM_GETLINK, &hdr, sizeof(hdr), err);
    if (r < 0)
        return r;
    if (index)
        return ptn_nl_ask(sk, msg, row, seen, ctl, "ask for a link", err);
    return ptn_nl_dump(sk, msg, row, forget, seen, ctl, "dump of links", err);
}

static void answers(void)
{
    const struct ptn_ctl ctl = ptn_ctl_after(5 * PTN_S_NS);
    struct ptn_err err = {0};
    struct seen seen = {0};

    CHECK_EQ(links(0, see, &seen, &ctl, &err), 0);
    CHECK_EQ(seen.lo, if_nametoindex("lo"));
    CHECK_EQ(seen.resets, 1);
    seen = (struct seen){0};
    CHECK_EQ(links((int)if_nametoindex("lo"), see, &seen, &ctl, &err), 0);
    CHECK_EQ(seen.rows, 1);
    CHECK_EQ(seen.lo, if_nametoindex("lo"));
    CHECK_EQ(err.kind, PTN_ERR_NONE);

    CHECK_EQ(links(0x7fffff00, see, &seen, &ctl, &err), -ENODEV);
    CHECK_EQ(err.kind, PTN_ERR_SYSTEM);
    CHECK_STR(err.what, "ask for a link");
    CHECK_EQ(links(0, refuse, &seen, &ctl, &err), -E2BIG); /* a row's own error ends the dump */
    CHECK_EQ(err.kind, PTN_ERR_LIMIT);
}

static int stop(void *user)
{
    ++*(int *)user;
    return 1;
}

/* The answer never comes. */
static ssize_t silence(void *buf, size_t size, ssize_t received)
{
    (void)buf;
    (void)size;
    (void)received;
    errno = EAGAIN;
    return -1;
}

/* Messages of another request, without end: there is always something to read. */
static ssize_t flood(void *buf, size_t size, ssize_t received)
{
    const struct nlmsghdr stray = {.nlmsg_len = NLMSG_HDRLEN, .nlmsg_type = NLMSG_DONE};

    (void)size;
    (void)received;
    memcpy(buf, &stray, sizeof(stray));
    return sizeof(stray);
}

static void waits_end(void)
{
    struct ptn_err err = {0};
    struct seen seen = {0};
    struct ptn_ctl passed = ptn_ctl_after(0);

    CHECK_EQ(links(0, see, &seen, &passed, &err), -ETIMEDOUT);
    CHECK_EQ(err.kind, PTN_ERR_TIMEOUT);
    CHECK_STR(err.what, "dump of links");
    for (int i = 0; i < 2; i++) {
        struct ptn_ctl soon = ptn_ctl_after(20 * PTN_MS_NS);
        int calls = 0;
        struct ptn_ctl stopped = {.deadline_ns = INT64_MAX, .stop = stop, .user = &calls};
        int64_t start = ptn_clock_now_ns();

        fault_recv = i == 0 ? silence : flood;
        CHECK_EQ(links(1, see, &seen, &soon, &err), -ETIMEDOUT);
        CHECK_EQ(links(1, see, &seen, &stopped, &err), -ECANCELED);
        CHECK_EQ(err.kind, PTN_ERR_CANCELLED);
        CHECK_EQ(calls, 1);
        CHECK(ptn_clock_now_ns() - start < 2 * PTN_S_NS);
    }
    fault_recv = NULL;
}

static int interruptions;

static ssize_t interrupt(void *buf, size_t size, ssize_t received)
{
    int len = (int)received;

    (void)size;
    if (received > 0 && interruptions > 0)
        for (struct nlmsghdr *nlh = buf; nlmsg_ok(nlh, len); nlh = nlmsg_next(nlh, &len)) {
            nlh->nlmsg_flags |= NLM_F_DUMP_INTR;
            if (nlh->nlmsg_type == NLMSG_DONE)
                interruptions--;
        }
    return received;
}

static void interrupted_dumps(void)
{
    const struct ptn_ctl ctl = ptn_ctl_after(5 * PTN_S_NS);
    struct ptn_err err = {0};
    struct seen seen = {0}, whole = {0};

    CHECK_EQ(links(0, see, &whole, &ctl, &err), 0);
    fault_recv = interrupt;
    interruptions = 4;
    CHECK_EQ(links(0, see, &seen, &ctl, &err), 0);
    CHECK_EQ(seen.resets, 5);
    CHECK_EQ(seen.rows, whole.rows); /* nothing twice */
    seen = (struct seen){0};
    interruptions = 5;
    CHECK_EQ(links(0, see, &seen, &ctl, &err), -EINTR);
    CHECK_EQ(err.kind, PTN_ERR_INCONSISTENT);
    CHECK_EQ(seen.resets, 5);
    fault_recv = NULL;
}

/* In front of the answer: a message of another request, which must not be taken for ours. */
static ssize_t stray_first(void *buf, size_t size, ssize_t received)
{
    struct nlmsghdr stray = {.nlmsg_len = NLMSG_HDRLEN, .nlmsg_type = NLMSG_ERROR};

    stray.nlmsg_seq = ((struct nlmsghdr *)buf)->nlmsg_seq - 1;
    if (received < 0 || (size_t)received + NLMSG_HDRLEN > size)
        return received;
    memmove((char *)buf + NLMSG_HDRLEN, buf, (size_t)received);
    memcpy(buf, &stray, sizeof(stray));
    return received + NLMSG_HDRLEN;
}

static ssize_t cut_error(void *buf, size_t size, ssize_t received)
{
    struct nlmsghdr *nlh = buf;

    (void)size;
    (void)received;
    nlh->nlmsg_type = NLMSG_ERROR;
    nlh->nlmsg_len = NLMSG_HDRLEN;
    return NLMSG_HDRLEN;
}

static ssize_t too_long(void *buf, size_t size, ssize_t received)
{
    (void)buf;
    (void)received;
    return (ssize_t)size + 1; /* what MSG_TRUNC returns for a message that did not fit */
}

static ssize_t broken(void *buf, size_t size, ssize_t received)
{
    (void)buf;
    (void)size;
    (void)received;
    errno = ENOBUFS;
    return -1;
}

static void odd_answers(void)
{
    const struct ptn_ctl ctl = ptn_ctl_after(5 * PTN_S_NS);
    struct ptn_err err = {0};
    struct seen seen = {0};

    fault_recv = stray_first;
    CHECK_EQ(links(1, see, &seen, &ctl, &err), 0);
    CHECK_EQ(seen.rows, 1);
    fault_recv = cut_error;
    CHECK_EQ(links(1, see, &seen, &ctl, &err), -EPROTO);
    fault_recv = too_long;
    CHECK_EQ(links(1, see, &seen, &ctl, &err), -EMSGSIZE);
    CHECK_EQ(err.kind, PTN_ERR_LIMIT);
    fault_recv = broken;
    CHECK_EQ(links(1, see, &seen, &ctl, &err), -ENOBUFS);
    CHECK_STR(err.what, "ask for a link: receive");
    fault_recv = NULL;
}

static void families(void)
{
    const struct ptn_ctl ctl = ptn_ctl_after(5 * PTN_S_NS);
    ptn_auto(ptn_nl_closep) struct nl_sock *sk = NULL;
    struct ptn_err err = {0};
    uint16_t id = 0;

    CHECK_EQ(ptn_nl_open(&sk, NETLINK_GENERIC, &err), 0);
    CHECK_EQ(ptn_nl_family(sk, "nlctrl", &id, &ctl, &err), 0);
    CHECK_EQ(id, GENL_ID_CTRL);
    id = 7;
    CHECK_EQ(ptn_nl_family(sk, "ptnet-none", &id, &ctl, &err), -ENOENT);
    CHECK_EQ(id, 7);
    CHECK_EQ(ptn_nl_family(sk, "nlctrl", &id, &ctl, &err), 0); /* the socket is still good */
}

static void cannot_open(void)
{
    ptn_auto(ptn_nl_closep) struct nl_sock *sk = NULL;
    struct ptn_err err = {0};

    CHECK_EQ(ptn_nl_open(&sk, 200, &err), -EPROTONOSUPPORT);
    CHECK_EQ(err.err_no, EPROTONOSUPPORT);
    CHECK_STR(err.what, "open netlink socket of protocol 200");
    CHECK(sk == NULL);
}

int main(void)
{
    const struct ptn_ctl ctl = ptn_ctl_after(5 * PTN_S_NS);
    struct ptn_err err = {0};
    struct seen seen = {0};

    answers();
    waits_end();
    interrupted_dumps();
    odd_answers();
    families();
    cannot_open();
    fault_alloc = 1; /* the receive buffer */
    CHECK_EQ(links(1, see, &seen, &ctl, &err), -ENOMEM);
    CHECK_EQ(err.kind, PTN_ERR_MEMORY);
    CHECK_DONE();
}
