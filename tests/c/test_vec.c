/* SPDX-License-Identifier: MIT */
/* Does the array grow to its maximum and no further, also when memory runs out. */
#include <errno.h>

#include "base/vec.h"
#include "check.h"
#include "fault.h"

struct row {
    int number;
    char name[12];
};

static void grows_with_zeroed_items(void)
{
    ptn_auto(ptn_vec_done) struct ptn_vec vec = PTN_VEC(struct row, 1000, "rows");
    struct ptn_err err = {0};

    for (int i = 0; i < 1000; i++) {
        struct row *row = ptn_vec_add(&vec, &err);

        CHECK(row && row->number == 0 && row->name[0] == 0);
        if (!row)
            return;
        row->number = i;
        memset(row->name, 'x', sizeof(row->name));
    }
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(((struct row *)vec.items)[i].number, i);
    CHECK(!ptn_vec_add(&vec, &err));
    CHECK_EQ(err.kind, PTN_ERR_LIMIT);
    CHECK_STR(err.what, "more than 1000 rows");
    CHECK_EQ(vec.n, 1000);
    CHECK_EQ(vec.room, 1000); /* never more than the maximum, not the next power of two */
}

static void small_maxima(void)
{
    ptn_auto(ptn_vec_done) struct ptn_vec none = PTN_VEC(struct row, 0, "rows");
    ptn_auto(ptn_vec_done) struct ptn_vec one = PTN_VEC(struct row, 1, "rows");

    CHECK(!ptn_vec_add(&none, NULL));
    CHECK(ptn_vec_add(&one, NULL) != NULL);
    CHECK_EQ(one.room, 1);
    CHECK(!ptn_vec_add(&one, NULL));
}

static void memory_runs_out(void)
{
    ptn_auto(ptn_vec_done) struct ptn_vec vec = PTN_VEC(struct row, 1000, "rows");
    struct ptn_err err = {0};
    struct row *row;

    fault_alloc = 1;
    CHECK(!ptn_vec_add(&vec, &err));
    CHECK_EQ(err.kind, PTN_ERR_MEMORY);
    CHECK_EQ(err.err_no, ENOMEM);
    CHECK_EQ(vec.n, 0);
    for (int i = 0; i < 16; i++) {
        row = ptn_vec_add(&vec, &err);
        CHECK(row != NULL);
        if (row)
            row->number = i;
    }
    fault_alloc = 1; /* the 17th needs a larger array */
    CHECK(!ptn_vec_add(&vec, &err));
    CHECK_EQ(vec.n, 16);
    CHECK_EQ(((struct row *)vec.items)[15].number, 15); /* what was there is still there */
    CHECK(ptn_vec_add(&vec, &err) != NULL);
}

static void taken_items_belong_to_the_caller(void)
{
    struct ptn_vec vec = PTN_VEC(struct row, 10, "rows");
    ptn_auto(ptn_freep) struct row *rows = NULL;
    struct row *row = ptn_vec_add(&vec, NULL);
    size_t n = 99;

    CHECK(row != NULL);
    if (row)
        row->number = 7;
    rows = ptn_vec_take(&vec, &n);
    CHECK_EQ(n, 1);
    CHECK_EQ(rows[0].number, 7);
    CHECK_EQ(vec.n, 0);
    CHECK(ptn_vec_take(&vec, &n) == NULL);
    CHECK_EQ(n, 0);
    CHECK(ptn_vec_add(&vec, NULL) != NULL); /* usable again */
    ptn_vec_done(&vec);
    ptn_vec_done(&vec); /* twice is harmless */
}

int main(void)
{
    grows_with_zeroed_items();
    small_maxima();
    memory_runs_out();
    taken_items_belong_to_the_caller();
    CHECK_DONE();
}
