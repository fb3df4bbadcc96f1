/* SPDX-License-Identifier: MIT */
/* Netlink with a deadline: requests and dumps that end, restart a bounded number of times, and
 * never claim to be whole when they are not. */
#ifndef PTN_SYS_NL_H
#define PTN_SYS_NL_H

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/ctl.h"
#include "base/err.h"

/* One message of an answer. A negative return ends the request with that error. */
typedef int (*ptn_nl_row)(struct nlmsghdr *nlh, void *user, struct ptn_err *err);

/* Forget the rows of a dump that the kernel interrupted; it starts again. */
typedef void (*ptn_nl_reset)(void *user);

/* A non-blocking socket of `protocol` (NETLINK_ROUTE, NETLINK_GENERIC, NETLINK_SOCK_DIAG). */
ptn_must_check int ptn_nl_open(struct nl_sock **ret_sk, int protocol, struct ptn_err *err);
void ptn_nl_closep(struct nl_sock **sk);

/* `ptn_auto(ptn_nl_msgp) struct nl_msg *msg = NULL;` */
void ptn_nl_msgp(struct nl_msg **msg);

/* A request of `type` whose fixed header is `hdr`; attributes may be added with nla_put*(). */
ptn_must_check int ptn_nl_request(struct nl_msg **ret_msg, int type, const void *hdr,
                                  size_t hdr_len, struct ptn_err *err);

/* Send and read answers until the acknowledgement. The kernel's own refusal comes back as -errno
 * with err filled (ENODEV, ENETUNREACH, …): the caller decides whether that is an answer. */
ptn_must_check int ptn_nl_ask(struct nl_sock *sk, struct nl_msg *msg, ptn_nl_row row, void *user,
                              const struct ptn_ctl *ctl, const char *what, struct ptn_err *err);

/* Send as a dump and read it all. After five interrupted tries: PTN_ERR_INCONSISTENT. */
ptn_must_check int ptn_nl_dump(struct nl_sock *sk, struct nl_msg *msg, ptn_nl_row row,
                               ptn_nl_reset reset, void *user, const struct ptn_ctl *ctl,
                               const char *what, struct ptn_err *err);

/* Id of the generic netlink family `name` on a NETLINK_GENERIC socket; -ENOENT where the kernel has
 * none. */
ptn_must_check int ptn_nl_family(struct nl_sock *sk, const char *name, uint16_t *ret_id,
                                 const struct ptn_ctl *ctl, struct ptn_err *err);

#endif
