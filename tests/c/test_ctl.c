/* SPDX-License-Identifier: MIT */
/* Does every wait end at its deadline or when it is told to stop. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "base/clock.h"
#include "base/ctl.h"
#include "check.h"

static int stop_at_third(void *user)
{
    int *calls = user;

    return ++*calls >= 3;
}

static void deadlines(void)
{
    int64_t now = ptn_clock_now_ns();
    struct ptn_ctl soon = ptn_ctl_after(50 * PTN_MS_NS), passed = ptn_ctl_after(0);
    struct ptn_err err = {0};

    CHECK(soon.deadline_ns >= now + 50 * PTN_MS_NS);
    CHECK(soon.deadline_ns < now + 10 * PTN_S_NS);
    CHECK_EQ(ptn_ctl_after(-1).deadline_ns, INT64_MAX);
    CHECK_EQ(ptn_ctl_after(INT64_MIN).deadline_ns, INT64_MAX);
    CHECK_EQ(ptn_ctl_after(INT64_MAX).deadline_ns, INT64_MAX);
    CHECK_EQ(ptn_ctl_check(&soon, "x", &err), 0);
    CHECK_EQ(err.kind, PTN_ERR_NONE);
    CHECK_EQ(ptn_ctl_check(&passed, "answer of the store", &err), -ETIMEDOUT);
    CHECK_EQ(err.kind, PTN_ERR_TIMEOUT);
    CHECK_STR(err.what, "answer of the store");
}

static void slices(void)
{
    struct ptn_ctl ctl = ptn_ctl_after(-1);

    CHECK_EQ(ptn_ctl_slice_ms(&ctl), PTN_CTL_SLICE_MS);
    ctl = ptn_ctl_after(60 * PTN_S_NS);
    CHECK_EQ(ptn_ctl_slice_ms(&ctl), PTN_CTL_SLICE_MS);
    ctl = ptn_ctl_after(0);
    CHECK_EQ(ptn_ctl_slice_ms(&ctl), 0);
    ctl.deadline_ns = INT64_MIN + 1; /* long ago: no overflow */
    CHECK_EQ(ptn_ctl_slice_ms(&ctl), 0);
    ctl = ptn_ctl_after(20 * PTN_MS_NS);
    CHECK(ptn_ctl_slice_ms(&ctl) <= 20);
    ctl.deadline_ns = ptn_clock_now_ns() + 1; /* a rest below 1 ms may not become a busy loop */
    CHECK(ptn_ctl_slice_ms(&ctl) <= 1);
}

static void poll_ends(int silent_fd)
{
    struct pollfd pfd = {.fd = silent_fd, .events = POLLIN};
    struct ptn_ctl ctl = ptn_ctl_after(30 * PTN_MS_NS);
    struct ptn_err err = {0};
    int64_t start = ptn_clock_now_ns(), took;
    int calls = 0;

    CHECK_EQ(ptn_ctl_poll(&ctl, &pfd, 1, "silence", &err), -ETIMEDOUT);
    took = ptn_clock_now_ns() - start;
    CHECK(took >= 30 * PTN_MS_NS);
    CHECK(took < 2 * PTN_S_NS);
    CHECK_EQ(err.kind, PTN_ERR_TIMEOUT);
    CHECK_STR(err.what, "silence");

    ctl = ptn_ctl_after(-1);
    ctl.stop = stop_at_third;
    ctl.user = &calls;
    start = ptn_clock_now_ns();
    CHECK_EQ(ptn_ctl_poll(&ctl, &pfd, 1, "silence", &err), -ECANCELED);
    CHECK(ptn_clock_now_ns() - start < 2 * PTN_S_NS);
    CHECK_EQ(calls, 3);
    CHECK_EQ(err.kind, PTN_ERR_CANCELLED);
}

static void poll_sees_what_is_ready(int read_fd, int write_fd)
{
    struct pollfd pfd[2] = {{.fd = read_fd, .events = POLLIN}, {.fd = write_fd, .events = POLLOUT}};
    struct ptn_ctl passed = ptn_ctl_after(0);
    struct ptn_err err = {0};

    CHECK_EQ(ptn_ctl_poll(&passed, pfd, 2, "x", &err), 1); /* ready wins over the deadline */
    CHECK_EQ(pfd[0].revents, 0);
    CHECK(pfd[1].revents & POLLOUT);
    CHECK_EQ(write(write_fd, "x", 1), 1);
    CHECK_EQ(ptn_ctl_poll(&passed, pfd, 2, "x", &err), 2);
    CHECK_EQ(err.kind, PTN_ERR_NONE);
}

static volatile sig_atomic_t alarms;
static int alarm_fd = -1;

static void on_alarm(int number)
{
    (void)number;
    if (++alarms == 3)
        (void)!write(alarm_fd, "x", 1);
}

static void interrupted_poll_goes_on(void)
{
    struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART; poll ignores it anyway */
    struct itimerval every = {{0, 10000}, {0, 10000}}, off = {{0, 0}, {0, 0}};
    struct ptn_ctl ctl = ptn_ctl_after(10 * PTN_S_NS);
    struct ptn_err err = {0};
    int fds[2];

    CHECK_EQ(pipe(fds), 0);
    alarm_fd = fds[1];
    CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
    CHECK_EQ(setitimer(ITIMER_REAL, &every, NULL), 0);
    CHECK_EQ(ptn_ctl_poll(&ctl, &(struct pollfd){.fd = fds[0], .events = POLLIN}, 1, "x", &err), 1);
    CHECK_EQ(setitimer(ITIMER_REAL, &off, NULL), 0);
    CHECK(alarms >= 3);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void poll_that_cannot_be_asked(void)
{
    struct pollfd pfd[8];
    struct rlimit old, low;
    struct ptn_ctl ctl = ptn_ctl_after(PTN_S_NS);
    struct ptn_err err = {0};

    for (int i = 0; i < 8; i++)
        pfd[i] = (struct pollfd){.fd = -1};
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = (struct rlimit){4, old.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    CHECK_EQ(ptn_ctl_poll(&ctl, pfd, 8, "too many", &err),
             -EINVAL); /* poll(2): n > RLIMIT_NOFILE */
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
    CHECK_EQ(err.kind, PTN_ERR_SYSTEM);
    CHECK_STR(err.what, "too many");
}

int main(void)
{
    int fds[2];

    if (pipe(fds) < 0)
        return 1;
    deadlines();
    slices();
    poll_ends(fds[0]);
    poll_sees_what_is_ready(fds[0], fds[1]);
    interrupted_poll_goes_on();
    poll_that_cannot_be_asked();
    CHECK_DONE();
}
