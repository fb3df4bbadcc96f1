/* SPDX-License-Identifier: MIT */
/* Deadline and stop for everything that waits. */
#include "base/ctl.h"

#include <errno.h>

#include "base/clock.h"

struct ptn_ctl ptn_ctl_after(int64_t timeout_ns)
{
    struct ptn_ctl ctl = {.deadline_ns = INT64_MAX};

    if (timeout_ns >= 0) {
        int64_t now = ptn_clock_now_ns();

        ctl.deadline_ns = timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
    }
    return ctl;
}

int ptn_ctl_check(const struct ptn_ctl *ctl, const char *what, struct ptn_err *err)
{
    if (ctl->stop && ctl->stop(ctl->user))
        return ptn_err_set(err, PTN_ERR_CANCELLED, ECANCELED, "%s", what);
    if (ptn_clock_now_ns() >= ctl->deadline_ns)
        return ptn_err_set(err, PTN_ERR_TIMEOUT, ETIMEDOUT, "%s", what);
    return 0;
}

int ptn_ctl_slice_ms(const struct ptn_ctl *ctl)
{
    int64_t now_ns = ptn_clock_now_ns(), left_ns;

    if (ctl->deadline_ns == INT64_MAX)
        return PTN_CTL_SLICE_MS;
    if (ctl->deadline_ns <= now_ns)
        return 0;
    left_ns = ctl->deadline_ns - now_ns;
    if (left_ns >= PTN_CTL_SLICE_MS * PTN_MS_NS)
        return PTN_CTL_SLICE_MS;
    return (int)((left_ns + PTN_MS_NS - 1) / PTN_MS_NS);
}

int ptn_ctl_poll(const struct ptn_ctl *ctl, struct pollfd *fds, nfds_t n, const char *what,
                 struct ptn_err *err)
{
    for (;;) {
        int ready = poll(fds, n, ptn_ctl_slice_ms(ctl));
        int r;

        if (ready > 0)
            return ready;
        if (ready < 0 && errno != EINTR)
            return ptn_err_errno(err, "%s", what);
        r = ptn_ctl_check(ctl, what, err);
        if (r < 0)
            return r;
    }
}
