/* SPDX-License-Identifier: MIT */
/* The border to Python: module state, raising, waiting, and turning C rows into dicts. */
#ifndef PTN_PY_PY_H
#define PTN_PY_PY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ctl.h"
#include "base/err.h"

struct py_state {
    PyObject *errors; /* the module ptnet.errors, imported at the first error; owned */
};

struct py_state *py_state(PyObject *mod);

/* Raise the class of ptnet.errors that fits err->kind. Returns NULL. An exception that is already
 * set (KeyboardInterrupt of a cancelled wait) stays. */
PyObject *py_raise(PyObject *mod, const struct ptn_err *err);

/* Raise UsageError with a formatted text. Returns NULL. */
PyObject *py_raise_usage(PyObject *mod, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A wait without the GIL that Ctrl-C can end:
 *     struct py_wait wait;
 *     py_wait_begin(&wait, timeout_s);       releases the GIL; negative = no deadline
 *     r = ptn_something(&wait.ctl, ...);
 *     py_wait_end(&wait);                    takes it again */
/* Nanoseconds of a time-out in seconds; what is longer than 30 years, or no number, is that. */
int64_t py_ns(double seconds);

struct py_wait {
    struct ptn_ctl ctl;
    PyThreadState *thread;
    int64_t look_ns; /* no signal is looked for before */
};
void py_wait_begin(struct py_wait *wait, double timeout_s);
void py_wait_end(struct py_wait *wait);

/* How one member of a C row becomes a value of a dict. */
enum py_type {
    PY_TEXT,          /* char[], 0-ended */
    PY_TEXT_OR_NONE,  /* char[], empty = None */
    PY_CHARS_OR_NONE, /* char *, NULL = None */
    PY_FLAG,          /* bool */
    PY_FLAG_OR_NONE,  /* int8_t, negative = None */
    PY_I32,           /* int32_t */
    PY_I32_OR_NONE,   /* int32_t, negative = None */
    PY_U32,           /* uint32_t */
    PY_I64,           /* int64_t */
    PY_I64_OR_NONE,   /* int64_t, negative = None */
    PY_U64,           /* uint64_t */
    PY_NS_AS_MS,      /* int64_t nanoseconds, negative = None; becomes float milliseconds */
    PY_MADE,          /* make(row) returns a new reference, or NULL with an exception */
    PY_MADE_OF,       /* the same, where make(row) depends only on the 8 bytes from the member on */
};

struct py_field {
    const char *name;
    enum py_type type;
    size_t offset;
    PyObject *(*make)(const void *row);
};

#define PY_FIELD(row_type, member, kind) {#member, kind, offsetof(row_type, member), NULL}
#define PY_FIELD_MADE(name, fn)          {name, PY_MADE, 0, fn}
#define PY_FIELD_MADE_OF(row_type, member, name, fn)                                               \
    {name, PY_MADE_OF, offsetof(row_type, member), fn}

/* A dict of one row; a list of dicts of n rows that lie `stride` bytes apart. */
PyObject *py_row(const struct py_field *fields, size_t n_fields, const void *row);
PyObject *py_rows(const struct py_field *fields, size_t n_fields, const void *rows, size_t stride,
                  size_t n);

/* A new reference to None. */
PyObject *py_none(void);

/* A question of the core that allocates its rows; untouched outputs on failure. */
typedef int (*py_ask)(const struct ptn_ctl *ctl, void **ret_rows, size_t *ret_n,
                      struct ptn_err *err);

/* Ask without the GIL, until Ctrl-C; the rows become a list of dicts and are freed. */
PyObject *py_list(PyObject *mod, py_ask ask, const struct py_field *fields, size_t n_fields,
                  size_t stride);

/* Text from the kernel or a file: UTF-8 with surrogateescape. */
PyObject *py_text(const char *text);

/* `EADDRINUSE` for 98; a number without a name becomes `E` and the number. */
PyObject *py_errno_name(int err_no);

/* Set dict[name] = value and drop the reference to value; -1 with an exception, also when value is
 * NULL already. */
int py_put(PyObject *dict, const char *name, PyObject *value);

/* A list of texts: names[i] for every set bit i of bits. */
PyObject *py_bit_names(uint64_t bits, const char *const names[], size_t n);

/* The functions of each noun; module.c adds them all. */
extern PyMethodDef py_link_methods[];
extern PyMethodDef py_route_methods[];
extern PyMethodDef py_port_methods[];
extern PyMethodDef py_sysctl_methods[];
extern PyMethodDef py_host_methods[];
extern PyMethodDef py_namefile_methods[];
extern PyMethodDef py_resolve_methods[];
extern PyMethodDef py_store_methods[];

#endif
