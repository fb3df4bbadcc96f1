/* SPDX-License-Identifier: MIT */
#include "py/py.h"

PyMethodDef py_route_methods[] = {
    {NULL, NULL, 0, NULL},
};
