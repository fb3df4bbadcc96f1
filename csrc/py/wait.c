/* SPDX-License-Identifier: MIT */
/* Waiting without the GIL, ended by Ctrl-C. */
#include "base/clock.h"
#include "py/py.h"

#define LOOK_MS 40

static int signals_arrived(void *user)
{
    struct py_wait *wait = user;
    int r;

    /* Taking the GIL from a busy thread costs up to 5 ms (sys.getswitchinterval), and some callers
     * ask at every process of /proc. */
    if (ptn_clock_now_ns() < wait->look_ns)
        return 0;
    PyEval_RestoreThread(wait->thread);
    r = PyErr_CheckSignals(); /* -1: a handler raised; the exception stays set for py_raise */
    wait->thread = PyEval_SaveThread();
    wait->look_ns = ptn_clock_now_ns() + LOOK_MS * PTN_MS_NS;
    return r < 0;
}

int64_t py_ns(double seconds)
{
    const double longest_s = 1e9;

    if (seconds < 0)
        return 0;
    return (int64_t)((seconds <= longest_s ? seconds : longest_s) * (double)PTN_S_NS);
}

void py_wait_begin(struct py_wait *wait, double timeout_s)
{
    wait->ctl = ptn_ctl_after(timeout_s < 0 ? -1 : py_ns(timeout_s));
    wait->ctl.stop = signals_arrived;
    wait->ctl.user = wait;
    wait->look_ns = 0;
    wait->thread = PyEval_SaveThread();
}

void py_wait_end(struct py_wait *wait)
{
    PyEval_RestoreThread(wait->thread);
    wait->thread = NULL;
}
