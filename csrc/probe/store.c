/* SPDX-License-Identifier: MIT */
/* Is what listens at an address a c10d store (torch/csrc/distributed/c10d/TCPStoreBackend.hpp). */
#include "probe/store.h"

#include <ctype.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"

#define QUERY_VALIDATE 0
#define QUERY_PING     13
#define MAGIC          UINT32_C(0x3C85F7CE)

/* An outer stop ends the wait as an error, the inner deadline as a result. */
static int wait_for(int fd, short events, int64_t timeout_ns, const struct ptn_ctl *ctl,
                    bool *ret_late, struct ptn_err *err)
{
    struct pollfd pfd = {.fd = fd, .events = events};
    struct ptn_ctl inner = *ctl;
    struct ptn_err late = {0};
    int64_t until = ptn_clock_now_ns() + timeout_ns;
    int r;

    if (until < inner.deadline_ns)
        inner.deadline_ns = until;
    r = ptn_ctl_poll(&inner, &pfd, 1, "greet a c10d store", &late);
    *ret_late = r == -ETIMEDOUT;
    if (r > 0 || r == -ETIMEDOUT)
        return 0;
    if (err)
        *err = late;
    return r;
}

/* Did a filter answer: the ICMP error that the kernel queued says "administratively prohibited",
 * which connect() reports as EHOSTUNREACH or EACCES like any other. */
static bool was_filtered(int fd)
{
    char control[512];
    struct msghdr msg = {.msg_control = control, .msg_controllen = sizeof(control)};

    while (recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) {
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
            struct sock_extended_err e;

            if (!(c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) &&
                !(c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR))
                continue;
            memcpy(&e, CMSG_DATA(c), sizeof(e));
            if (e.ee_origin == SO_EE_ORIGIN_ICMP && e.ee_type == ICMP_DEST_UNREACH &&
                (e.ee_code == ICMP_NET_ANO || e.ee_code == ICMP_HOST_ANO ||
                 e.ee_code == ICMP_PKT_FILTERED))
                return true;
            if (e.ee_origin == SO_EE_ORIGIN_ICMP6 && e.ee_type == ICMPV6_DEST_UNREACH &&
                (e.ee_code == ICMPV6_ADM_PROHIBITED || e.ee_code == ICMPV6_POLICY_FAIL ||
                 e.ee_code == ICMPV6_REJECT_ROUTE))
                return true;
        }
        msg.msg_controllen = sizeof(control);
    }
    return false;
}

static enum ptn_store_verdict read_errno(int fd, int err_no)
{
    switch (err_no) {
    case ECONNREFUSED:
        return PTN_STORE_REFUSED;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
    case ENOPROTOOPT: /* ICMP protocol unreachable */
        return was_filtered(fd) ? PTN_STORE_PROHIBITED : PTN_STORE_UNREACHABLE;
    case EACCES:
    case EPERM:
        return PTN_STORE_PROHIBITED;
    case ETIMEDOUT:
        return PTN_STORE_TIMEOUT;
    case ECONNRESET:
    case EPIPE:
        return PTN_STORE_STRANGER;
    default:
        return PTN_STORE_LOCAL_ERROR;
    }
}

static void fail(struct ptn_store_greeting *g, int fd, int err_no)
{
    g->verdict = read_errno(fd, err_no);
    g->err_no = err_no;
}

/* True when connected; otherwise the greeting's verdict says why not. */
static int establish(int fd, const struct ptn_sock_addr *addr, int64_t timeout_ns,
                     const struct ptn_ctl *ctl, struct ptn_store_greeting *g, bool *ret_connected,
                     struct ptn_err *err)
{
    int64_t started = ptn_clock_now_ns();
    struct ptn_sock_addr own = {.len = sizeof(own.u)};
    int err_no = 0, r;
    socklen_t len = sizeof(err_no);
    bool late;

