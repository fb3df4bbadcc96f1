/* SPDX-License-Identifier: MIT */
/* _core.place, limits, rdma, host_name */
#include <stdlib.h>

#include "py/py.h"
#include "sys/limit.h"
#include "sys/place.h"
#include "sys/rdma.h"

static PyObject *signs(const void *row)
{
    const struct ptn_place *place = row;
    PyObject *list = PyList_New((Py_ssize_t)place->n_signs);

    for (size_t i = 0; list && i < place->n_signs; i++) {
        PyObject *text = py_text(place->signs[i]);

        if (!text || PyList_SetItem(list, (Py_ssize_t)i, text) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *namespaces(const void *row)
{
    const struct ptn_place *place = row;
    PyObject *dict = PyDict_New();

    for (size_t i = 0; dict && i < place->n_namespaces; i++)
        if (py_put(dict, place->namespaces[i].name,
                   PyLong_FromUnsignedLongLong(place->namespaces[i].inode)) < 0)
            Py_CLEAR(dict);
    return dict;
}

static PyObject *unix_time(const void *row)
{
    return PyFloat_FromDouble(((const struct ptn_place *)row)->unix_time_s);
}

static PyObject *uptime(const void *row)
{
    return PyFloat_FromDouble(((const struct ptn_place *)row)->uptime_s);
}

static const struct py_field place_fields[] = {
    PY_FIELD(struct ptn_place, kernel, PY_TEXT),
    PY_FIELD(struct ptn_place, machine, PY_TEXT),
    PY_FIELD(struct ptn_place, os_id, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_place, os_version, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_place, os_name, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_place, boot_id, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_place, container, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_place, kubernetes, PY_FLAG),
    PY_FIELD(struct ptn_place, wsl, PY_I32_OR_NONE),
    PY_FIELD(struct ptn_place, vm, PY_TEXT_OR_NONE),
    PY_FIELD_MADE("signs", signs),
    PY_FIELD_MADE("namespaces", namespaces),
    PY_FIELD(struct ptn_place, cgroup, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_place, uid, PY_U32),
    PY_FIELD(struct ptn_place, cap_net_admin, PY_FLAG),
    PY_FIELD(struct ptn_place, cap_net_raw, PY_FLAG),
    PY_FIELD(struct ptn_place, cap_net_bind, PY_FLAG),
    PY_FIELD(struct ptn_place, proc_sys_readonly, PY_FLAG_OR_NONE),
    PY_FIELD(struct ptn_place, cpus, PY_I32),
    PY_FIELD_MADE("unix_time_s", unix_time),
    PY_FIELD_MADE("uptime_s", uptime),
    PY_FIELD(struct ptn_place, clock_synchronized, PY_FLAG_OR_NONE),
    PY_FIELD(struct ptn_place, ipv6, PY_FLAG),
    PY_FIELD(struct ptn_place, gpus, PY_I32_OR_NONE),
    PY_FIELD(struct ptn_place, selinux, PY_TEXT_OR_NONE),
    PY_FIELD(struct ptn_place, selinux_label, PY_TEXT_OR_NONE),
};

static PyObject *place(PyObject *mod, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"root", NULL};
    struct ptn_err err = {0};
    struct ptn_place row;
    const char *root = "/";
    int r;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|s:place", keywords, &root))
        return NULL;
    Py_BEGIN_ALLOW_THREADS r = ptn_place_get(root, &row, &err);
    Py_END_ALLOW_THREADS if (r < 0) return py_raise(mod, &err);
    return py_row(place_fields, PTN_COUNT(place_fields), &row);
}

static PyObject *limit(int64_t value)
{
    return value == PTN_LIMIT_UNKNOWN ? py_none() : PyLong_FromLongLong(value);
}

static PyObject *error(int err_no)
{
    return err_no ? py_errno_name(err_no) : py_none();
}

static PyObject *limits(PyObject *mod, PyObject *Py_UNUSED(noargs))
{
    struct ptn_limits l;
    PyObject *dict;

    (void)mod;
    Py_BEGIN_ALLOW_THREADS ptn_limits_get(&l);
    Py_END_ALLOW_THREADS dict = PyDict_New();
    if (dict && (py_put(dict, "nofile_soft", limit(l.nofile_soft)) < 0 ||
                 py_put(dict, "nofile_hard", limit(l.nofile_hard)) < 0 ||
                 py_put(dict, "memlock_soft_bytes", limit(l.memlock_soft_bytes)) < 0 ||
                 py_put(dict, "memlock_hard_bytes", limit(l.memlock_hard_bytes)) < 0 ||
                 py_put(dict, "shm_size_bytes", limit(l.shm_size_bytes)) < 0 ||
                 py_put(dict, "shm_free_bytes", limit(l.shm_free_bytes)) < 0 ||
                 py_put(dict, "shm_error", error(l.shm_err_no)) < 0 ||
                 py_put(dict, "shm_nccl_files", limit(l.shm_nccl_files)) < 0))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *rdma_error(const void *row)
{
    return error(((const struct ptn_rdma_device *)row)->err_no);
}

static const struct py_field rdma_fields[] = {
    PY_FIELD(struct ptn_rdma_device, name, PY_TEXT),
    PY_FIELD(struct ptn_rdma_device, uverbs, PY_TEXT_OR_NONE),
    PY_FIELD_MADE("error", rdma_error),
};

static PyObject *rdma(PyObject *mod, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"root", NULL};
    struct ptn_rdma_device *rows;
    struct ptn_err err = {0};
    const char *root = "/";
    PyObject *list;
    size_t n;
    int r;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|s:rdma", keywords, &root))
        return NULL;
    Py_BEGIN_ALLOW_THREADS r = ptn_rdma_list(root, &rows, &n, &err);
    Py_END_ALLOW_THREADS if (r < 0) return py_raise(mod, &err);
    list = py_rows(rdma_fields, PTN_COUNT(rdma_fields), rows, sizeof(*rows), n);
    free(rows);
    return list;
}

static PyObject *host_name(PyObject *mod, PyObject *Py_UNUSED(noargs))
{
    struct ptn_err err = {0};
    char name[256] = "";
    int r = 0;

    Py_BEGIN_ALLOW_THREADS if (gethostname(name, sizeof(name) - 1) < 0) r =
        ptn_err_errno(&err, "gethostname");
    Py_END_ALLOW_THREADS return r < 0 ? py_raise(mod, &err) : py_text(name);
}

PyMethodDef py_host_methods[] = {
    {"place", (PyCFunction)(void (*)(void))place, METH_VARARGS | METH_KEYWORDS,
     "place($module, root='/')\n--\n\nSay where this process runs."},
    {"limits", limits, METH_NOARGS,
     "limits($module, /)\n--\n\nLimits of this process (-1 = unlimited) and size of /dev/shm."},
    {"rdma", (PyCFunction)(void (*)(void))rdma, METH_VARARGS | METH_KEYWORDS,
     "rdma($module, root='/')\n--\n\nInfiniBand and RoCE devices, and if they may be opened."},
    {"host_name", host_name, METH_NOARGS,
     "host_name($module, /)\n--\n\nThis host's name, as gethostname gives it."},
    {NULL, NULL, 0, NULL},
};
