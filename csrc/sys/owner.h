/* SPDX-License-Identifier: MIT */
/* Which process holds a socket. */
#ifndef PTN_SYS_OWNER_H
#define PTN_SYS_OWNER_H

#include "sys/port.h"

/* Fill pid and command of the listeners whose process this user may look into; the others keep -1.
 * One pass over /proc, whatever the number of listeners. */
ptn_must_check int ptn_owner_find(struct ptn_listener *listeners, size_t n,
                                  const struct ptn_ctl *ctl, struct ptn_err *err);

#endif
