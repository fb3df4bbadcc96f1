/* SPDX-License-Identifier: MIT */
/* Why a question could not be asked. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static enum ptn_err_kind refine(enum ptn_err_kind kind, int err_no)
{
    if (kind != PTN_ERR_SYSTEM)
        return kind;
    switch (err_no) {
    case EPERM:
    case EACCES:
        return PTN_ERR_PERMISSION;
    case ENOMEM:
        return PTN_ERR_MEMORY;
    case ETIMEDOUT:
        return PTN_ERR_TIMEOUT;
    case ECANCELED:
        return PTN_ERR_CANCELLED;
    default:
        return kind;
    }
}

static __attribute__((format(printf, 4, 0))) int fill(struct ptn_err *err, enum ptn_err_kind kind,
                                                      int err_no, const char *fmt, va_list args)
{
    if (err) {
        err->kind = refine(kind, err_no);
        err->err_no = err_no;
        (void)vsnprintf(err->what, sizeof(err->what), fmt, args); /* cut at the end on purpose */
    }
    return err_no > 0 ? -err_no : -EIO;
}

int ptn_err_set(struct ptn_err *err, enum ptn_err_kind kind, int err_no, const char *fmt, ...)
{
    va_list args;
    int r;

    va_start(args, fmt);
    r = fill(err, kind, err_no, fmt, args);
    va_end(args);
    return r;
}

int ptn_err_errno(struct ptn_err *err, const char *fmt, ...)
{
    int saved = errno;
    va_list args;
    int r;

    va_start(args, fmt);
    r = fill(err, PTN_ERR_SYSTEM, saved, fmt, args);
    va_end(args);
    return r;
}

int ptn_err_memory(struct ptn_err *err, const char *what)
{
    return ptn_err_set(err, PTN_ERR_MEMORY, ENOMEM, "%s", what);
}
