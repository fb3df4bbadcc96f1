/* SPDX-License-Identifier: MIT */
/* _core.routes_to, default_routes, rules, neighbours */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "py/py.h"
#include "sys/neigh.h"
#include "sys/route.h"
#include "sys/rule.h"

static PyObject *family_name(uint8_t family)
{
    return PyUnicode_InternFromString(family == AF_INET ? "inet" : "inet6");
}

static PyObject *name_or_number(const char *name, unsigned number)
{
    return name ? PyUnicode_InternFromString(name) : PyUnicode_FromFormat("%u", number);
}

static PyObject *route_family(const void *row)
{
    return family_name(((const struct ptn_route *)row)->family);
}

static PyObject *route_type(const void *row)
{
    uint8_t type = ((const struct ptn_route *)row)->type;

    return name_or_number(ptn_route_type_name(type), type);
}

static PyObject *route_error(const void *row)
{
    const struct ptn_route *route = row;

    switch (route->err_no) {
    case 0:
        return py_none();
    case ENETUNREACH:
    case EHOSTUNREACH:
        return PyUnicode_InternFromString("unreachable");
    case EACCES:
        return PyUnicode_InternFromString("prohibited");
    case EINVAL:
        return PyUnicode_InternFromString("blackhole");
    default:
        return py_errno_name(route->err_no);
    }
}

static const struct py_field route_fields[] = {
    PY_FIELD(struct ptn_route, target, PY_TEXT),
    PY_FIELD_MADE("family", route_family),
    PY_FIELD(struct ptn_route, interface, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_route, source, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_route, gateway, PY_TEXT_OR_NONE),
    PY_FIELD_MADE("type", route_type),
    PY_FIELD(struct ptn_route, table, PY_I64_OR_NONE),
    PY_FIELD(struct ptn_route, metric, PY_I64_OR_NONE),
    PY_FIELD(struct ptn_route, mtu_bytes, PY_I64_OR_NONE),
    PY_FIELD_MADE("error", route_error),
};

static PyObject *ask_routes(PyObject *mod, const char *const *targets, size_t n)
{
    struct ptn_route *routes = NULL;
    struct ptn_err err = {0};
    struct py_wait wait;
    PyObject *list;
    int r;

    py_wait_begin(&wait, -1);
    r = ptn_route_get(targets, n, &wait.ctl, &routes, &err);
    py_wait_end(&wait);
    if (r < 0)
        return py_raise(mod, &err);
    list = py_rows(route_fields, PTN_COUNT(route_fields), routes, sizeof(*routes), n);
    free(routes);
    return list;
}

static PyObject *routes_to(PyObject *mod, PyObject *args)
{
    PyObject *sequence, *held, *list = NULL;
    const char **targets;
    Py_ssize_t n;

    if (!PyArg_ParseTuple(args, "O:routes_to", &sequence))
        return NULL;
    held = PySequence_List(sequence);
    if (!held)
        return NULL;
    n = PyList_Size(held);
    targets = calloc((size_t)n + 1, sizeof(*targets));
    if (!targets)
        (void)PyErr_NoMemory();
    for (Py_ssize_t i = 0; targets && i < n; i++) {
        Py_ssize_t len;

        targets[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(held, i), &len);
        if (targets[i] && strlen(targets[i]) != (size_t)len) {
            targets[i] = NULL;
            (void)py_raise_usage(mod, "target %zd has a NUL in it: not a numeric address", i + 1);
        }
        if (!targets[i])
            goto out;
    }
    if (targets)
        list = ask_routes(mod, targets, (size_t)n);
out:
    free(targets);
    Py_DECREF(held);
    return list;
}

static int ask_default_routes(const struct ptn_ctl *ctl, void **ret_rows, size_t *ret_n,
                              struct ptn_err *err)
{
    struct ptn_route *rows;
    int r = ptn_route_list_defaults(ctl, &rows, ret_n, err);

    if (r == 0)
        *ret_rows = rows;
    return r;
}

static PyObject *default_routes(PyObject *mod, PyObject *Py_UNUSED(noargs))
{
    return py_list(mod, ask_default_routes, route_fields, PTN_COUNT(route_fields),
                   sizeof(struct ptn_route));
}

static PyObject *rule_family(const void *row)
{
    return family_name(((const struct ptn_rule *)row)->family);
}

static PyObject *rule_action(const void *row)
{
    uint8_t action = ((const struct ptn_rule *)row)->action;

    return name_or_number(ptn_rule_action_name(action), action);
}

static const struct py_field rule_fields[] = {
    PY_FIELD(struct ptn_rule, priority, PY_I64),
    PY_FIELD_MADE("family", rule_family),
    PY_FIELD(struct ptn_rule, table, PY_I64),
    PY_FIELD_MADE("action", rule_action),
    PY_FIELD(struct ptn_rule, source, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_rule, destination, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_rule, iif, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_rule, oif, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_rule, fwmark, PY_I64_OR_NONE),
    PY_FIELD(struct ptn_rule, inverted, PY_FLAG),
};

static int ask_rules(const struct ptn_ctl *ctl, void **ret_rows, size_t *ret_n, struct ptn_err *err)
{
    struct ptn_rule *rows;
    int r = ptn_rule_list(ctl, &rows, ret_n, err);

    if (r == 0)
        *ret_rows = rows;
    return r;
}

static PyObject *rules(PyObject *mod, PyObject *Py_UNUSED(noargs))
{
    return py_list(mod, ask_rules, rule_fields, PTN_COUNT(rule_fields), sizeof(struct ptn_rule));
}

static PyObject *neigh_family(const void *row)
{
    return family_name(((const struct ptn_neighbour *)row)->family);
}

static PyObject *neigh_state(const void *row)
{
    return PyUnicode_InternFromString(
        ptn_neigh_state_name(((const struct ptn_neighbour *)row)->state));
}

static const struct py_field neigh_fields[] = {
    PY_FIELD(struct ptn_neighbour, address, PY_TEXT),
    PY_FIELD_MADE("family", neigh_family),
    PY_FIELD(struct ptn_neighbour, interface, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_neighbour, mac, PY_TEXT_OR_NONE),
    PY_FIELD_MADE("state", neigh_state),
};

static int ask_neighbours(const struct ptn_ctl *ctl, void **ret_rows, size_t *ret_n,
                          struct ptn_err *err)
{
    struct ptn_neighbour *rows;
    int r = ptn_neigh_list(ctl, &rows, ret_n, err);

    if (r == 0)
        *ret_rows = rows;
    return r;
}

static PyObject *neighbours(PyObject *mod, PyObject *Py_UNUSED(noargs))
{
    return py_list(mod, ask_neighbours, neigh_fields, PTN_COUNT(neigh_fields),
                   sizeof(struct ptn_neighbour));
}

PyMethodDef py_route_methods[] = {
    {"routes_to", routes_to, METH_VARARGS,
     "routes_to($module, targets, /)\n--\n\nThe route that the kernel would use to each address."},
    {"default_routes", default_routes, METH_NOARGS,
     "default_routes($module, /)\n--\n\nThe default routes of all tables."},
    {"rules", rules, METH_NOARGS, "rules($module, /)\n--\n\nThe policy rules."},
    {"neighbours", neighbours, METH_NOARGS,
     "neighbours($module, /)\n--\n\nThe ARP and neighbour-discovery entries."},
    {NULL, NULL, 0, NULL},
};
