/* SPDX-License-Identifier: MIT */
/* The lines of /proc/net/tcp. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "check.h"
#include "sys/proctcp.h"

static bool parse(const char *line, struct ptn_proctcp *row)
{
    return ptn_proctcp_parse(line, strlen(line), row);
}

static void test_good_lines(void)
{
    static const uint8_t loopback[] = {127, 0, 0, 1};
    struct ptn_proctcp row;

    CHECK(parse("   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 "
                "       0 22113 1 0000000000000000 100 0 0 10 0",
                &row));
    CHECK_EQ(row.family, AF_INET);
    CHECK(memcmp(row.address, loopback, 4) == 0);
    CHECK_EQ(row.port, 8080);
    CHECK_EQ(row.state, 10);
    CHECK_EQ(row.uid, 1000);
    CHECK_EQ(row.inode, 22113);
    CHECK(parse("  12: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 "
                "0A 00000000:00000000 00:00000000 00000000     0        0 7 1",
                &row));
    CHECK_EQ(row.family, AF_INET6);
    CHECK_EQ(row.address[15], 1);
    CHECK_EQ(row.port, 22);
}

static void test_bad_lines(void)
{
    static const char *const lines[] = {
        "",
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid",
        "0: 0100007F",
        "0: 0100007F:1F9",
        "0: 0100007:1F90 00000000:0000 0A",
        "0: 0100007G:1F90 00000000:0000 0A 0:0 0:0 0 0 0 1",
        "0: 0100007F:1F90 00000000:0000 0",
        "0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 99999999999 0 1",
        "0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 1 0",
        "0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 1 0 99999999999999999999999",
    };
    struct ptn_proctcp row = {.port = 7};

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        CHECK(!parse(lines[i], &row));
        CHECK_EQ(row.port, 7); /* untouched */
    }
}

/* No prefix of a line is read beyond its end (AddressSanitizer watches an exact copy). */
static void test_truncation(void)
{
    static const char whole[] = "0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 1 0 5";
    struct ptn_proctcp row;

    for (size_t n = 0; n < sizeof(whole) - 1; n++) {
        char *copy = malloc(n ? n : 1);

        memcpy(copy, whole, n);
        CHECK(!ptn_proctcp_parse(copy, n, &row));
        free(copy);
    }
}

int main(void)
{
    test_good_lines();
    test_bad_lines();
    test_truncation();
    CHECK_DONE();
}
