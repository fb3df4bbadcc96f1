/* SPDX-License-Identifier: MIT */
/* Numeric addresses, names with a deadline, and a greeting that is stopped. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "check.h"
#include "probe/resolve.h"
#include "probe/store.h"

static void test_parse(void)
{
    struct ptn_sock_addr addr;
    struct ptn_err err = {0};
    char text[PTN_ADDRESS_BYTES];

    CHECK_EQ(ptn_sock_parse("10.0.0.1", 29500, &addr, &err), 0);
    CHECK_EQ(ntohs(addr.u.v4.sin_port), 29500);
    ptn_sock_text(&addr, text);
    CHECK_STR(text, "10.0.0.1");
    CHECK_EQ(ptn_sock_parse("fe80::1%lo", 1, &addr, &err), 0);
    ptn_sock_text(&addr, text);
    CHECK_STR(text, "fe80::1%lo");
    CHECK_EQ(ptn_sock_parse("localhost", 1, &addr, &err), -EINVAL);
    CHECK_EQ(err.kind, PTN_ERR_INPUT);
}

static int stop(void *user)
{
    return ++*(int *)user > 0;
}

static void test_greeting_is_stopped(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET};
    struct ptn_sock_addr addr = {.len = sizeof(addr.u.v4)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), stops = 0;
    struct ptn_ctl ctl = {.deadline_ns = INT64_MAX, .stop = stop, .user = &stops};
    struct ptn_store_greeting greeting;
    struct ptn_err err = {0};

    CHECK_EQ(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
    CHECK_EQ(listen(fd, 1), 0);
    CHECK_EQ(getsockname(fd, &addr.u.any, &addr.len), 0);
    CHECK_EQ(ptn_store_greet(&addr, PTN_S_NS, 60 * PTN_S_NS, &ctl, &greeting, &err), -ECANCELED);
    CHECK(stops > 0);
    ctl.stop = NULL;
    CHECK_EQ(ptn_store_greet(&addr, PTN_S_NS, 50 * PTN_MS_NS, &ctl, &greeting, &err), 0);
    CHECK_EQ(greeting.verdict, PTN_STORE_SILENT);
    (void)close(fd);
}

static void test_resolve(void)
{
    const char *const names[] = {"127.0.0.1", "::1"};
    struct ptn_ctl ctl = ptn_ctl_after(10 * PTN_S_NS);
    struct ptn_resolution *found;
    struct ptn_err err = {0};

    CHECK_EQ(ptn_resolve_run(names, 2, 0, &ctl, &found, &err), 0);
    CHECK_EQ(found[0].gai, 0);
    CHECK_EQ(found[0].n, 1);
    CHECK_EQ(found[0].addrs[0].local, 1);
    ptn_resolve_free(found, 2);
    CHECK_EQ(ptn_resolve_run(names, 0, 0, &ctl, &found, &err), -EINVAL);
    CHECK_EQ(ptn_resolve_run(names, PTN_RESOLVE_NAMES + 1, 0, &ctl, &found, &err), -EINVAL);
}

int main(void)
{
    test_parse();
    test_greeting_is_stopped();
    test_resolve();
    CHECK_DONE();
}
