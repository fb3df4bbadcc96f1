/* SPDX-License-Identifier: MIT */
/* _core.listeners, socket_counts, port_ranges, bind_try */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "py/py.h"
#include "sys/bind.h"
#include "sys/port.h"

static PyObject *family(const void *row)
{
    const struct ptn_listener *l = row;

    return PyUnicode_InternFromString(l->family == AF_INET ? "inet" : "inet6");
}

static const struct py_field listener_fields[] = {
    PY_FIELD(struct ptn_listener, address, PY_TEXT),
    PY_FIELD(struct ptn_listener, port, PY_I32),
    PY_FIELD_MADE("family", family),
    PY_FIELD(struct ptn_listener, v6only, PY_FLAG_OR_NONE),
    PY_FIELD(struct ptn_listener, interface, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_listener, uid, PY_U32),
    PY_FIELD(struct ptn_listener, inode, PY_U64),
    PY_FIELD(struct ptn_listener, backlog, PY_I32_OR_NONE),
    PY_FIELD(struct ptn_listener, pid, PY_I32_OR_NONE),
    PY_FIELD(struct ptn_listener, command, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_listener, ppid, PY_I32_OR_NONE),
};

static int ask_listeners(const struct ptn_ctl *ctl, void **ret_rows, size_t *ret_n,
                         struct ptn_err *err)
{
    struct ptn_listener *rows;
    int r = ptn_port_list(ctl, &rows, ret_n, err);

    if (r == 0)
        *ret_rows = rows;
    return r;
}

static PyObject *listeners(PyObject *mod, PyObject *Py_UNUSED(noargs))
{
    return py_list(mod, ask_listeners, listener_fields, PTN_COUNT(listener_fields),
                   sizeof(struct ptn_listener));
}

static const struct py_field count_fields[] = {
    PY_FIELD(struct ptn_port_counts, established, PY_I64),
    PY_FIELD(struct ptn_port_counts, time_wait, PY_I64),
    PY_FIELD(struct ptn_port_counts, syn_sent, PY_I64),
    PY_FIELD(struct ptn_port_counts, close_wait, PY_I64),
    PY_FIELD(struct ptn_port_counts, listen, PY_I64),
};

static PyObject *socket_counts(PyObject *mod, PyObject *Py_UNUSED(noargs))
{
    struct ptn_port_counts counts;
    struct ptn_err err = {0};
    struct py_wait wait;
    int r;

    py_wait_begin(&wait, -1);
    r = ptn_port_count(&wait.ctl, &counts, &err);
    py_wait_end(&wait);
    if (r < 0)
        return py_raise(mod, &err);
    return py_row(count_fields, PTN_COUNT(count_fields), &counts);
}

static PyObject *reserved(const void *row)
{
    const struct ptn_port_ranges *ranges = row;
    PyObject *list = PyList_New((Py_ssize_t)ranges->n_reserved);

    for (size_t i = 0; list && i < ranges->n_reserved; i++) {
        PyObject *span = Py_BuildValue("[LL]", (long long)ranges->reserved[i].first,
                                       (long long)ranges->reserved[i].last);

        if (!span || PyList_SetItem(list, (Py_ssize_t)i, span) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static const struct py_field range_fields[] = {
    PY_FIELD(struct ptn_port_ranges, ephemeral_first, PY_I64_OR_NONE),
    PY_FIELD(struct ptn_port_ranges, ephemeral_last, PY_I64_OR_NONE),
    PY_FIELD_MADE("reserved", reserved),
    PY_FIELD(struct ptn_port_ranges, unprivileged_start, PY_I64_OR_NONE),
};

static PyObject *port_ranges(PyObject *mod, PyObject *Py_UNUSED(noargs))
{
    struct ptn_port_ranges ranges;
    struct ptn_err err = {0};
    PyObject *dict;
    int r;

    Py_BEGIN_ALLOW_THREADS r = ptn_port_ranges_get(&ranges, &err);
    Py_END_ALLOW_THREADS if (r < 0) return py_raise(mod, &err);
    dict = py_row(range_fields, PTN_COUNT(range_fields), &ranges);
    free(ranges.reserved);
    return dict;
}

static PyObject *error_name(int err_no)
{
    switch (err_no) {
    case EADDRINUSE:
        return PyUnicode_InternFromString("in-use");
    case EACCES:
    case EPERM:
        return PyUnicode_InternFromString("not-permitted");
    case EADDRNOTAVAIL:
        return PyUnicode_InternFromString("no-such-address");
    case EAFNOSUPPORT:
        return PyUnicode_InternFromString("no-family");
    default:
        return py_errno_name(err_no);
    }
}

static PyObject *bind_try(PyObject *mod, PyObject *args)
{
    struct ptn_bind_try try;
    struct ptn_err err = {0};
    int port, r;

    if (!PyArg_ParseTuple(args, "i:bind_try", &port))
        return NULL;
    if (port < 0 || port > 65535)
        return py_raise_usage(mod, "port %d: expected 0 to 65535", port);
    Py_BEGIN_ALLOW_THREADS r = ptn_bind_try((uint16_t)port, &try, &err);
    Py_END_ALLOW_THREADS if (r < 0) return py_raise(mod, &err);
    if (try.err_no == 0)
        return Py_BuildValue("{sisssOsOsO}", "port", port, "address", try.address, "ok", Py_True,
                             "errno", Py_None, "error", Py_None);
    return Py_BuildValue("{sisssOsisN}", "port", port, "address", try.address, "ok", Py_False,
                         "errno", try.err_no, "error", error_name(try.err_no));
}

PyMethodDef py_port_methods[] = {
    {"listeners", listeners, METH_NOARGS,
     "listeners($module, /)\n--\n\nAll TCP listeners of this network namespace."},
    {"socket_counts", socket_counts, METH_NOARGS,
     "socket_counts($module, /)\n--\n\nNumber of TCP sockets by state."},
    {"port_ranges", port_ranges, METH_NOARGS,
     "port_ranges($module, /)\n--\n\nEphemeral, reserved and unprivileged ports."},
    {"bind_try", bind_try, METH_VARARGS,
     "bind_try($module, port, /)\n--\n\nBind and listen as torch's store does, and close at once."},
    {NULL, NULL, 0, NULL},
};
