/* SPDX-License-Identifier: MIT */
/* Kernel settings: files below one descriptor of /proc/sys. */
#include "sys/sysctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/file.h"

#define SHORT_VALUE 256

/* The path below /proc/sys. Whichever of '.' and '/' comes first separates the parts; the other is
 * part of a name, swapped (sysctl.d(5)): net.ipv4.conf.eth0/1.rp_filter is conf/eth0.1/rp_filter.
 */
static void path_of(const char *key, char path[static PTN_SYSCTL_KEY])
{
    size_t first = strcspn(key, "./");
    bool dots = key[first] == '.';
    size_t i;

    for (i = 0; key[i]; i++)
        path[i] = dots && key[i] == '.' ? '/' : dots && key[i] == '/' ? '.' : key[i];
    path[i] = 0;
}

int ptn_sysctl_check_key(const char *key, struct ptn_err *err)
{
    char path[PTN_SYSCTL_KEY];
    size_t len = strlen(key);
    bool part_empty = true;

    if (len == 0 || len >= PTN_SYSCTL_KEY)
        goto bad;
    path_of(key, path);
    for (const char *p = path, *start = path;; p++) {
        if (*p && *p != '/')
            continue;
        part_empty = p == start;
        if (part_empty || (p - start == 2 && start[0] == '.' && start[1] == '.') ||
            (p - start == 1 && start[0] == '.'))
            goto bad;
        if (!*p)
            return 0;
        start = p + 1;
    }
bad:
    return ptn_err_set(err, PTN_ERR_INPUT, EINVAL,
                       "sysctl key “%.80s”: expected a name such as net.core.somaxconn", key);
}

/* Is this the first network namespace: only there the kernel shows its global keys of net/core
 * (net/core/sysctl_net_core.c; /proc/1/ns/net may not be read by everybody). */
static bool in_first_netns(int root)
{
    return faccessat(root, "net/core/netdev_max_backlog", F_OK, 0) == 0;
}

/* Another network namespace than the first shows its own keys, and some of the host's as read-only:
 * in net/core nothing else is (kernels after 6.1), elsewhere counters such as nf_conntrack_count
 * are, which it has of its own. In the first the two cannot be told apart. */
static enum ptn_sysctl_scope scope_of(int root, const char *path, bool writable, bool first)
{
    struct stat st;

    if (strncmp(path, "net/", 4) != 0)
        return PTN_SYSCTL_HOST;
    if (first || (!writable && fstatat(root, path, &st, 0) < 0))
        return PTN_SYSCTL_UNKNOWN;
    if (writable || st.st_mode & S_IWUSR)
        return PTN_SYSCTL_NAMESPACE;
    return strncmp(path, "net/core/", 9) == 0 ? PTN_SYSCTL_HOST : PTN_SYSCTL_UNKNOWN;
}

/* By descriptor, which saves walking the path; before Linux 5.8 libc refuses that. */
static bool may_write(int root, const char *path, int fd)
{
    if (fd >= 0 && faccessat(fd, "", W_OK, AT_EACCESS | AT_EMPTY_PATH) == 0)
        return true;
    return (fd < 0 || errno == EINVAL) && faccessat(root, path, W_OK, AT_EACCESS) == 0;
}

/* The kernel gives a value in one read and ends it there; it clears as many bytes as are asked for,
 * so the long read is the exception. Bytes read, or -errno. */
static ssize_t read_value(int fd, char buf[static PTN_SYSCTL_VALUE])
{
    ssize_t n = pread(fd, buf, SHORT_VALUE, 0);

    if (n == SHORT_VALUE)
        n = pread(fd, buf, PTN_SYSCTL_VALUE, 0);
    if (n < 0)
        return -errno;
    return n == PTN_SYSCTL_VALUE ? -EFBIG : n;
}

static int read_key(int root, const char *path, bool readonly, bool first, char *buf,
                    struct ptn_sysctl *row, struct ptn_err *err)
{
    ptn_auto(ptn_closep) int fd = openat(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -errno : read_value(fd, buf);

    row->writable = n == -ENOENT ? -1 : !readonly && may_write(root, path, fd);
    row->scope = scope_of(root, path, row->writable > 0, first);
    if (n < 0) {
        row->err_no = (int32_t)-n;
        return 0;
    }
    while (n > 0 && buf[n - 1] == '\n')
        n--;
    row->value = strndup(buf, (size_t)n);
    return row->value ? 0 : ptn_err_memory(err, "read sysctls");
}

int ptn_sysctl_get(const char *const *keys, size_t n, struct ptn_sysctl **ret_rows,
                   struct ptn_err *err)
{
    ptn_auto(ptn_closep) int root = ptn_file_root("/proc/sys", err);
    ptn_auto(ptn_freep) char *buf = malloc(PTN_SYSCTL_VALUE);
    struct ptn_sysctl *rows = calloc(n ? n : 1, sizeof(*rows));
    bool first = root >= 0 && in_first_netns(root);
    struct statvfs fs = {0};
    bool readonly = fstatvfs(root, &fs) == 0 && (fs.f_flag & ST_RDONLY);
    int r = root < 0 ? root : 0;

    if (r == 0 && (!rows || !buf))
        r = ptn_err_memory(err, "read sysctls");
    for (size_t i = 0; i < n && r == 0; i++) {
        char path[PTN_SYSCTL_KEY];

        r = ptn_sysctl_check_key(keys[i], err);
        if (r < 0)
            break;
        path_of(keys[i], path);
        r = read_key(root, path, readonly, first, buf, &rows[i], err);
    }
    if (r < 0) {
        ptn_sysctl_free(rows, n);
        return r;
    }
    *ret_rows = rows;
    return 0;
}

void ptn_sysctl_free(struct ptn_sysctl *rows, size_t n)
{
    for (size_t i = 0; rows && i < n; i++)
        free(rows[i].value);
    free(rows);
}
