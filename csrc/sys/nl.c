/* SPDX-License-Identifier: MIT */
/* Netlink with a deadline, on libnl-3 sockets and attribute parsers. */
#include "sys/nl.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/clock.h"

/* the kernel fills dumps up to 32 KiB; a larger buffer is unused */
#define RECV_BYTES   (64 * 1024)
#define RCVBUF_BYTES (4 * 1024 * 1024)
#define MAX_DUMPS    5

int ptn_nl_open(struct nl_sock **ret_sk, int protocol, struct ptn_err *err)
{
    ptn_auto(ptn_nl_closep) struct nl_sock *sk = nl_socket_alloc();
    int on = 1, fd;

    if (!sk)
        return ptn_err_memory(err, "netlink socket");
    nl_socket_disable_auto_ack(sk);
    errno = 0;
    if (nl_connect(sk, protocol) < 0)
        return ptn_err_set(err, PTN_ERR_SYSTEM, errno ? errno : EPROTONOSUPPORT,
                           "open netlink socket of protocol %d", protocol);
    (void)nl_socket_set_buffer_size(sk, RCVBUF_BYTES, 0); /* capped by rmem_max: still correct */
    (void)nl_socket_set_nonblocking(sk);
    fd = nl_socket_get_fd(sk);
    /* Without it a kernel since 4.20 ignores filters of a dump; older kernels refuse the option. */
    (void)setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
    *ret_sk = PTN_TAKE(sk);
    return 0;
}

void ptn_nl_closep(struct nl_sock **sk)
{
    if (*sk)
        nl_socket_free(*sk);
}

void ptn_nl_msgp(struct nl_msg **msg)
{
    if (*msg)
        nlmsg_free(*msg);
}

int ptn_nl_request(struct nl_msg **ret_msg, int type, const void *hdr, size_t hdr_len,
                   struct ptn_err *err)
{
    ptn_auto(ptn_nl_msgp) struct nl_msg *msg = nlmsg_alloc_simple(type, NLM_F_REQUEST);

    if (!msg || (hdr_len > 0 && nlmsg_append(msg, (void *)hdr, hdr_len, NLMSG_ALIGNTO) < 0))
        return ptn_err_memory(err, "netlink request");
    *ret_msg = PTN_TAKE(msg);
    return 0;
}

static int send_request(struct nl_sock *sk, struct nl_msg *msg, int flags, const char *what,
                        struct ptn_err *err)
{
    struct nlmsghdr *nlh = nlmsg_hdr(msg);

    nlh->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
    nlh->nlmsg_seq = 0; /* let libnl number each try */
    nl_complete_msg(sk, msg);
    errno = 0;
    if (nl_send(sk, msg) < 0)
        return ptn_err_set(err, PTN_ERR_SYSTEM, errno ? errno : EIO, "%s: send", what);
    return 0;
}

struct answer {
    uint32_t seq;
    bool done, interrupted;
};

