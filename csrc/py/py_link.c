/* SPDX-License-Identifier: MIT */
/* _core.links */
#include <stdlib.h>
#include <string.h>

#include "py/py.h"
#include "sys/nic.h"

/* What PY_MADE_OF looks at; a member before `first` is far behind it in unsigned numbers. */
#define WITHIN(type, first, member)                                                                \
    _Static_assert(offsetof(type, member) - offsetof(type, first) < 8, "apart: " #member)
WITHIN(struct ptn_address, flags, family);
WITHIN(struct ptn_address, flags, scope);
WITHIN(struct ptn_link, flags, state);
WITHIN(struct ptn_link, flags, full_duplex);

static PyObject *address_family(const void *row)
{
    const struct ptn_address *a = row;

    return PyUnicode_InternFromString(a->family == AF_INET ? "inet" : "inet6");
}

static PyObject *address_scope(const void *row)
{
    const struct ptn_address *a = row;
    const char *name = ptn_address_scope_name(a->scope);

    return name ? PyUnicode_InternFromString(name) : PyUnicode_FromFormat("%u", (unsigned)a->scope);
}

static PyObject *address_flags(const void *row)
{
    /* by bit; of IPv6 the first is "temporary" */
    static const char *const names[] = {"secondary",     "nodad",      "optimistic",
                                        "dadfailed",     "home",       "deprecated",
                                        "tentative",     "permanent",  "managetempaddr",
                                        "noprefixroute", "mcautojoin", "stable-privacy"};
    static const char *const names6[] = {"temporary",     "nodad",      "optimistic",
                                         "dadfailed",     "home",       "deprecated",
                                         "tentative",     "permanent",  "managetempaddr",
                                         "noprefixroute", "mcautojoin", "stable-privacy"};
    const struct ptn_address *a = row;

    return py_bit_names(a->flags, a->family == AF_INET ? names : names6, PTN_COUNT(names));
}

static const struct py_field address_fields[] = {
    PY_FIELD(struct ptn_address, address, PY_TEXT),
    PY_FIELD(struct ptn_address, prefix, PY_I32),
    PY_FIELD_MADE_OF(struct ptn_address, flags, "family", address_family),
    PY_FIELD_MADE_OF(struct ptn_address, flags, "scope", address_scope),
    PY_FIELD_MADE_OF(struct ptn_address, flags, "flags", address_flags),
    PY_FIELD(struct ptn_address, label, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_address, peer, PY_TEXT_OR_NONE),
};

static const struct py_field counter_fields[] = {
    PY_FIELD(struct ptn_link_counters, rx_bytes, PY_U64),
    PY_FIELD(struct ptn_link_counters, tx_bytes, PY_U64),
    PY_FIELD(struct ptn_link_counters, rx_packets, PY_U64),
    PY_FIELD(struct ptn_link_counters, tx_packets, PY_U64),
    PY_FIELD(struct ptn_link_counters, rx_errors, PY_U64),
    PY_FIELD(struct ptn_link_counters, tx_errors, PY_U64),
    PY_FIELD(struct ptn_link_counters, rx_dropped, PY_U64),
    PY_FIELD(struct ptn_link_counters, tx_dropped, PY_U64),
};

static PyObject *link_altnames(const void *row)
{
    const struct ptn_link *link = row;
    PyObject *list = PyList_New(0);

    for (const char *p = link->altnames; list && p && *p; p += strlen(p) + 1) {
        PyObject *name = py_text(p);
        int r = name ? PyList_Append(list, name) : -1;

        Py_XDECREF(name);
        if (r < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *link_flags(const void *row)
{
    static const char *const names[] = {
        "up",        "broadcast", "debug",    "loopback", "pointopoint", "notrailers", "running",
        "noarp",     "promisc",   "allmulti", "master",   "slave",       "multicast",  "portsel",
        "automedia", "dynamic",   "lower_up", "dormant",  "echo"};

    return py_bit_names(((const struct ptn_link *)row)->flags, names, PTN_COUNT(names));
}

static PyObject *link_state(const void *row)
{
    static const char *const names[] = {"unknown", "notpresent", "down", "lowerlayerdown",
                                        "testing", "dormant",    "up"};
    unsigned state = ((const struct ptn_link *)row)->state;

    return PyUnicode_InternFromString(state < PTN_COUNT(names) ? names[state] : "unknown");
}

static PyObject *link_kind(const void *row)
{
    return py_text(ptn_link_kind(row));
}

static PyObject *link_duplex(const void *row)
{
    int8_t full = ((const struct ptn_link *)row)->full_duplex;

    return full < 0 ? py_none() : PyUnicode_InternFromString(full ? "full" : "half");
}

/* add_parts() puts the value there. Without its place the dict would grow once more. */
static PyObject *later(const void *row)
{
    (void)row;
    return py_none();
}

static const struct py_field link_fields[] = {
    PY_FIELD(struct ptn_link, name, PY_TEXT),
    PY_FIELD(struct ptn_link, index, PY_I32),
    PY_FIELD_MADE("altnames", link_altnames),
    PY_FIELD_MADE("kind", link_kind),
    PY_FIELD(struct ptn_link, info_kind, PY_TEXT_OR_NONE),
    PY_FIELD_MADE_OF(struct ptn_link, flags, "flags", link_flags),
    PY_FIELD_MADE_OF(struct ptn_link, flags, "state", link_state),
    PY_FIELD(struct ptn_link, carrier, PY_FLAG_OR_NONE),
    PY_FIELD(struct ptn_link, mtu, PY_I32),
    PY_FIELD(struct ptn_link, mac, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_link, perm_mac, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_link, master, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_link, lower, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_link, peer_netns, PY_I32_OR_NONE),
    PY_FIELD(struct ptn_link, numa_node, PY_I32_OR_NONE),
    PY_FIELD(struct ptn_link, pci_address, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_link, driver, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_link, speed_mbps, PY_I32_OR_NONE),
    PY_FIELD_MADE_OF(struct ptn_link, flags, "duplex", link_duplex),
    PY_FIELD(struct ptn_link, autoneg, PY_FLAG_OR_NONE),
    PY_FIELD_MADE("counters", later),
    PY_FIELD_MADE("addresses", later),
    PY_FIELD_MADE("detail", later),
};

static PyObject *detail_fec(const void *row)
{
    static const char *const names[] = {"none", "auto", "off", "RS", "BaseR", "LLRS"};

    return py_bit_names(((const struct ptn_nic_detail *)row)->fec, names, PTN_COUNT(names));
}

static PyObject *detail_offloads(const void *row)
{
    const struct ptn_nic_detail *d = row;
    PyObject *list = PyList_New((Py_ssize_t)d->n_features);

    for (size_t i = 0; list && i < d->n_features; i++) {
        PyObject *name = py_text(d->features[i]);

        if (!name || PyList_SetItem(list, (Py_ssize_t)i, name) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static const struct py_field detail_fields[] = {
    PY_FIELD(struct ptn_nic_detail, rx_ring, PY_I32_OR_NONE),
    PY_FIELD(struct ptn_nic_detail, rx_ring_max, PY_I32_OR_NONE),
    PY_FIELD(struct ptn_nic_detail, tx_ring, PY_I32_OR_NONE),
    PY_FIELD(struct ptn_nic_detail, tx_ring_max, PY_I32_OR_NONE),
    PY_FIELD(struct ptn_nic_detail, combined_channels, PY_I32_OR_NONE),
    PY_FIELD(struct ptn_nic_detail, combined_channels_max, PY_I32_OR_NONE),
    PY_FIELD(struct ptn_nic_detail, rx_channels, PY_I32_OR_NONE),
    PY_FIELD(struct ptn_nic_detail, tx_channels, PY_I32_OR_NONE),
    PY_FIELD(struct ptn_nic_detail, pause_autoneg, PY_FLAG_OR_NONE),
    PY_FIELD(struct ptn_nic_detail, pause_rx, PY_FLAG_OR_NONE),
    PY_FIELD(struct ptn_nic_detail, pause_tx, PY_FLAG_OR_NONE),
    PY_FIELD_MADE("fec", detail_fec),
    PY_FIELD_MADE("offloads", detail_offloads),
};

static PyObject *link_detail(PyObject *mod, const char *name)
{
    PyThreadState *thread = PyEval_SaveThread();
    struct ptn_nic_detail detail;
    struct ptn_err err = {0};
    int r = ptn_nic_detail_get(name, &detail, &err);

    PyEval_RestoreThread(thread);
    if (PyErr_CheckSignals() < 0)
        return NULL;
    return r < 0 ? py_raise(mod, &err) : py_row(detail_fields, PTN_COUNT(detail_fields), &detail);
}

/* Counters and addresses are made for all links at once, and so their keys only once. */
static int add_parts(PyObject *mod, PyObject *list, const struct ptn_link_table *table, bool detail)
{
    PyObject *counters = py_rows(counter_fields, PTN_COUNT(counter_fields), &table->links->counters,
                                 sizeof(*table->links), table->n);
    PyObject *addresses = py_rows(address_fields, PTN_COUNT(address_fields), table->addresses,
                                  sizeof(*table->addresses), table->n_addresses);
    int r = counters && addresses ? 0 : -1;

    for (size_t i = 0; r == 0 && i < table->n; i++) {
        const struct ptn_link *link = &table->links[i];
        Py_ssize_t first = link->addresses ? link->addresses - table->addresses : 0;
        PyObject *dict = PyList_GetItem(list, (Py_ssize_t)i);
        PyObject *counted = link->has_counters ? PyList_GetItem(counters, (Py_ssize_t)i) : Py_None;

        if (PyDict_SetItemString(dict, "counters", counted) < 0 ||
            py_put(dict, "addresses",
                   PyList_GetSlice(addresses, first, first + (Py_ssize_t)link->n_addresses)) < 0 ||
            py_put(dict, "detail", detail ? link_detail(mod, link->name) : py_none()) < 0)
            r = -1;
    }
    Py_XDECREF(counters);
    Py_XDECREF(addresses);
    return r;
}

/* A thousand links are 11 000 new containers and no cycle: the collector would look at them, and
 * now and then at everything that the process has, a dozen times. */
static PyObject *link_rows(PyObject *mod, const struct ptn_link_table *table, bool detail)
{
    int collecting = PyGC_Disable();
    PyObject *list =
        py_rows(link_fields, PTN_COUNT(link_fields), table->links, sizeof(*table->links), table->n);

    if (list && table->n > 0 && add_parts(mod, list, table, detail) < 0)
        Py_CLEAR(list);
    if (collecting)
        (void)PyGC_Enable();
    return list;
}

/* The bytes of a name as links() gives it, for a name need not be UTF-8; NULL with an exception. */
static PyObject *name_bytes(PyObject *mod, PyObject *name)
{
    PyObject *bytes = PyUnicode_AsEncodedString(name, "utf-8", "surrogateescape");
    const char *text = bytes ? PyBytes_AsString(bytes) : NULL;

    if (text && (!*text || strlen(text) > 127)) {
        (void)py_raise_usage(mod, "link name “%.130s”: expected 1 to 127 bytes", text);
        Py_CLEAR(bytes);
    } else if (text && strlen(text) != (size_t)PyBytes_Size(bytes)) {
        (void)py_raise_usage(mod, "link name “%s” has a NUL after that: no link has one", text);
        Py_CLEAR(bytes);
    }
    return bytes;
}

static PyObject *list_links(PyObject *mod, const char *name, bool detail)
{
    struct ptn_link_table table = {0};
    struct ptn_err err = {0};
    struct py_wait wait;
    PyObject *list;
    int r;

    py_wait_begin(&wait, -1);
    r = ptn_link_list(name, &wait.ctl, &table, &err);
    if (r == 0)
        r = ptn_nic_fill(&table, &wait.ctl, &err);
    py_wait_end(&wait);
    list = r < 0 ? py_raise(mod, &err) : link_rows(mod, &table, detail);
    ptn_link_table_done(&table);
    return list;
}

static PyObject *links(PyObject *mod, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"name", "detail", NULL};
    PyObject *name = Py_None, *bytes, *list;
    int detail = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Op:links", keywords, &name, &detail))
        return NULL;
    if (name == Py_None)
        return list_links(mod, NULL, detail != 0);
    if (!PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "links: name: expected str or None");
        return NULL;
    }
    bytes = name_bytes(mod, name);
    if (!bytes)
        return NULL;
    list = list_links(mod, PyBytes_AsString(bytes), detail != 0);
    Py_DECREF(bytes);
    return list;
}

PyMethodDef py_link_methods[] = {
    {"links", (PyCFunction)(void (*)(void))links, METH_VARARGS | METH_KEYWORDS,
     "links($module, name=None, detail=False)\n--\n\n"
     "The links of this network namespace, or the one with that name."},
    {NULL, NULL, 0, NULL},
};
