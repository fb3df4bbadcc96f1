/* SPDX-License-Identifier: MIT */
/* Could torch's store open a port here (torch/csrc/distributed/c10d/TCPStoreLibUvBackend.cpp). */
#include "sys/bind.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/text.h"

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
    if (try.err_no == EAFNOSUPPORT || try.err_no == EADDRNOTAVAIL) {
        (void)ptn_text_copy(try.address, sizeof(try.address), "0.0.0.0");
        try.err_no = try_family(AF_INET, port);
    }
    if (try.err_no == EMFILE || try.err_no == ENFILE || try.err_no == ENOMEM ||
        try.err_no == ENOBUFS)
        return ptn_err_set(err, PTN_ERR_SYSTEM, try.err_no, "open a TCP socket");
    *ret_try = try;
    return 0;
}
