/* SPDX-License-Identifier: MIT */
/* A growing array of plain structs with a stated maximum. */
#include "base/vec.h"

#include <errno.h>
#include <string.h>

void *ptn_vec_add(struct ptn_vec *vec, struct ptn_err *err)
{
    char *item;

    if (vec->n >= vec->max) {
        (void)ptn_err_set(err, PTN_ERR_LIMIT, E2BIG, "more than %zu %s", vec->max, vec->what);
        return NULL;
    }
    if (vec->n == vec->room) {
        size_t room = vec->room ? vec->room * 2 : 16;
        void *items;

        if (room > vec->max)
            room = vec->max;
        items = reallocarray(vec->items, room, vec->size);
        if (!items) {
            (void)ptn_err_memory(err, vec->what);
            return NULL;
        }
        vec->items = items;
        vec->room = room;
    }
    item = (char *)vec->items + vec->n * vec->size;
    memset(item, 0, vec->size);
    vec->n++;
    return item;
}

void *ptn_vec_take(struct ptn_vec *vec, size_t *ret_n)
{
    void *items = vec->items;

    *ret_n = vec->n;
    vec->items = NULL;
    vec->n = vec->room = 0;
    return items;
}

void ptn_vec_done(struct ptn_vec *vec)
{
    free(vec->items);
    vec->items = NULL;
    vec->n = vec->room = 0;
}
