/* SPDX-License-Identifier: MIT */
/* A question whose answer is a list of rows. */
#include <stdlib.h>

#include "py/py.h"

PyObject *py_list(PyObject *mod, py_ask ask, const struct py_field *fields, size_t n_fields,
                  size_t stride)
{
    struct ptn_err err = {0};
    struct py_wait wait;
    void *rows = NULL;
    PyObject *list;
    size_t n = 0;
    int r;

    py_wait_begin(&wait, -1);
    r = ask(&wait.ctl, &rows, &n, &err);
    py_wait_end(&wait);
    if (r < 0)
        return py_raise(mod, &err);
    list = py_rows(fields, n_fields, rows, stride, n);
    free(rows);
    return list;
}
