/* SPDX-License-Identifier: MIT */
/* InfiniBand and RoCE devices: /sys/class/infiniband, and their files in /dev/infiniband. */
#include "sys/rdma.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "base/vec.h"

static DIR *open_dir(int root, const char *path)
{
    int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir && fd >= 0)
        (void)close(fd);
    return dir;
}

static void find_uverbs(int root, struct ptn_rdma_device *device)
{
    ptn_auto(ptn_closedirp) DIR *dir = NULL;
    struct dirent *entry;
    char path[160];

    device->err_no = ENOENT;
    (void)snprintf(path, sizeof(path), "sys/class/infiniband/%s/device/infiniband_verbs",
                   device->name);
    dir = open_dir(root, path);
    while (dir && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, "uverbs", 6) != 0)
            continue;
        (void)snprintf(device->uverbs, sizeof(device->uverbs), "/dev/infiniband/%.64s",
                       entry->d_name);
        device->err_no = faccessat(root, device->uverbs + 1, R_OK | W_OK, 0) < 0 ? errno : 0;
        return;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct ptn_rdma_device *)a)->name,
                  ((const struct ptn_rdma_device *)b)->name);
}

int ptn_rdma_list(const char *root, struct ptn_rdma_device **ret_devices, size_t *ret_n,
                  struct ptn_err *err)
{
    ptn_auto(ptn_vec_done) struct ptn_vec list =
        PTN_VEC(struct ptn_rdma_device, PTN_RDMA_DEVICES, "RDMA devices");
    ptn_auto(ptn_closep) int root_fd = ptn_file_root(root, err);
    ptn_auto(ptn_closedirp) DIR *dir = NULL;
    struct dirent *entry;

    if (root_fd < 0)
        return root_fd;
    dir = open_dir(root_fd, "sys/class/infiniband");
    while (dir && (entry = readdir(dir))) {
        struct ptn_rdma_device *device;

        if (entry->d_name[0] == '.')
            continue;
        device = ptn_vec_add(&list, err);
        if (!device)
            return -ENOMEM;
        if (ptn_text_copy(device->name, sizeof(device->name), entry->d_name))
            find_uverbs(root_fd, device);
    }
    *ret_devices = ptn_vec_take(&list, ret_n);
    if (*ret_n > 1)
        qsort(*ret_devices, *ret_n, sizeof(**ret_devices), by_name);
    return 0;
}
