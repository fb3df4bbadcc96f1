/* SPDX-License-Identifier: MIT */
/* Where a link's device sits. */
#ifndef PTN_SYS_SYSFS_H
#define PTN_SYS_SYSFS_H

#include "sys/link.h"

/* Fill numa_node and is_wireless from `sysfs`, a descriptor of /sys (or -1). What it does not tell
 * stays unknown; what it tells of another namespace's link is not believed. */
void ptn_sysfs_fill(int sysfs, struct ptn_link *link);

#endif
