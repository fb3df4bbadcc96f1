/* SPDX-License-Identifier: MIT */
/* _core.resolve, _core.is_local */
#include <string.h>

#include "probe/resolve.h"
#include "py/py.h"

static const char *error_kind(int gai)
{
    switch (gai) {
    case EAI_NONAME:
        return "no-such-name";
    case EAI_NODATA:
        return "no-data";
    case EAI_AGAIN:
        return "try-again";
    case EAI_FAIL:
        return "failed";
    case EAI_SYSTEM:
        return "system";
    case PTN_RESOLVE_LATE:
        return "timeout";
    default:
        return "failed";
    }
}

static PyObject *address(const void *row)
{
    char text[PTN_ADDRESS_BYTES];

    ptn_sock_text(&((const struct ptn_resolved *)row)->addr, text);
    return py_text(text);
}

static PyObject *family(const void *row)
{
    const struct ptn_resolved *a = row;

    return PyUnicode_InternFromString(a->addr.u.any.sa_family == AF_INET ? "inet" : "inet6");
}

static const struct py_field address_fields[] = {
    PY_FIELD_MADE("address", address),
    PY_FIELD_MADE("family", family),
    PY_FIELD(struct ptn_resolved, local, PY_FLAG_OR_NONE),
    PY_FIELD(struct ptn_resolved, reverse, PY_TEXT_OR_NONE),
    {"reverse_ms", PY_NS_AS_MS, offsetof(struct ptn_resolved, reverse_ns), NULL},
};

static PyObject *addresses(const void *row)
{
    const struct ptn_resolution *r = row;

    return py_rows(address_fields, PTN_COUNT(address_fields), r->addrs, sizeof(*r->addrs), r->n);
}

static PyObject *error(const void *row)
{
    const struct ptn_resolution *r = row;

    return r->gai ? PyUnicode_InternFromString(error_kind(r->gai)) : py_none();
}

static PyObject *error_text(const void *row)
{
    const struct ptn_resolution *r = row;

    if (!r->gai)
        return py_none();
    if (r->gai == PTN_RESOLVE_LATE)
        return py_text("no answer before the deadline");
    return py_text(r->gai == EAI_SYSTEM ? strerror(r->err_no) : gai_strerror(r->gai));
}

static const struct py_field fields[] = {
    PY_FIELD_MADE("addresses", addresses),
    PY_FIELD(struct ptn_resolution, canonical, PY_TEXT_OR_NONE),
    PY_FIELD_MADE("error", error),
    PY_FIELD_MADE("error_text", error_text),
    {"time_ms", PY_NS_AS_MS, offsetof(struct ptn_resolution, time_ns), NULL},
};

/* The texts of a sequence: borrowed pointers into `held`, which the caller owns. */
static int read_names(PyObject *mod, PyObject *sequence, PyObject **ret_held,
                      const char *names[PTN_RESOLVE_NAMES], size_t *ret_n)
{
    PyObject *held = PySequence_List(sequence);
    Py_ssize_t n = held ? PyList_Size(held) : -1;

    if (n > PTN_RESOLVE_NAMES) {
        (void)py_raise_usage(mod, "resolve takes at most %d names, not %zd", PTN_RESOLVE_NAMES, n);
        n = -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t length = 0;

        names[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(held, i), &length);
        if (names[i] && strlen(names[i]) != (size_t)length) {
            (void)py_raise_usage(mod, "a name to resolve contains a zero byte");
            names[i] = NULL;
        }
        if (!names[i])
            n = -1;
    }
    if (n < 0) {
        Py_XDECREF(held);
        return -1;
    }
    *ret_held = held;
    *ret_n = (size_t)n;
    return 0;
}

static PyObject *resolve(PyObject *mod, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"names", "timeout_s", "reverse", "canonical", NULL};
    const char *names[PTN_RESOLVE_NAMES];
    struct ptn_resolution *found = NULL;
    PyObject *sequence, *held, *list;
    int reverse = 0, canonical = 0, r = 0;
    struct ptn_err err = {0};
    struct py_wait wait;
    double timeout_s;
    size_t n = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Od|pp:resolve", keywords, &sequence, &timeout_s,
                                     &reverse, &canonical))
        return NULL;
    if (read_names(mod, sequence, &held, names, &n) < 0)
        return NULL;
    if (n > 0) {
        unsigned flags =
            (reverse ? PTN_RESOLVE_REVERSE : 0u) | (canonical ? PTN_RESOLVE_CANONICAL : 0u);

        py_wait_begin(&wait, timeout_s < 0 ? 0 : timeout_s);
        r = ptn_resolve_run(names, n, flags, &wait.ctl, &found, &err);
        py_wait_end(&wait);
    }
    list =
        r < 0 ? py_raise(mod, &err) : py_rows(fields, PTN_COUNT(fields), found, sizeof(*found), n);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *name = PyList_GetItem(held, (Py_ssize_t)i); /* borrowed */

        if (PyDict_SetItemString(PyList_GetItem(list, (Py_ssize_t)i), "name", name) < 0)
            Py_CLEAR(list);
    }
    ptn_resolve_free(found, n);
    Py_DECREF(held);
    return list;
}

static PyObject *is_local(PyObject *mod, PyObject *args)
{
    struct ptn_sock_addr addr;
    struct ptn_err err = {0};
    const char *text;
    bool local = false;
    int r;

    if (!PyArg_ParseTuple(args, "s:is_local", &text))
        return NULL;
    r = ptn_sock_parse(text, 0, &addr, &err);
    if (r == 0) {
        Py_BEGIN_ALLOW_THREADS r = ptn_sock_is_local(&addr, &local, &err);
        Py_END_ALLOW_THREADS
    }
    return r < 0 ? py_raise(mod, &err) : PyBool_FromLong(local);
}

PyMethodDef py_resolve_methods[] = {
    {"resolve", (PyCFunction)(void (*)(void))resolve, METH_VARARGS | METH_KEYWORDS,
     "resolve($module, names, timeout_s, reverse=False, canonical=False)\n--\n\n"
     "Resolve names at once as getaddrinfo does, each with its time or its error."},
    {"is_local", is_local, METH_VARARGS,
     "is_local($module, address, /)\n--\n\nSay whether a TCP socket can be bound to an address."},
    {NULL, NULL, 0, NULL},
};
