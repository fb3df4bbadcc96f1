/* SPDX-License-Identifier: MIT */
/* What a name resolves to: getaddrinfo and getnameinfo in threads that a deadline abandons. */
#include "probe/resolve.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

#define STACK_BYTES (256 * 1024) /* glibc's NSS modules need more than PTHREAD_STACK_MIN */

/* Shared by the caller and the threads of one call; the last one out frees it. */
struct batch {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned flags;
    size_t refs, n, done;
    bool abandoned; /* the caller has taken the results */
    struct job {
        struct batch *batch;
        char *name;
        bool resolved; /* result holds the addresses; their names may still come */
        struct ptn_resolution result;
    } jobs[];
};

static void free_batch(struct batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        free(batch->jobs[i].name);
        free(batch->jobs[i].result.addrs);
    }
    (void)pthread_mutex_destroy(&batch->lock);
    (void)pthread_cond_destroy(&batch->changed);
    free(batch);
}

static void unref(struct batch *batch)
{
    bool last;

    (void)pthread_mutex_lock(&batch->lock);
    last = --batch->refs == 0;
    (void)pthread_mutex_unlock(&batch->lock);
    if (last)
        free_batch(batch);
}

static void unrefp(struct batch **batch)
{
    if (*batch)
        unref(*batch);
}

static int keep_addresses(const struct addrinfo *list, struct ptn_resolution *r)
{
    size_t n = 0;

    for (const struct addrinfo *a = list; a && n < PTN_RESOLVE_ADDRESSES; a = a->ai_next)
        n += a->ai_family == AF_INET || a->ai_family == AF_INET6;
    r->addrs = calloc(n ? n : 1, sizeof(*r->addrs));
    if (!r->addrs)
        return EAI_MEMORY;
    for (const struct addrinfo *a = list; a && r->n < n; a = a->ai_next) {
        struct ptn_resolved *to = &r->addrs[r->n];
        bool local;

        if (a->ai_family != AF_INET && a->ai_family != AF_INET6)
            continue;
        memcpy(&to->addr.u, a->ai_addr, a->ai_addrlen);
        to->addr.len = a->ai_addrlen;
        to->local = ptn_sock_is_local(&to->addr, &local, NULL) < 0 ? -1 : (int8_t)local;
        to->reverse_ns = -1;
        r->n++;
    }
    return 0;
}

static struct ptn_resolution look_up(const char *name, unsigned flags)
{
    const struct addrinfo hints = {
        .ai_socktype = SOCK_STREAM,
        .ai_flags = flags & PTN_RESOLVE_CANONICAL ? AI_CANONNAME : 0,
    };
    struct ptn_resolution r = {0};
    struct addrinfo *list = NULL;
    int64_t started = ptn_clock_now_ns();

    errno = 0;
    r.gai = getaddrinfo(name, NULL, &hints, &list);
    r.err_no = errno;
    r.time_ns = ptn_clock_now_ns() - started;
    if (r.gai != 0)
        return r;
    if (list->ai_canonname)
        (void)ptn_text_copy(r.canonical, sizeof(r.canonical), list->ai_canonname);
    r.gai = keep_addresses(list, &r);
    freeaddrinfo(list);
    return r;
}

/* The names of the addresses, one by one: those that come after the deadline are dropped. */
static void look_back(struct job *job)
{
    struct batch *batch = job->batch;
    bool wanted = true;

    for (size_t i = 0; wanted; i++) {
        struct ptn_sock_addr addr;
        char name[NI_MAXHOST];
        int64_t started, took;
        int gai;

        (void)pthread_mutex_lock(&batch->lock);
        wanted = !batch->abandoned && i < job->result.n;
        if (wanted)
            addr = job->result.addrs[i].addr;
        (void)pthread_mutex_unlock(&batch->lock);
        if (!wanted)
            return;
        started = ptn_clock_now_ns();
        gai = getnameinfo(&addr.u.any, addr.len, name, sizeof(name), NULL, 0, NI_NAMEREQD);
        took = ptn_clock_now_ns() - started;
        (void)pthread_mutex_lock(&batch->lock);
        if (!batch->abandoned) {
            struct ptn_resolved *to = &job->result.addrs[i];

            to->reverse_ns = took;
            (void)ptn_text_copy(to->reverse, sizeof(to->reverse), gai == 0 ? name : "");
        }
        (void)pthread_mutex_unlock(&batch->lock);
    }
}

