/* SPDX-License-Identifier: MIT */
/* A growing array of plain structs with a stated maximum. */
#ifndef PTN_BASE_VEC_H
#define PTN_BASE_VEC_H

#include <stddef.h>

#include "base/auto.h"
#include "base/err.h"

struct ptn_vec {
    void *items;      /* owned */
    size_t n;         /* items in use */
    size_t room;      /* items allocated */
    size_t size;      /* bytes of one item */
    size_t max;       /* never more items than this */
    const char *what; /* names the items in an error, e.g. "links" */
};

/* `ptn_auto(ptn_vec_done) struct ptn_vec v = PTN_VEC(struct ptn_link, 65536, "links");` */
#define PTN_VEC(type, max_items, name) {.size = sizeof(type), .max = (max_items), .what = (name)}

/* A new zeroed item at the end (valid until the next add), or NULL with err filled. */
ptn_must_check void *ptn_vec_add(struct ptn_vec *vec, struct ptn_err *err);

/* The items, now owned by the caller (free() them), and their number; the vector is left empty. */
void *ptn_vec_take(struct ptn_vec *vec, size_t *ret_n);

void ptn_vec_done(struct ptn_vec *vec);

#endif
