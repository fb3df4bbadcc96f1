/* SPDX-License-Identifier: MIT */
/* Faults on demand, by the linker's --wrap. */
#include "fault.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

int fault_alloc;
ssize_t (*fault_recv)(void *buf, size_t size, ssize_t received);

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t n, size_t size);
ssize_t __real_recv(int fd, void *buf, size_t size, int flags);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);
ssize_t __wrap_recv(int fd, void *buf, size_t size, int flags);

static bool fails(void)
{
    if (fault_alloc == 0 || --fault_alloc > 0)
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
    return fails() ? NULL : __real_reallocarray(old, n, size);
}

ssize_t __wrap_recv(int fd, void *buf, size_t size, int flags)
{
    ssize_t received = __real_recv(fd, buf, size, flags);

    return fault_recv ? fault_recv(buf, size, received) : received;
}