/* Read the messages of one datagram. */
static int read_messages(char *buf, int len, struct answer *answer, ptn_nl_row row, void *user,
                         const char *what, struct ptn_err *err)
{
    for (struct nlmsghdr *nlh = (struct nlmsghdr *)buf; nlmsg_ok(nlh, len) && !answer->done;
         nlh = nlmsg_next(nlh, &len)) {
        int r = 0;

        if (nlh->nlmsg_seq != answer->seq)
            continue; /* rest of an earlier, abandoned request */
        if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
            answer->interrupted = true;
        if (nlh->nlmsg_type == NLMSG_ERROR || nlh->nlmsg_type == NLMSG_DONE) {
            /* both carry an int first: the error, or the end of a dump with its own error */
            if ((size_t)nlmsg_datalen(nlh) >= sizeof(int))
                r = *(int *)nlmsg_data(nlh);
            else if (nlh->nlmsg_type == NLMSG_ERROR)
                r = -EPROTO;
            if (r < 0)
                return ptn_err_set(err, PTN_ERR_SYSTEM, -r, "%s", what);
            answer->done = true;
        } else if (nlh->nlmsg_type >= NLMSG_MIN_TYPE && row) {
            r = row(nlh, user, err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int receive(struct nl_sock *sk, struct answer *answer, ptn_nl_row row, void *user,
                   const struct ptn_ctl *ctl, const char *what, struct ptn_err *err)
{
    ptn_auto(ptn_freep) char *buf = malloc(RECV_BYTES);
    struct pollfd pfd = {.fd = nl_socket_get_fd(sk), .events = POLLIN};
    int64_t check_ns = ptn_clock_now_ns() + PTN_CTL_SLICE_MS * PTN_MS_NS;

    if (!buf)
        return ptn_err_memory(err, what);
    while (!answer->done) {
        int64_t now_ns = ptn_clock_now_ns();
        ssize_t len;
        int r;

        /* a long dump always has the next part ready, so that poll alone would never look */
        if (now_ns >= ctl->deadline_ns || now_ns >= check_ns) {
            r = ptn_ctl_check(ctl, what, err);
            if (r < 0)
                return r;
            check_ns = now_ns + PTN_CTL_SLICE_MS * PTN_MS_NS;
        }
        len = recv(pfd.fd, buf, RECV_BYTES, MSG_DONTWAIT | MSG_TRUNC);
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            r = ptn_ctl_poll(ctl, &pfd, 1, what, err);
            if (r < 0)
                return r;
            continue;
        }
        if (len < 0)
            return ptn_err_errno(err, "%s: receive", what);
        if (len > RECV_BYTES)
            return ptn_err_set(err, PTN_ERR_LIMIT, EMSGSIZE, "%s: message of %zd bytes", what, len);
        r = read_messages(buf, (int)len, answer, row, user, what, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int ptn_nl_ask(struct nl_sock *sk, struct nl_msg *msg, ptn_nl_row row, void *user,
               const struct ptn_ctl *ctl, const char *what, struct ptn_err *err)
{
    struct answer answer = {0};
    int r = send_request(sk, msg, NLM_F_ACK, what, err);

    if (r < 0)
        return r;
    answer.seq = nlmsg_hdr(msg)->nlmsg_seq;
    return receive(sk, &answer, row, user, ctl, what, err);
}

int ptn_nl_dump(struct nl_sock *sk, struct nl_msg *msg, ptn_nl_row row, ptn_nl_reset reset,
                void *user, const struct ptn_ctl *ctl, const char *what, struct ptn_err *err)
{
    for (int try = 0; try < MAX_DUMPS; try++) {
        struct answer answer = {0};
        int r;

        if (reset)
            reset(user);
        r = send_request(sk, msg, NLM_F_DUMP, what, err);
        if (r < 0)
            return r;
        answer.seq = nlmsg_hdr(msg)->nlmsg_seq;
        r = receive(sk, &answer, row, user, ctl, what, err);
        if (r < 0)
            return r;
        if (!answer.interrupted)
            return 0;
    }
    return ptn_err_set(err, PTN_ERR_INCONSISTENT, EINTR,
                       "%s: the table changed during each of %d reads", what, MAX_DUMPS);
}

static int family_row(struct nlmsghdr *nlh, void *user, struct ptn_err *err)
{
    struct nlattr *tb[CTRL_ATTR_MAX + 1];
    uint16_t *ret_id = user;

    (void)err;
    if (nlmsg_parse(nlh, GENL_HDRLEN, tb, CTRL_ATTR_MAX, NULL) == 0 && tb[CTRL_ATTR_FAMILY_ID])
        *ret_id = nla_get_u16(tb[CTRL_ATTR_FAMILY_ID]);
    return 0;
}

int ptn_nl_family(struct nl_sock *sk, const char *name, uint16_t *ret_id, const struct ptn_ctl *ctl,
                  struct ptn_err *err)
{
    const struct genlmsghdr hdr = {.cmd = CTRL_CMD_GETFAMILY, .version = 1};
    ptn_auto(ptn_nl_msgp) struct nl_msg *msg = NULL;
    uint16_t id = 0;
    int r = ptn_nl_request(&msg, GENL_ID_CTRL, &hdr, sizeof(hdr), err);

    if (r < 0)
        return r;
    if (nla_put_string(msg, CTRL_ATTR_FAMILY_NAME, name) < 0)
        return ptn_err_memory(err, "netlink request");
    r = ptn_nl_ask(sk, msg, family_row, &id, ctl, "look up generic netlink family", err);
    if (r < 0)
        return r;
    if (!id)
        return ptn_err_set(err, PTN_ERR_SYSTEM, ENOENT, "generic netlink family %s", name);
    *ret_id = id;
    return 0;
}
