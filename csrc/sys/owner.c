/* SPDX-License-Identifier: MIT */
/* Which process holds a socket: the links of /proc/PID/fd. */
#include "sys/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

struct process {
    int32_t pid, ppid;
    char command[17];
};

static void take(struct ptn_listener *listeners, size_t n, uint64_t inode,
                 const struct process *owner)
{
    for (size_t i = 0; i < n; i++)
        if (listeners[i].inode == inode && listeners[i].pid < 0) {
            listeners[i].pid = owner->pid;
            listeners[i].ppid = owner->ppid;
            (void)ptn_text_copy(listeners[i].command, sizeof(listeners[i].command), owner->command);
        }
}

/* proc(5): `PID (comm) state ppid …`; a comm may hold blanks and brackets, so the last one counts.
 */
static void describe(int proc, struct process *owner)
{
    char path[64], stat[512], *name, *end;

    (void)snprintf(path, sizeof(path), "%d/stat", owner->pid);
    if (ptn_file_read(proc, path, stat, sizeof(stat), NULL) < 0)
        return;
    name = strchr(stat, '(');
    end = strrchr(stat, ')');
    if (!name || !end || end < name)
        return;
    *end = 0;
    (void)ptn_text_copy(owner->command, sizeof(owner->command), name + 1);
    if (sscanf(end + 1, " %*c %" SCNd32, &owner->ppid) != 1)
        owner->ppid = -1;
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
    struct process owner = {.pid = pid, .ppid = -1};
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
        unsigned long long inode;

        if (entry->d_name[0] == '.' ||
            ptn_file_link(dirfd(dir), entry->d_name, target, sizeof(target)) < 0 ||
            sscanf(target, "socket:[%llu]", &inode) != 1 || !wanted(listeners, n, inode))
            continue;
        if (!owner.command[0])
            describe(proc, &owner);
        take(listeners, n, inode, &owner);
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
