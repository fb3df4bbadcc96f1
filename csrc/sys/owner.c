/* SPDX-License-Identifier: MIT */
/* Which process holds a socket: the links of /proc/PID/fd. */
#include "sys/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

static void take(struct ptn_listener *listeners, size_t n, uint64_t inode, int32_t pid,
                 const char *command)
{
    for (size_t i = 0; i < n; i++)
        if (listeners[i].inode == inode && listeners[i].pid < 0) {
            listeners[i].pid = pid;
            (void)ptn_text_copy(listeners[i].command, sizeof(listeners[i].command), command);
        }
}

static bool wanted(const struct ptn_listener *listeners, size_t n, uint64_t inode)
{
    for (size_t i = 0; i < n; i++)
        if (listeners[i].inode == inode)
            return true;
    return false;
}

/* A process that ends or may not be seen is no error: its sockets keep an unknown owner. */
static void look_into(int proc, int32_t pid, struct ptn_listener *listeners, size_t n)
{
    ptn_auto(ptn_closedirp) DIR *dir = NULL;
    char path[64], target[64];
    struct dirent *entry;
    int fd;

    (void)snprintf(path, sizeof(path), "%d/fd", pid);
    fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    dir = fdopendir(fd);
    if (!dir) {
        (void)close(fd);
        return;
    }
    while ((entry = readdir(dir))) {
        char command[64] = "";
        unsigned long long inode;

        if (entry->d_name[0] == '.' ||
            ptn_file_link(dirfd(dir), entry->d_name, target, sizeof(target)) < 0 ||
            sscanf(target, "socket:[%llu]", &inode) != 1 || !wanted(listeners, n, inode))
            continue;
        (void)snprintf(path, sizeof(path), "%d/comm", pid);
        if (ptn_file_read(proc, path, command, sizeof(command), NULL) > 0)
            ptn_text_rstrip(command);
        take(listeners, n, inode, pid, command);
    }
}

int ptn_owner_find(struct ptn_listener *listeners, size_t n, const struct ptn_ctl *ctl,
                   struct ptn_err *err)
{
    ptn_auto(ptn_closedirp) DIR *proc = NULL;
    struct dirent *entry;

    if (n == 0)
        return 0;
    proc = opendir("/proc");
    if (!proc)
        return 0; /* no /proc: every owner stays unknown */
    while ((entry = readdir(proc))) {
        int64_t pid;
        int r;

        if (ptn_text_i64(entry->d_name, 1, INT32_MAX, &pid) < 0)
            continue;
        r = ptn_ctl_check(ctl, "look for the owners of sockets", err);
        if (r < 0)
            return r;
        look_into(dirfd(proc), (int32_t)pid, listeners, n);
    }
    return 0;
}
