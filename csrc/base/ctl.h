/* SPDX-License-Identifier: MIT */
/* How long a call may wait, and who may stop it. Everything that waits takes one. */
#ifndef PTN_BASE_CTL_H
#define PTN_BASE_CTL_H

#include <poll.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/err.h"

#define PTN_CTL_SLICE_MS 100

struct ptn_ctl {
    int64_t deadline_ns;     /* CLOCK_MONOTONIC; INT64_MAX = none */
    int (*stop)(void *user); /* non-zero ends the wait; called at least every 100 ms; may be NULL */
    void *user;
};

/* A deadline `timeout_ns` from now, without a stop callback. Negative = none. */
struct ptn_ctl ptn_ctl_after(int64_t timeout_ns);

/* 0, or -ETIMEDOUT / -ECANCELED with err filled. `what` names what was being waited for. */
ptn_must_check int ptn_ctl_check(const struct ptn_ctl *ctl, const char *what, struct ptn_err *err);

/* Milliseconds that one poll() may take now: 0 to PTN_CTL_SLICE_MS. */
int ptn_ctl_slice_ms(const struct ptn_ctl *ctl);

/* Poll until something is ready (returns its number, > 0), or the deadline or stop ends it
 * (-ETIMEDOUT, -ECANCELED), or poll itself fails. An interrupted poll goes on. */
ptn_must_check int ptn_ctl_poll(const struct ptn_ctl *ctl, struct pollfd *fds, nfds_t n,
                                const char *what, struct ptn_err *err);

#endif
