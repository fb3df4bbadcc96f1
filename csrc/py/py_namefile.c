/* SPDX-License-Identifier: MIT */
/* _core.name_files */
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "py/py.h"
#include "sys/namefile.h"

static PyObject *word_text(const char *word, size_t len)
{
    return PyUnicode_DecodeUTF8(word, (Py_ssize_t)len, "surrogateescape");
}

static int append(PyObject *list, PyObject *item)
{
    int r = item ? PyList_Append(list, item) : -1;

    Py_XDECREF(item);
    return r;
}

static int append_words(PyObject *list, struct ptn_words *words)
{
    const char *word;
    size_t len;

    while (ptn_words_next(words, &word, &len))
        if (append(list, word_text(word, len)) < 0)
            return -1;
    return 0;
}

static int append_host(PyObject *hosts, struct ptn_words words, int number)
{
    PyObject *names, *entry;
    const char *address;
    size_t len;

    if (!ptn_words_next(&words, &address, &len))
        return 0;
    names = PyList_New(0);
    if (!names || append_words(names, &words) < 0) {
        Py_XDECREF(names);
        return -1;
    }
    entry = Py_BuildValue("{sNsNsi}", "address", word_text(address, len), "names", names, "line",
                          number);
    return append(hosts, entry);
}

static int read_hosts(PyObject *dict, const char *text, size_t len)
{
    PyObject *hosts = PyDict_GetItemString(dict, "hosts"); /* borrowed */
    const char *line;
    size_t pos = 0, n;

    for (int number = 1; ptn_text_line(text, len, &pos, &line, &n); number++)
        if (append_host(hosts, ptn_words_of(line, n, "#"), number) < 0)
            return -1;
    return 0;
}

/* As glibc reads it (resolv/res_init.c): a line that starts with a blank says nothing, `nameserver`
 * and `domain` take one word, and the last of `domain` and `search` counts. */
static int read_resolv_line(PyObject *dict, const char *line, size_t len)
{
    struct ptn_words words = ptn_words_of(line, len, "#;");
    const char *key = NULL, *word;
    bool one = false;
    size_t n;

    if (!ptn_words_next(&words, &word, &n) || word != line)
        return 0;
    if (ptn_words_is(word, n, "nameserver")) {
        key = "nameservers";
        one = true;
    } else if (ptn_words_is(word, n, "options")) {
        key = "resolv_options";
    } else if (ptn_words_is(word, n, "search") || ptn_words_is(word, n, "domain")) {
        key = "search";
        one = ptn_words_is(word, n, "domain");
        if (py_put(dict, key, PyList_New(0)) < 0)
            return -1;
    }
    if (!key)
        return 0;
    if (!one)
        return append_words(PyDict_GetItemString(dict, key), &words);
    return ptn_words_next(&words, &word, &n)
               ? append(PyDict_GetItemString(dict, key), word_text(word, n))
               : 0;
}

static int read_resolv(PyObject *dict, const char *text, size_t len)
{
    const char *line;
    size_t pos = 0, n;

    while (ptn_text_line(text, len, &pos, &line, &n))
        if (read_resolv_line(dict, line, n) < 0)
            return -1;
    return 0;
}

/* The colon needs no blank after it (nsswitch.conf(5)). */
static int read_nsswitch(PyObject *dict, const char *text, size_t len)
{
    static const char database[] = "hosts:";
    const size_t database_len = sizeof(database) - 1;
    PyObject *sources = PyDict_GetItemString(dict, "nsswitch_hosts"); /* borrowed */
    const char *line, *word;
    size_t pos = 0, n, word_len;

    while (ptn_text_line(text, len, &pos, &line, &n)) {
        struct ptn_words words = ptn_words_of(line, n, "#");

        if (ptn_words_next(&words, &word, &word_len) && word_len >= database_len &&
            memcmp(word, database, database_len) == 0) {
            words.at = word + database_len;
            return append_words(sources, &words);
        }
    }
    return 0;
}

static const struct {
    const char *path;
    int (*read)(PyObject *dict, const char *text, size_t len);
} files[] = {
    {"/etc/hosts", read_hosts},
    {"/etc/resolv.conf", read_resolv},
    {"/etc/nsswitch.conf", read_nsswitch},
};

static int read_file(PyObject *dict, int root, size_t i)
{
    ptn_auto(ptn_freep) char *text = NULL;
    PyObject *gaps = PyDict_GetItemString(dict, "gaps"); /* borrowed */
    ssize_t len;

    Py_BEGIN_ALLOW_THREADS len =
        ptn_file_read_all(root, files[i].path, PTN_NAMEFILE_MAX_BYTES, &text, NULL);
    Py_END_ALLOW_THREADS if (len >= 0) return files[i].read(dict, text, (size_t)len);
    return append(gaps,
                  Py_BuildValue("{ssss}", "fact", files[i].path, "reason", strerror((int)-len)));
}

static PyObject *name_files(PyObject *mod, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"root", NULL};
    ptn_auto(ptn_closep) int dir = -1;
    struct ptn_err err = {0};
    const char *root = "/";
    PyObject *dict;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|s:name_files", keywords, &root))
        return NULL;
    dir = ptn_file_root(root, &err);
    if (dir < 0)
        return py_raise(mod, &err);
    dict = Py_BuildValue("{s[]s[]s[]s[]s[]s[]}", "hosts", "nameservers", "search", "resolv_options",
                         "nsswitch_hosts", "gaps");
    for (size_t i = 0; dict && i < PTN_COUNT(files); i++)
        if (read_file(dict, dir, i) < 0)
            Py_CLEAR(dict);
    return dict;
}

PyMethodDef py_namefile_methods[] = {
    {"name_files", (PyCFunction)(void (*)(void))name_files, METH_VARARGS | METH_KEYWORDS,
     "name_files($module, root='/')\n--\n\n"
     "What /etc/hosts, resolv.conf and nsswitch.conf say about names."},
    {NULL, NULL, 0, NULL},
};
