/* SPDX-License-Identifier: MIT */
#include "py/py.h"

PyMethodDef py_port_methods[] = {
    {NULL, NULL, 0, NULL},
};
