/* SPDX-License-Identifier: MIT */
/* The lines of /proc/net/tcp and tcp6. */
#ifndef PTN_SYS_PROCTCP_H
#define PTN_SYS_PROCTCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptn_proctcp {
    uint8_t address[16]; /* network order; the first 4 bytes for IPv4 */
    uint8_t family;      /* AF_INET or AF_INET6 */
    uint8_t state;       /* TCP_ESTABLISHED = 1, …, TCP_LISTEN = 10 */
    uint16_t port;
    uint32_t uid;
    uint64_t inode;
};

/* Read one line that need not end with 0; false for the heading and for anything malformed. */
bool ptn_proctcp_parse(const char *line, size_t len, struct ptn_proctcp *ret_row);

#endif
