/* SPDX-License-Identifier: MIT */
/* Could torch's store open a port here. */
#ifndef PTN_SYS_BIND_H
#define PTN_SYS_BIND_H

#include <stdint.h>

#include "base/auto.h"
#include "base/err.h"

struct ptn_bind_try {
    char address[8]; /* of the try that decided: "::" or "0.0.0.0" */
    int32_t err_no;  /* 0 = it could */
};

/* Bind and listen as both of torch's stores do (`::` for both families, and after any failure
 * 0.0.0.0, whose outcome then counts) and close at once. Nobody can connect meanwhile. */
ptn_must_check int ptn_bind_try(uint16_t port, struct ptn_bind_try *ret_try, struct ptn_err *err);

#endif
