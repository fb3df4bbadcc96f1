/* SPDX-License-Identifier: MIT */
/* Could torch's store open a port here (torch/csrc/distributed/c10d/TCPStoreLibUvBackend.cpp). */
#include "sys/bind.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/text.h"

/* A rank that dials while we listen would be connected and then reset, and take the master for
 * dead. With this filter its SYN is dropped, and comes again a second later. */
static int drop_all(int fd)
{
    struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
    const struct sock_fprog program = {.len = 1, .filter = &drop};

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* Failures that say nothing about the port. */
static bool is_ours(int err_no)
{
    return err_no == EMFILE || err_no == ENFILE || err_no == ENOMEM || err_no == ENOBUFS;
}

/* 0, or the errno of the first step that failed. */
static int try_family(int family, uint16_t port)
{
    const struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    ptn_auto(ptn_closep) int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1, off = 0, r;

    if (fd < 0)
        return errno;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
        return errno;
    if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0)
        return errno;
    if (drop_all(fd) < 0)
        return errno;
    r = family == AF_INET6 ? bind(fd, (const struct sockaddr *)&any6, sizeof(any6))
                           : bind(fd, (const struct sockaddr *)&any4, sizeof(any4));
    if (r < 0 || listen(fd, 1) < 0)
        return errno;
    return 0;
}

int ptn_bind_try(uint16_t port, struct ptn_bind_try *ret_try, struct ptn_err *err)
{
    struct ptn_bind_try try = {.address = "::"};

    try.err_no = try_family(AF_INET6, port);
    /* both stores go on to IPv4 after any failure, also EADDRINUSE: with only `::1` or an IPv6-only
     * wildcard taken, the store comes up on 0.0.0.0 */
    if (try.err_no && !is_ours(try.err_no)) {
        (void)ptn_text_copy(try.address, sizeof(try.address), "0.0.0.0");
        try.err_no = try_family(AF_INET, port);
    }
    if (is_ours(try.err_no))
        return ptn_err_set(err, PTN_ERR_SYSTEM, try.err_no, "open a TCP socket");
    *ret_try = try;
    return 0;
}
