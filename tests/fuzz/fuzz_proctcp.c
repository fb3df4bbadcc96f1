/* SPDX-License-Identifier: MIT */
/* Lines of /proc/net/tcp. */
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "sys/proctcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *line;
    size_t pos = 0, n;

    while (ptn_text_line((const char *)data, size, &pos, &line, &n)) {
        struct ptn_proctcp row;

        (void)ptn_proctcp_parse(line, n, &row);
    }
    return 0;
}
