/* SPDX-License-Identifier: MIT */
/* Lines and numbers out of any bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *buf = (const char *)data, *line;
    size_t pos = 0, len, covered = 0;

    while (ptn_text_line(buf, size, &pos, &line, &len)) {
        char text[24], mac[3 * 24 + 1];
        int64_t value = 0;
        bool whole = ptn_text_copy_n(text, sizeof(text), line, len);

        if (line < buf || line + len > buf + size || (whole && strlen(text) > len))
            abort();
        covered += len;
        if (ptn_text_i64(text, -1000, 1000, &value) == 0 && (value < -1000 || value > 1000))
            abort();
        if (!ptn_text_mac(mac, sizeof(mac), (const uint8_t *)text, strlen(text)))
            abort();
        ptn_text_rstrip(text);
    }
    if (pos != size || covered > size)
        abort();
    return 0;
}
