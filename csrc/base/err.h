/* SPDX-License-Identifier: MIT */
/* Why a question could not be asked: what was being done, the errno, and the kind that Python
 * raises. */
#ifndef PTN_BASE_ERR_H
#define PTN_BASE_ERR_H

enum ptn_err_kind {
    PTN_ERR_NONE = 0,
    PTN_ERR_SYSTEM,       /* a system call failed; err_no says how */
    PTN_ERR_PERMISSION,   /* EPERM or EACCES */
    PTN_ERR_MEMORY,       /* allocation failed */
    PTN_ERR_TIMEOUT,      /* the deadline passed */
    PTN_ERR_CANCELLED,    /* the stop callback said stop (Ctrl-C) */
    PTN_ERR_INCONSISTENT, /* the kernel's tables kept changing while being read */
    PTN_ERR_LIMIT,        /* a stated maximum was reached */
    PTN_ERR_INPUT,        /* the caller's argument is unusable */
};

struct ptn_err {
    enum ptn_err_kind kind;
    int err_no;     /* positive errno, 0 where none applies */
    char what[192]; /* what was being done, e.g. "netlink dump of links" */
};

/* Fill err (which may be NULL) and return -err_no. A kind of PTN_ERR_SYSTEM is refined by err_no.
 */
int ptn_err_set(struct ptn_err *err, enum ptn_err_kind kind, int err_no, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for a failed system call, with the current errno. Returns -errno. */
int ptn_err_errno(struct ptn_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* For a failed allocation; returns -ENOMEM. */
int ptn_err_memory(struct ptn_err *err, const char *what);

#endif
