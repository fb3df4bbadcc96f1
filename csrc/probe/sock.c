/* SPDX-License-Identifier: MIT */
/* Numeric addresses: getaddrinfo without look-up, getnameinfo, bind. */
#include "probe/sock.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "base/text.h"

int ptn_sock_parse(const char *text, uint16_t port, struct ptn_sock_addr *ret_addr,
                   struct ptn_err *err)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct ptn_sock_addr addr = {0};

    if (getaddrinfo(text, NULL, &hints, &found) != 0)
        return ptn_err_set(err, PTN_ERR_INPUT, EINVAL,
                           "%.64s: not a numeric address such as 10.0.0.1 or fd00::1", text);
    memcpy(&addr.u, found->ai_addr, found->ai_addrlen);
    addr.len = found->ai_addrlen;
    freeaddrinfo(found);
    if (addr.u.any.sa_family == AF_INET)
        addr.u.v4.sin_port = htons(port);
    else
        addr.u.v6.sin6_port = htons(port);
    *ret_addr = addr;
    return 0;
}

void ptn_sock_text(const struct ptn_sock_addr *addr, char to[static PTN_ADDRESS_BYTES])
{
    if (getnameinfo(&addr->u.any, addr->len, to, PTN_ADDRESS_BYTES, NULL, 0, NI_NUMERICHOST) != 0)
        to[0] = 0;
}

int ptn_sock_is_local(const struct ptn_sock_addr *addr, bool *ret_local, struct ptn_err *err)
{
    struct ptn_sock_addr any_port = *addr;
    ptn_auto(ptn_closep) int fd = socket(addr->u.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 && errno == EAFNOSUPPORT) {
        *ret_local = false;
        return 0;
    }
    if (fd < 0)
        return ptn_err_errno(err, "open a TCP socket");
    if (addr->u.any.sa_family == AF_INET)
        any_port.u.v4.sin_port = 0;
    else
        any_port.u.v6.sin6_port = 0;
    *ret_local = bind(fd, &any_port.u.any, any_port.len) == 0;
    return 0;
}
