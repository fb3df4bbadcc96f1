/* SPDX-License-Identifier: MIT */
/* Where this process runs: kernel, distribution, container, virtual machine, namespaces. */
#ifndef PTN_SYS_PLACE_H
#define PTN_SYS_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/err.h"

#define PTN_PLACE_NAMESPACES 8
#define PTN_PLACE_SIGNS      12

struct ptn_place {
    char kernel[65], machine[65];
    char os_id[64], os_version[64], os_name[128]; /* empty = unknown */
    char boot_id[40];
    char container[24]; /* empty = none */
    char vm[64];        /* empty = none */
    char cgroup[512];
    char signs[PTN_PLACE_SIGNS][128];
    size_t n_signs;
    struct {
        char name[12];
        uint64_t inode;
    } namespaces[PTN_PLACE_NAMESPACES];
    size_t n_namespaces;
    bool kubernetes;
    int32_t wsl; /* -1 = no */
    uint32_t uid;
    bool cap_net_admin, cap_net_raw, cap_net_bind;
    int8_t proc_sys_readonly;  /* -1 = unknown */
    int8_t clock_synchronized; /* -1 = unknown */
    bool ipv6;
    int32_t gpus;     /* -1 = unknown */
    char selinux[12]; /* empty = no SELinux */
    char selinux_label[128];
    int32_t cpus;
    double unix_time_s, uptime_s;
};

/* `root` is "/" or a private copy of the files that are read (etc, proc, run, sys); what the kernel
 * tells by calls is always this process's. */
ptn_must_check int ptn_place_get(const char *root, struct ptn_place *ret_place,
                                 struct ptn_err *err);

/* The signs of a container, of Kubernetes, WSL and a virtual machine (sign.c). */
void ptn_place_read_signs(int root_fd, struct ptn_place *place);

#endif
