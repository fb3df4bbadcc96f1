/* SPDX-License-Identifier: MIT */
/* Where a link's device sits: sysfs, which may show the links of another network namespace. */
#include "sys/sysfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

#define PATH_SIZE 128

static int64_t read_number(int sysfs, const char *path)
{
    char text[32];
    int64_t value;

    if (ptn_file_read(sysfs, path, text, sizeof(text), NULL) < 0)
        return -1;
    ptn_text_rstrip(text);
    return ptn_text_i64(text, -1, INT32_MAX, &value) < 0 ? -1 : value;
}

/* /sys shows the links of the namespace that mounted it: the eth0 there may be another host's, even
 * with the same index, for every namespace counts from 1. */
static bool shows_this_link(int sysfs, const struct ptn_link *link)
{
    char path[PATH_SIZE], mac[PTN_LINK_MAC];

    (void)snprintf(path, sizeof(path), "class/net/%s/ifindex", link->name);
    if (read_number(sysfs, path) != link->index)
        return false;
    (void)snprintf(path, sizeof(path), "class/net/%s/address", link->name);
    if (ptn_file_read(sysfs, path, mac, sizeof(mac), NULL) < 0)
        return false;
    ptn_text_rstrip(mac);
    return strcmp(mac, link->mac) == 0;
}

void ptn_sysfs_fill(int sysfs, struct ptn_link *link)
{
    char path[PATH_SIZE];

    if (sysfs < 0)
        return;
    if (link->pci_address[0]) { /* the buses are those of the machine in every namespace */
        (void)snprintf(path, sizeof(path), "bus/pci/devices/%s/numa_node", link->pci_address);
        link->numa_node = (int32_t)read_number(sysfs, path);
    }
    (void)snprintf(path, sizeof(path), "class/net/%s/phy80211", link->name);
    link->is_wireless = faccessat(sysfs, path, F_OK, 0) == 0 && shows_this_link(sysfs, link);
    if (!link->pci_address[0] && shows_this_link(sysfs, link)) {
        (void)snprintf(path, sizeof(path), "class/net/%s/device/numa_node", link->name);
        link->numa_node = (int32_t)read_number(sysfs, path);
    }
}
