/* SPDX-License-Identifier: MIT */
/* Is what listens at an address a c10d store: connect, VALIDATE, PING. */
#ifndef PTN_PROBE_STORE_H
#define PTN_PROBE_STORE_H

#include <stdint.h>

#include "base/ctl.h"
#include "base/err.h"
#include "probe/sock.h"

enum ptn_store_verdict {
    PTN_STORE_YES,         /* echoed the nonce */
    PTN_STORE_STRANGER,    /* answered something else, or hung up */
    PTN_STORE_SILENT,      /* connected, no answer */
    PTN_STORE_REFUSED,     /* ECONNREFUSED */
    PTN_STORE_UNREACHABLE, /* EHOSTUNREACH, ENETUNREACH, … */
    PTN_STORE_PROHIBITED,  /* a filter said so: ICMP admin-prohibited, or EACCES/EPERM here */
    PTN_STORE_TIMEOUT,     /* no answer to the SYN */
    PTN_STORE_LOCAL_ERROR, /* this host could not try; err_no says why */
};

struct ptn_store_greeting {
    enum ptn_store_verdict verdict;
    int32_t err_no;                 /* -1 = none */
    int64_t connect_ns;             /* -1 = not connected */
    char source[PTN_ADDRESS_BYTES]; /* local address of the connection; empty = none */
    char said[64];                  /* printable start of a stranger's answer; empty = none */
};

/* Greet one address. Only PING and VALIDATE are sent: they change nothing in a store. Never call it
 * on a port of NCCL's, whose accepting thread waits for ever on a silent peer.
 * ctl is the outer limit; the two time-outs bound the connection and the answer. */
ptn_must_check int ptn_store_greet(const struct ptn_sock_addr *addr, int64_t connect_timeout_ns,
                                   int64_t answer_timeout_ns, const struct ptn_ctl *ctl,
                                   struct ptn_store_greeting *ret_greeting, struct ptn_err *err);

#endif