static void *run_job(void *user)
{
    struct job *job = user;
    struct batch *batch = job->batch;
    struct ptn_resolution result = look_up(job->name, batch->flags);

    (void)pthread_mutex_lock(&batch->lock);
    job->result = result;
    job->resolved = true;
    (void)pthread_mutex_unlock(&batch->lock);
    if (batch->flags & PTN_RESOLVE_REVERSE)
        look_back(job);
    (void)pthread_mutex_lock(&batch->lock);
    batch->done++;
    (void)pthread_cond_signal(&batch->changed);
    (void)pthread_mutex_unlock(&batch->lock);
    unref(batch);
    return NULL;
}

static struct batch *new_batch(const char *const *names, size_t n, unsigned flags)
{
    struct batch *batch = calloc(1, sizeof(*batch) + n * sizeof(batch->jobs[0]));
    pthread_condattr_t attr;

    if (!batch)
        return NULL;
    (void)pthread_mutex_init(&batch->lock, NULL); /* neither can fail on Linux */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&batch->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    batch->flags = flags;
    batch->refs = 1;
    batch->n = n;
    for (size_t i = 0; i < n; i++) {
        batch->jobs[i].batch = batch;
        batch->jobs[i].name = strdup(names[i]);
        if (!batch->jobs[i].name) {
            free_batch(batch);
            return NULL;
        }
    }
    return batch;
}

/* All signals stay with the threads that Python knows. */
static int start_job(struct job *job, struct ptn_err *err)
{
    pthread_attr_t attr;
    sigset_t all, before;
    pthread_t thread;
    int r;

    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    (void)pthread_mutex_lock(&job->batch->lock);
    job->batch->refs++;
    (void)pthread_mutex_unlock(&job->batch->lock);
    r = pthread_create(&thread, &attr, run_job, job);
    if (r != 0)
        unref(job->batch);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attr);
    return r ? ptn_err_set(err, PTN_ERR_SYSTEM, r, "start a thread to resolve %.64s", job->name)
             : 0;
}

/* Wait until all jobs are done or ctl ends it; the lock is held on return. */
static int await_jobs(struct batch *batch, const struct ptn_ctl *ctl, struct ptn_err *err)
{
    int r = 0;

    (void)pthread_mutex_lock(&batch->lock);
    while (batch->done < batch->n && r == 0) {
        int64_t until = ptn_clock_now_ns() + ptn_ctl_slice_ms(ctl) * PTN_MS_NS;
        struct timespec ts = {.tv_sec = until / PTN_S_NS, .tv_nsec = until % PTN_S_NS};

        if (pthread_cond_timedwait(&batch->changed, &batch->lock, &ts) != ETIMEDOUT)
            continue;
        (void)pthread_mutex_unlock(&batch->lock); /* the stop callback may take the GIL */
        r = ptn_ctl_check(ctl, "resolve names", err);
        (void)pthread_mutex_lock(&batch->lock);
    }
    return r == -ETIMEDOUT ? 0 : r;
}

int ptn_resolve_run(const char *const *names, size_t n, unsigned flags, const struct ptn_ctl *ctl,
                    struct ptn_resolution **ret_resolutions, struct ptn_err *err)
{
    ptn_auto(unrefp) struct batch *batch = NULL;
    struct ptn_resolution *out;
    int r = 0;

    if (n == 0 || n > PTN_RESOLVE_NAMES)
        return ptn_err_set(err, PTN_ERR_INPUT, EINVAL, "resolve takes 1 to %d names, not %zu",
                           PTN_RESOLVE_NAMES, n);
    batch = new_batch(names, n, flags);
    out = calloc(n, sizeof(*out));
    if (!batch || !out) {
        free(out);
        return ptn_err_memory(err, "resolve names");
    }
    for (size_t i = 0; i < n && r == 0; i++)
        r = start_job(&batch->jobs[i], err);
    if (r == 0) {
        r = await_jobs(batch, ctl, err);
        batch->abandoned = true;
        for (size_t i = 0; i < n && r == 0; i++) {
            out[i] = batch->jobs[i].result;
            if (batch->jobs[i].resolved)
                batch->jobs[i].result.addrs = NULL; /* now the caller's */
            else
                out[i] = (struct ptn_resolution){.gai = PTN_RESOLVE_LATE, .time_ns = -1};
        }
        (void)pthread_mutex_unlock(&batch->lock);
    }
    if (r < 0) {
        free(out);
        return r;
    }
    *ret_resolutions = out;
    return 0;
}

void ptn_resolve_free(struct ptn_resolution *resolutions, size_t n)
{
    for (size_t i = 0; resolutions && i < n; i++)
        free(resolutions[i].addrs);
    free(resolutions);
}
