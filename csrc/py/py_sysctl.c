/* SPDX-License-Identifier: MIT */
/* _core.sysctl */
#include <string.h>

#include "py/py.h"
#include "sys/sysctl.h"

#define MAX_KEYS 4096

static PyObject *type(const void *row)
{
    const struct ptn_sysctl *s = row;
    size_t numbers = 0;

    if (!s->value)
        return py_none();
    for (const char *p = s->value; *p;) {
        size_t digits;

        p += strspn(p, " \t");
        digits = strspn(p + (*p == '-'), "0123456789");
        if (digits == 0)
            return PyUnicode_InternFromString("text");
        p += (*p == '-') + digits;
        if (*p && *p != ' ' && *p != '\t')
            return PyUnicode_InternFromString("text");
        numbers++;
    }
    return PyUnicode_InternFromString(numbers == 1 ? "int" : numbers ? "ints" : "text");
}

static PyObject *scope(const void *row)
{
    static const char *const names[] = {
        [PTN_SYSCTL_UNKNOWN] = "unknown",
        [PTN_SYSCTL_NAMESPACE] = "namespace",
        [PTN_SYSCTL_HOST] = "host",
    };

    return PyUnicode_InternFromString(names[((const struct ptn_sysctl *)row)->scope]);
}

static PyObject *err_no(const void *row)
{
    const struct ptn_sysctl *s = row;

    return s->err_no ? PyLong_FromLong(s->err_no) : py_none();
}

static PyObject *error(const void *row)
{
    const struct ptn_sysctl *s = row;

    return s->err_no ? py_text(strerror(s->err_no)) : py_none();
}

static const struct py_field fields[] = {
    PY_FIELD(struct ptn_sysctl, value, PY_CHARS_OR_NONE),
    PY_FIELD_MADE("type", type),
    PY_FIELD_MADE_OF(struct ptn_sysctl, scope, "scope", scope),
    PY_FIELD(struct ptn_sysctl, writable, PY_FLAG_OR_NONE),
    PY_FIELD_MADE("errno", err_no),
    PY_FIELD_MADE("error", error),
};

static PyObject *read_keys(PyObject *mod, PyObject *held, const char **keys, size_t n)
{
    struct ptn_sysctl *rows = NULL;
    struct ptn_err err = {0};
    PyObject *list, *name;
    int r;

    for (size_t i = 0; i < n; i++) {
        Py_ssize_t length = 0;

        keys[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(held, (Py_ssize_t)i), &length);
        if (keys[i] && strlen(keys[i]) != (size_t)length)
            return py_raise_usage(mod, "a sysctl key contains a zero byte");
        if (!keys[i])
            return NULL;
    }
    Py_BEGIN_ALLOW_THREADS r = ptn_sysctl_get(keys, n, &rows, &err);
    Py_END_ALLOW_THREADS if (r < 0) return py_raise(mod, &err);
    list = py_rows(fields, PTN_COUNT(fields), rows, sizeof(*rows), n);
    ptn_sysctl_free(rows, n);
    name = PyUnicode_InternFromString("key");
    if (!name)
        Py_CLEAR(list);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *key = PyList_GetItem(held, (Py_ssize_t)i); /* borrowed */

        if (PyDict_SetItem(PyList_GetItem(list, (Py_ssize_t)i), name, key) < 0)
            Py_CLEAR(list);
    }
    Py_XDECREF(name);
    return list;
}

static PyObject *sysctl(PyObject *mod, PyObject *args)
{
    PyObject *sequence, *held, *list = NULL;
    const char **keys = NULL;
    Py_ssize_t n;

    if (!PyArg_ParseTuple(args, "O:sysctl", &sequence))
        return NULL;
    held = PySequence_List(sequence);
    if (!held)
        return NULL;
    n = PyList_Size(held);
    if (n > MAX_KEYS)
        (void)py_raise_usage(mod, "sysctl takes at most %d keys, not %zd", MAX_KEYS, n);
    else if (!(keys = malloc((size_t)(n ? n : 1) * sizeof(*keys))))
        (void)PyErr_NoMemory();
    else
        list = read_keys(mod, held, keys, (size_t)n);
    free(keys);
    Py_DECREF(held);
    return list;
}

PyMethodDef py_sysctl_methods[] = {
    {"sysctl", sysctl, METH_VARARGS,
     "sysctl($module, keys, /)\n--\n\nRead kernel settings, each with its value or its errno."},
    {NULL, NULL, 0, NULL},
};
