/* SPDX-License-Identifier: MIT */
/* Numeric addresses and non-blocking TCP connections with a deadline. */
#ifndef PTN_PROBE_SOCK_H
#define PTN_PROBE_SOCK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/ctl.h"
#include "base/err.h"

#define PTN_ADDRESS_BYTES 80 /* INET6_ADDRSTRLEN, '%', IFNAMSIZ, 0 */

struct ptn_sock_addr {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } u;
    socklen_t len;
};

/* Read "10.0.0.1", "fe80::1%eth0", …; -EINVAL with err filled (PTN_ERR_INPUT) for anything else. */
ptn_must_check int ptn_sock_parse(const char *text, uint16_t port, struct ptn_sock_addr *ret_addr,
                                  struct ptn_err *err);

/* The numeric text of an address. */
void ptn_sock_text(const struct ptn_sock_addr *addr, char to[static PTN_ADDRESS_BYTES]);

/* Can a TCP socket of this host be bound to the address. -errno when no socket can be made. */
ptn_must_check int ptn_sock_is_local(const struct ptn_sock_addr *addr, bool *ret_local,
                                     struct ptn_err *err);

#endif
