/* SPDX-License-Identifier: MIT */
/* The name of an errno, from Python's own table: strerrorname_np() is not in glibc before 2.32. */
#include "py/py.h"

PyObject *py_errno_name(int err_no)
{
    PyObject *module = PyImport_ImportModule("errno");
    PyObject *names = module ? PyObject_GetAttrString(module, "errorcode") : NULL;
    PyObject *number = names ? PyLong_FromLong(err_no) : NULL;
    PyObject *name = NULL;

    if (number) {
        name = PyDict_GetItemWithError(names, number); /* borrowed */
        if (name)
            Py_INCREF(name);
        else if (!PyErr_Occurred())
            name = PyUnicode_FromFormat("E%d", err_no);
    }
    Py_XDECREF(number);
    Py_XDECREF(names);
    Py_XDECREF(module);
    return name;
}
