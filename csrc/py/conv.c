/* SPDX-License-Identifier: MIT */
/* C rows into dicts, by a table of fields. */
#include <string.h>

#include "base/clock.h"
#include "py/py.h"

#define MAX_FIELDS 64
#define MADE_BITS  6
#define MADE       (1 << MADE_BITS)
#define GOLDEN     0x9e3779b97f4a7c15u /* spreads what differs in few bits */

PyObject *py_text(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

PyObject *py_none(void)
{
    Py_INCREF(Py_None);
    return Py_None;
}

/* The latest objects of PY_MADE_OF: interning a text anew costs more than all else in its field. */
struct made {
    const struct py_field *field;
    uint64_t of;
    PyObject *object; /* owned */
};

static PyObject *made_of(struct made made[static MADE], const struct py_field *field,
                         const void *row)
{
    uint64_t of;
    struct made *last;

    memcpy(&of, (const char *)row + field->offset, sizeof(of));
    last = &made[(of ^ (uintptr_t)field) * GOLDEN >> (64 - MADE_BITS)];
    if (!last->object || last->field != field || last->of != of) {
        Py_XDECREF(last->object);
        *last = (struct made){field, of, field->make(row)};
    }
    if (last->object && PyList_Check(last->object)) /* each row has its own to change */
        return PyList_GetSlice(last->object, 0, PyList_Size(last->object));
    Py_XINCREF(last->object);
    return last->object;
}

static PyObject *value(const struct py_field *field, const void *row, struct made made[static MADE])
{
    const char *at = (const char *)row + field->offset;

    switch (field->type) {
    case PY_TEXT:
        return py_text(at);
    case PY_TEXT_OR_NONE:
        return *at ? py_text(at) : py_none();
    case PY_CHARS_OR_NONE: {
        const char *text = *(const char *const *)at;

        return text ? py_text(text) : py_none();
    }
    case PY_FLAG:
        return PyBool_FromLong(*(const bool *)at);
    case PY_FLAG_OR_NONE:
        return *(const int8_t *)at < 0 ? py_none() : PyBool_FromLong(*(const int8_t *)at);
    case PY_I32:
        return PyLong_FromLong(*(const int32_t *)at);
    case PY_I32_OR_NONE:
        return *(const int32_t *)at < 0 ? py_none() : PyLong_FromLong(*(const int32_t *)at);
    case PY_U32:
        return PyLong_FromUnsignedLong(*(const uint32_t *)at);
    case PY_I64:
        return PyLong_FromLongLong(*(const int64_t *)at);
    case PY_I64_OR_NONE:
        return *(const int64_t *)at < 0 ? py_none() : PyLong_FromLongLong(*(const int64_t *)at);
    case PY_U64:
        return PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
    case PY_NS_AS_MS:
        return *(const int64_t *)at < 0
                   ? py_none()
                   : PyFloat_FromDouble((double)*(const int64_t *)at / (double)PTN_MS_NS);
    case PY_MADE:
        return field->make(row);
    case PY_MADE_OF:
        return made_of(made, field, row);
    }
    PyErr_SetString(PyExc_SystemError, "unknown field type");
    return NULL;
}

/* Fill `dict`, which it takes; the dict, or NULL with an exception. */
static PyObject *fill(PyObject *dict, const struct py_field *fields, PyObject *const *keys,
                      size_t n_fields, const void *row, struct made made[static MADE])
{
    if (!dict)
        return NULL;
    for (size_t i = 0; i < n_fields; i++) {
        PyObject *item = value(&fields[i], row, made);
        int r = item ? PyDict_SetItem(dict, keys[i], item) : -1;

        Py_XDECREF(item);
        if (r < 0) {
            Py_DECREF(dict);
            return NULL;
        }
    }
    return dict;
}

/* The keys are made once for all rows: a quarter of the time of a thousand links. */
static int make_keys(const struct py_field *fields, size_t n_fields, PyObject **keys)
{
    if (n_fields > MAX_FIELDS) {
        PyErr_SetString(PyExc_SystemError, "too many fields in a row");
        return -1;
    }
    for (size_t i = 0; i < n_fields; i++) {
        keys[i] = PyUnicode_InternFromString(fields[i].name);
        if (!keys[i]) {
            while (i > 0)
                Py_DECREF(keys[--i]);
            return -1;
        }
    }
    return 0;
}

/* A dict of all keys: a copy of it need not grow while it is filled. */
static PyObject *make_blank(PyObject *const *keys, size_t n_fields)
{
    PyObject *dict = PyDict_New();

    for (size_t i = 0; dict && i < n_fields; i++)
        if (PyDict_SetItem(dict, keys[i], Py_None) < 0)
            Py_CLEAR(dict);
    return dict;
}

static void drop(PyObject **keys, size_t n_fields, struct made made[static MADE])
{
    for (size_t i = 0; i < MADE; i++)
        Py_XDECREF(made[i].object);
    for (size_t i = 0; i < n_fields; i++)
        Py_DECREF(keys[i]);
}

PyObject *py_row(const struct py_field *fields, size_t n_fields, const void *row)
{
    struct made made[MADE] = {0};
    PyObject *keys[MAX_FIELDS], *dict;

    if (make_keys(fields, n_fields, keys) < 0)
        return NULL;
    dict = fill(PyDict_New(), fields, keys, n_fields, row, made);
    drop(keys, n_fields, made);
    return dict;
}

PyObject *py_rows(const struct py_field *fields, size_t n_fields, const void *rows, size_t stride,
                  size_t n)
{
    struct made made[MADE] = {0};
    PyObject *keys[MAX_FIELDS], *blank, *list;

    if (make_keys(fields, n_fields, keys) < 0)
        return NULL;
    blank = make_blank(keys, n_fields);
    list = blank ? PyList_New((Py_ssize_t)n) : NULL;
    for (size_t i = 0; list && i < n; i++) {
        PyObject *dict =
            fill(PyDict_Copy(blank), fields, keys, n_fields, (const char *)rows + i * stride, made);

        if (!dict || PyList_SetItem(list, (Py_ssize_t)i, dict) < 0) { /* SetItem takes dict */
            Py_DECREF(list);
            list = NULL;
        }
    }
    Py_XDECREF(blank);
    drop(keys, n_fields, made);
    return list;
}

int py_put(PyObject *dict, const char *name, PyObject *item)
{
    int r = item ? PyDict_SetItemString(dict, name, item) : -1;

    Py_XDECREF(item);
    return r;
}

PyObject *py_bit_names(uint64_t bits, const char *const names[], size_t n)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < n; i++) {
        PyObject *name;
        int r;

        if (!(bits >> i & 1) || !names[i])
            continue;
        name = PyUnicode_InternFromString(names[i]);
        r = name ? PyList_Append(list, name) : -1;
        Py_XDECREF(name);
        if (r < 0) {
            Py_DECREF(list);
            list = NULL;
        }
    }
    return list;
}
