/* SPDX-License-Identifier: MIT */
/* The only place that turns a ptn_err into an exception. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "py/py.h"

static const char *class_name(enum ptn_err_kind kind)
{
    switch (kind) {
    case PTN_ERR_PERMISSION:
        return "PermissionDenied";
    case PTN_ERR_TIMEOUT:
        return "DeadlineExceeded";
    case PTN_ERR_CANCELLED:
        return "Cancelled";
    case PTN_ERR_INCONSISTENT:
        return "InconsistentRead";
    case PTN_ERR_LIMIT:
        return "LimitExceeded";
    case PTN_ERR_INPUT:
        return "UsageError";
    case PTN_ERR_NONE:
    case PTN_ERR_SYSTEM:
    case PTN_ERR_MEMORY:
        break;
    }
    return "SystemCallError";
}

static PyObject *error_class(PyObject *mod, const char *name) /* new reference or NULL */
{
    struct py_state *state = py_state(mod);

    if (!state->errors) {
        state->errors = PyImport_ImportModule("ptnet.errors");
        if (!state->errors)
            return NULL;
    }
    return PyObject_GetAttrString(state->errors, name);
}

PyObject *py_raise(PyObject *mod, const struct ptn_err *err)
{
    PyObject *cls, *args;

    if (PyErr_Occurred())
        return NULL;
    if (err->kind == PTN_ERR_MEMORY)
        return PyErr_NoMemory();
    cls = error_class(mod, class_name(err->kind));
    if (!cls)
        return NULL;
    if (err->err_no && err->kind != PTN_ERR_INPUT && err->kind != PTN_ERR_LIMIT &&
        err->kind != PTN_ERR_INCONSISTENT)
        args = Py_BuildValue("(iN)", err->err_no,
                             PyUnicode_FromFormat("%s: %s", err->what, strerror(err->err_no)));
    else
        args = Py_BuildValue("(N)", py_text(err->what));
    if (args)
        PyErr_SetObject(cls, args);
    Py_XDECREF(args);
    Py_DECREF(cls);
    return NULL;
}

PyObject *py_raise_usage(PyObject *mod, const char *fmt, ...)
{
    PyObject *cls, *text;
    char buf[256];
    va_list args;

    /* PyUnicode_FromFormatV takes ASCII formats only */
    va_start(args, fmt);
    (void)vsnprintf(buf, sizeof(buf), fmt, args); /* cut at the end on purpose */
    va_end(args);
    text = PyUnicode_DecodeUTF8(buf, (Py_ssize_t)strlen(buf), "replace");
    cls = error_class(mod, "UsageError");
    if (cls && text)
        PyErr_SetObject(cls, text);
    Py_XDECREF(cls);
    Py_XDECREF(text);
    return NULL;
}
