/* SPDX-License-Identifier: MIT */
/* The extension module ptnet._core: its state, its slots and the list of all functions. */
#include <stdlib.h>
#include <string.h>

#include "py/py.h"

static int module_exec(PyObject *mod)
{
    PyMethodDef *const tables[] = {
        py_link_methods, py_route_methods,    py_port_methods,    py_sysctl_methods,
        py_host_methods, py_namefile_methods, py_resolve_methods, py_store_methods,
    };

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        if (PyModule_AddFunctions(mod, tables[i]) < 0)
            return -1;
    return 0;
}

static int module_traverse(PyObject *mod, visitproc visit, void *arg)
{
    Py_VISIT(py_state(mod)->errors);
    return 0;
}

static int module_clear(PyObject *mod)
{
    Py_CLEAR(py_state(mod)->errors);
    return 0;
}

static void module_free(void *mod)
{
    (void)module_clear(mod);
}

/* Slots 3 (multiple interpreters) and 4 (no GIL) are unknown to the headers of a 3.10 limited API
 * and refused by older interpreters, so they are added by number for the running version. */
static PyModuleDef_Slot slots[4] = {
    {Py_mod_exec, (void *)module_exec},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "ptnet._core",
    .m_doc = "Questions to the kernel, in C. The public functions are those of the package ptnet.",
    .m_size = sizeof(struct py_state),
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

struct py_state *py_state(PyObject *mod)
{
    return PyModule_GetState(mod);
}

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    const char *dot = strchr(Py_GetVersion(), '.');
    long minor = dot ? strtol(dot + 1, NULL, 10) : 0;
    size_t n = 1;

    if (minor >= 12)
        slots[n++] = (PyModuleDef_Slot){3, (void *)2}; /* Py_MOD_PER_INTERPRETER_GIL_SUPPORTED */
    if (minor >= 13)
        slots[n++] = (PyModuleDef_Slot){4, (void *)1}; /* Py_MOD_GIL_NOT_USED */
    return PyModuleDef_Init(&module_def);
}
