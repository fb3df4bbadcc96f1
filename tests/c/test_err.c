/* SPDX-License-Identifier: MIT */
/* Does an error keep what was being done, its errno and its kind. */
#include <errno.h>

#include "base/err.h"
#include "check.h"

static void kinds_follow_errno(void)
{
    static const struct {
        int err_no;
        enum ptn_err_kind kind;
    } cases[] = {
        {EPERM, PTN_ERR_PERMISSION},    {EACCES, PTN_ERR_PERMISSION},
        {ENOMEM, PTN_ERR_MEMORY},       {ETIMEDOUT, PTN_ERR_TIMEOUT},
        {ENOENT, PTN_ERR_SYSTEM},       {ECONNREFUSED, PTN_ERR_SYSTEM},
        {ECANCELED, PTN_ERR_CANCELLED},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ptn_err err = {0};

        CHECK_EQ(ptn_err_set(&err, PTN_ERR_SYSTEM, cases[i].err_no, "ask"), -cases[i].err_no);
        CHECK_EQ(err.kind, cases[i].kind);
        CHECK_EQ(err.err_no, cases[i].err_no);
    }
}

static void other_kinds_stay(void)
{
    struct ptn_err err = {0};

    CHECK_EQ(ptn_err_set(&err, PTN_ERR_INPUT, EPERM, "port %d", 70000), -EPERM);
    CHECK_EQ(err.kind, PTN_ERR_INPUT);
    CHECK_STR(err.what, "port 70000");
    CHECK_EQ(ptn_err_set(&err, PTN_ERR_LIMIT, 0, "no errno"), -EIO); /* never 0: it is a failure */
    CHECK_EQ(err.err_no, 0);
}

static void text_is_cut_at_the_end(void)
{
    struct ptn_err err = {0};
    char guard[400];

    memset(guard, 'x', sizeof(guard) - 1);
    guard[sizeof(guard) - 1] = 0;
    CHECK_EQ(ptn_err_set(&err, PTN_ERR_SYSTEM, ENOENT, "%s", guard), -ENOENT);
    CHECK_EQ(strlen(err.what), sizeof(err.what) - 1);
}

static void errno_is_taken_before_formatting(void)
{
    struct ptn_err err = {0};

    errno = ENODEV;
    CHECK_EQ(ptn_err_errno(&err, "open %s", "/dev/x"), -ENODEV);
    CHECK_EQ(err.err_no, ENODEV);
    CHECK_STR(err.what, "open /dev/x");
    errno = EACCES;
    CHECK_EQ(ptn_err_errno(NULL, "open"), -EACCES);
}

int main(void)
{
    struct ptn_err err = {0};

    kinds_follow_errno();
    other_kinds_stay();
    text_is_cut_at_the_end();
    errno_is_taken_before_formatting();
    CHECK_EQ(ptn_err_memory(&err, "links"), -ENOMEM);
    CHECK_EQ(err.kind, PTN_ERR_MEMORY);
    CHECK_STR(err.what, "links");
    CHECK_EQ(ptn_err_set(NULL, PTN_ERR_SYSTEM, ENOENT, "nobody listens"), -ENOENT);
    CHECK_DONE();
}
