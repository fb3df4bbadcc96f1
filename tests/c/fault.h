/* SPDX-License-Identifier: MIT */
/* Faults on demand: every C test is linked with these in front of the allocators and of recv(). */
#ifndef PTN_TESTS_FAULT_H
#define PTN_TESTS_FAULT_H

#include <sys/types.h>

/* The n-th allocation from now on fails, once: 1 = the next one. 0 = none. */
extern int fault_alloc;

/* What recv() hands out: the hook may change the bytes and the length; NULL = as received. */
extern ssize_t (*fault_recv)(void *buf, size_t size, ssize_t received);

#endif
