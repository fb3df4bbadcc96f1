/* SPDX-License-Identifier: MIT */
#include "py/py.h"

PyMethodDef py_host_methods[] = {
    {NULL, NULL, 0, NULL},
};
