/* SPDX-License-Identifier: MIT */
/* _core.store_greet */
#include "probe/store.h"
#include "py/py.h"

static const char *const verdicts[] = {
    [PTN_STORE_YES] = "store",
    [PTN_STORE_STRANGER] = "not-a-store",
    [PTN_STORE_SILENT] = "silent",
    [PTN_STORE_REFUSED] = "refused",
    [PTN_STORE_UNREACHABLE] = "unreachable",
    [PTN_STORE_PROHIBITED] = "prohibited",
    [PTN_STORE_TIMEOUT] = "timeout",
    [PTN_STORE_LOCAL_ERROR] = "local-error",
};

static PyObject *verdict(const void *row)
{
    const struct ptn_store_greeting *g = row;

    return PyUnicode_InternFromString(verdicts[g->verdict]);
}

static const struct py_field fields[] = {
    PY_FIELD_MADE("verdict", verdict),
    {"errno", PY_I32_OR_NONE, offsetof(struct ptn_store_greeting, err_no), NULL},
    {"connect_ms", PY_NS_AS_MS, offsetof(struct ptn_store_greeting, connect_ns), NULL},
    PY_FIELD(struct ptn_store_greeting, source, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_store_greeting, said, PY_TEXT_OR_NONE),
};

static PyObject *store_greet(PyObject *mod, PyObject *args)
{
    struct ptn_store_greeting greeting;
    struct ptn_sock_addr addr;
    struct ptn_err err = {0};
    struct py_wait wait;
    double connect_s, answer_s;
    const char *address;
    PyObject *dict;
    int port, r;

    if (!PyArg_ParseTuple(args, "sidd:store_greet", &address, &port, &connect_s, &answer_s))
        return NULL;
    if (port < 1 || port > 65535)
        return py_raise_usage(mod, "port %d: expected 1 to 65535", port);
    if (ptn_sock_parse(address, (uint16_t)port, &addr, &err) < 0)
        return py_raise(mod, &err);
    py_wait_begin(&wait, -1);
    r = ptn_store_greet(&addr, py_ns(connect_s), py_ns(answer_s), &wait.ctl, &greeting, &err);
    py_wait_end(&wait);
    if (r < 0)
        return py_raise(mod, &err);
    dict = py_row(fields, PTN_COUNT(fields), &greeting);
    if (dict && (py_put(dict, "address", py_text(address)) < 0 ||
                 py_put(dict, "port", PyLong_FromLong(port)) < 0 ||
                 py_put(dict, "family",
                        PyUnicode_InternFromString(addr.u.any.sa_family == AF_INET ? "inet"
                                                                                   : "inet6")) < 0))
        Py_CLEAR(dict);
    return dict;
}

PyMethodDef py_store_methods[] = {
    {"store_greet", store_greet, METH_VARARGS,
     "store_greet($module, address, port, connect_timeout_s, answer_timeout_s, /)\n--\n\n"
     "Say whether a c10d store answers at a numeric address, or how the connection failed."},
    {NULL, NULL, 0, NULL},
};
