/* SPDX-License-Identifier: MIT */
/* Waiting without the GIL, ended by Ctrl-C. */
#include "base/clock.h"
#include "py/py.h"

static int signals_arrived(void *user)
{
    struct py_wait *wait = user;
    int r;

    PyEval_RestoreThread(wait->thread);
    r = PyErr_CheckSignals(); /* -1: a handler raised; the exception stays set for py_raise */
    wait->thread = PyEval_SaveThread();
    return r < 0;
}

void py_wait_begin(struct py_wait *wait, double timeout_s)
{
    const double longest_s = 1e9;
    bool ends = timeout_s >= 0 && timeout_s <= longest_s; /* false for NaN too */

    wait->ctl = ptn_ctl_after(ends ? (int64_t)(timeout_s * (double)PTN_S_NS) : -1);
    wait->ctl.stop = signals_arrived;
    wait->ctl.user = wait;
    wait->thread = PyEval_SaveThread();
}

void py_wait_end(struct py_wait *wait)
{
    PyEval_RestoreThread(wait->thread);
    wait->thread = NULL;
}
