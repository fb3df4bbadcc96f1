/* SPDX-License-Identifier: MIT */
/* Are texts parsed strictly and copied within bounds. */
#include <arpa/inet.h>
#include <errno.h>

#include "base/text.h"
#include "check.h"

static void numbers(void)
{
    static const struct {
        const char *text;
        int64_t min, max, value;
        int r;
    } cases[] = {
        {"0", 0, 65535, 0, 0},
        {"65535", 0, 65535, 65535, 0},
        {"65536", 0, 65535, 0, -ERANGE},
        {"-1", 0, 65535, 0, -ERANGE},
        {"-1", -1, 0, -1, 0},
        {"-0", 0, 0, 0, 0},
        {"007", 0, 9, 7, 0},
        {"9223372036854775807", INT64_MIN, INT64_MAX, INT64_MAX, 0},
        {"9223372036854775808", INT64_MIN, INT64_MAX, 0, -ERANGE},
        {"-9223372036854775808", INT64_MIN, INT64_MAX, INT64_MIN, 0},
        {"-9223372036854775809", INT64_MIN, INT64_MAX, 0, -ERANGE},
        {"99999999999999999999999999", INT64_MIN, INT64_MAX, 0, -ERANGE},
        {"99999999999999999999999999x", INT64_MIN, INT64_MAX, 0, -EINVAL},
        {"", INT64_MIN, INT64_MAX, 0, -EINVAL},
        {"-", INT64_MIN, INT64_MAX, 0, -EINVAL},
        {"+1", INT64_MIN, INT64_MAX, 0, -EINVAL},
        {"--1", INT64_MIN, INT64_MAX, 0, -EINVAL},
        {" 1", INT64_MIN, INT64_MAX, 0, -EINVAL},
        {"1 ", INT64_MIN, INT64_MAX, 0, -EINVAL},
        {"1\n", INT64_MIN, INT64_MAX, 0, -EINVAL},
        {"0x10", INT64_MIN, INT64_MAX, 0, -EINVAL},
        {"1e3", INT64_MIN, INT64_MAX, 0, -EINVAL},
        {"70000x", 0, 65535, 0, -EINVAL},
    };

    for (size_t i = 0; i < PTN_COUNT(cases); i++) {
        int64_t value = 4711;
        int r = ptn_text_i64(cases[i].text, cases[i].min, cases[i].max, &value);

        if (r != cases[i].r)
            fprintf(stderr, "of \"%s\":\n", cases[i].text);
        CHECK_EQ(r, cases[i].r);
        CHECK_EQ(value, r == 0 ? cases[i].value : 4711); /* untouched on failure */
    }
}

static void copies(void)
{
    char to[4];

    CHECK(ptn_text_copy(to, sizeof(to), "abc"));
    CHECK_STR(to, "abc");
    CHECK(!ptn_text_copy(to, sizeof(to), "abcd"));
    CHECK_STR(to, "abc");
    CHECK(ptn_text_copy(to, sizeof(to), ""));
    CHECK_STR(to, "");
    CHECK(!ptn_text_copy(to, 1, "a"));
    CHECK_STR(to, "");
    CHECK(ptn_text_copy(to, 1, ""));
}

static void copies_without_an_end(void)
{
    static const char raw[3] = {'x', 'y', 'z'}; /* reading a fourth byte is seen by ASan */
    char to[8];

    CHECK(ptn_text_copy_n(to, sizeof(to), raw, sizeof(raw)));
    CHECK_STR(to, "xyz");
    CHECK(ptn_text_copy_n(to, 4, raw, sizeof(raw)));
    CHECK_STR(to, "xyz");
    CHECK(!ptn_text_copy_n(to, 3, raw, sizeof(raw)));
    CHECK_STR(to, "xy");
    CHECK(ptn_text_copy_n(to, sizeof(to), "a\0b", 3)); /* ends at the first 0 */
    CHECK_STR(to, "a");
    CHECK(ptn_text_copy_n(to, sizeof(to), raw, 0));
    CHECK_STR(to, "");
}

static void white_space_at_the_end(void)
{
    char text[] = " a b \t\r\n\v\f", blank[] = " \n", empty[] = "";

    ptn_text_rstrip(text);
    CHECK_STR(text, " a b");
    ptn_text_rstrip(blank);
    CHECK_STR(blank, "");
    ptn_text_rstrip(empty);
    CHECK_STR(empty, "");
}

static void lines(void)
{
    static const char buf[] = {'o', 'n', 'e', '\n', '\n', 'l', 'a', 's', 't'};
    static const char *const want[] = {"one", "", "last"};
    const char *line;
    size_t pos = 0, len, n = 0;

    while (ptn_text_line(buf, sizeof(buf), &pos, &line, &len)) {
        CHECK(n < 3);
        CHECK_EQ(len, strlen(want[n]));
        CHECK(memcmp(line, want[n], len) == 0);
        n++;
    }
    CHECK_EQ(n, 3);
    CHECK_EQ(pos, sizeof(buf));
    pos = 0;
    CHECK(!ptn_text_line("", 0, &pos, &line, &len));
    CHECK(ptn_text_line("\n", 1, &pos, &line, &len));
    CHECK_EQ(len, 0);
    CHECK(!ptn_text_line("\n", 1, &pos, &line, &len)); /* a line end opens no further line */
}

static void macs(void)
{
    static const uint8_t mac[6] = {0x00, 0x1b, 0x21, 0xab, 0xcd, 0xff};
    char to[18], small[17];

    CHECK(ptn_text_mac(to, sizeof(to), mac, sizeof(mac)));
    CHECK_STR(to, "00:1b:21:ab:cd:ff");
    CHECK(!ptn_text_mac(small, sizeof(small), mac, sizeof(mac)));
    CHECK(ptn_text_mac(to, 3, mac + 5, 1));
    CHECK_STR(to, "ff");
    CHECK(ptn_text_mac(to, 1, mac, 0));
    CHECK_STR(to, "");
    CHECK(!ptn_text_mac(to, 0, mac, 0));
}

/* Every pattern of zero words, with large and with small words between them. */
static void addresses(void)
{
    static const uint8_t v4[][4] = {{0, 0, 0, 0}, {10, 0, 9, 100}, {255, 255, 255, 255}};
    char to[PTN_TEXT_IP], expected[PTN_TEXT_IP];

    for (size_t i = 0; i < PTN_COUNT(v4); i++) {
        ptn_text_ip(to, AF_INET, v4[i]);
        CHECK_STR(to, inet_ntop(AF_INET, v4[i], expected, sizeof(expected)));
    }
    for (unsigned pattern = 0; pattern < 3 * 256; pattern++) {
        static const uint16_t words[] = {0xffff, 0x1, 0xfe80};
        uint16_t v6[8];

        for (int i = 0; i < 8; i++)
            v6[i] = pattern >> i & 1 ? htons(words[pattern / 256]) : 0;
        ptn_text_ip(to, AF_INET6, (const uint8_t *)v6);
        CHECK_STR(to, inet_ntop(AF_INET6, v6, expected, sizeof(expected)));
    }
}

int main(void)
{
    numbers();
    copies();
    copies_without_an_end();
    white_space_at_the_end();
    lines();
    macs();
    addresses();
    CHECK_DONE();
}