    *ret_connected = false;
    if (connect(fd, &addr->u.any, addr->len) < 0 && errno != EINPROGRESS) {
        fail(g, fd, errno);
        return 0;
    }
    r = wait_for(fd, POLLOUT, timeout_ns, ctl, &late, err);
    if (r < 0)
        return r;
    if (late) {
        g->verdict = PTN_STORE_TIMEOUT;
        return 0;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err_no, &len) < 0)
        return ptn_err_errno(err, "read the result of connect");
    if (err_no) {
        fail(g, fd, err_no);
        return 0;
    }
    g->connect_ns = ptn_clock_now_ns() - started;
    if (getsockname(fd, &own.u.any, &own.len) == 0)
        ptn_sock_text(&own, g->source);
    if (own.len == addr->len && memcmp(&own.u, &addr->u, own.len) == 0) {
        fail(g, fd, ECONNREFUSED); /* nobody listens: TCP's simultaneous open, with itself */
        g->connect_ns = -1;
        return 0;
    }
    *ret_connected = true;
    return 0;
}

static void keep_said(struct ptn_store_greeting *g, const uint8_t *bytes, size_t n)
{
    size_t at = 0;

    for (size_t i = 0; i < n && at + 1 < sizeof(g->said); i++) {
        if (bytes[i] == '\r' || bytes[i] == '\n')
            break;
        g->said[at++] = isprint(bytes[i]) ? (char)bytes[i] : '.';
    }
    g->said[at] = 0;
}

/* Ends with a line end, at which a server that reads lines, such as an HTTP server, answers. */
static uint32_t new_nonce(void)
{
    uint64_t now = (uint64_t)ptn_clock_now_ns();
    const uint8_t bytes[4] = {now >> 8 & 0xff, now >> 16 & 0xff, '\r', '\n'};
    uint32_t nonce;

    memcpy(&nonce, bytes, sizeof(nonce));
    return nonce;
}

static int converse(int fd, int64_t timeout_ns, const struct ptn_ctl *ctl,
                    struct ptn_store_greeting *g, struct ptn_err *err)
{
    const uint32_t magic = MAGIC, nonce = new_nonce();
    int64_t until = ptn_clock_now_ns() + timeout_ns;
    uint8_t query[10] = {QUERY_VALIDATE}, answer[256];
    size_t n = 0;

    query[5] = QUERY_PING;
    memcpy(query + 1, &magic, sizeof(magic)); /* host byte order, as torch sends it */
    memcpy(query + 6, &nonce, sizeof(nonce));
    if (send(fd, query, sizeof(query), MSG_NOSIGNAL) != (ssize_t)sizeof(query)) {
        g->verdict = PTN_STORE_STRANGER;
        g->err_no = errno;
        return 0;
    }
    while (n < sizeof(nonce)) {
        bool late;
        ssize_t got;
        int r = wait_for(fd, POLLIN, until - ptn_clock_now_ns(), ctl, &late, err);

        if (r < 0)
            return r;
        if (late) {
            g->verdict = n ? PTN_STORE_STRANGER : PTN_STORE_SILENT;
            keep_said(g, answer, n);
            return 0;
        }
        got = recv(fd, answer + n, sizeof(answer) - n, 0);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0) {
            g->verdict = PTN_STORE_STRANGER;
            g->err_no = got < 0 ? errno : -1;
            keep_said(g, answer, n);
            return 0;
        }
        n += (size_t)got;
    }
    if (n == sizeof(nonce) && memcmp(answer, &nonce, sizeof(nonce)) == 0) {
        g->verdict = PTN_STORE_YES;
        return 0;
    }
    g->verdict = PTN_STORE_STRANGER;
    keep_said(g, answer, n);
    return 0;
}

int ptn_store_greet(const struct ptn_sock_addr *addr, int64_t connect_timeout_ns,
                    int64_t answer_timeout_ns, const struct ptn_ctl *ctl,
                    struct ptn_store_greeting *ret_greeting, struct ptn_err *err)
{
    struct ptn_store_greeting g = {.err_no = -1, .connect_ns = -1};
    int family = addr->u.any.sa_family, on = 1, r;
    ptn_auto(ptn_closep) int fd = -1;
    bool connected;

    fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 && errno != EAFNOSUPPORT)
        return ptn_err_errno(err, "open a TCP socket");
    if (fd < 0) {
        fail(&g, fd, errno);
        *ret_greeting = g;
        return 0;
    }
    if (family == AF_INET)
        (void)setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
    else
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
    r = establish(fd, addr, connect_timeout_ns, ctl, &g, &connected, err);
    if (r == 0 && connected)
        r = converse(fd, answer_timeout_ns, ctl, &g, err);
    if (r < 0)
        return r;
    *ret_greeting = g;
    return 0;
}
