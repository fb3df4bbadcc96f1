/* SPDX-License-Identifier: MIT */
/* Are small files read whole or not at all, and does nothing in a folder hang the reader. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "check.h"
#include "fault.h"

static char folder[] = "/tmp/ptn-test-file-XXXXXX";

static void put(int dir, const char *name, size_t size)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    for (size_t i = 0; i < size; i++)
        CHECK_EQ(write(fd, "x", 1), 1);
    CHECK_EQ(close(fd), 0);
}

static void roots(void)
{
    struct ptn_err err = {0};
    int fd = ptn_file_root("/", &err);

    CHECK(fd >= 0);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    (void)close(fd);
    CHECK_EQ(ptn_file_root("/no/such/folder", &err), -ENOENT);
    CHECK_STR(err.what, "open directory /no/such/folder");
    CHECK_EQ(ptn_file_root("/proc/version", NULL), -ENOTDIR);
}

static void sizes(int dir)
{
    char buf[11];
    struct ptn_err err = {0};

    put(dir, "ten", 10);
    put(dir, "empty", 0);
    CHECK_EQ(ptn_file_read(dir, "ten", buf, sizeof(buf), &err), 10);
    CHECK_STR(buf, "xxxxxxxxxx");
    CHECK_EQ(ptn_file_read(dir, "/ten", buf, sizeof(buf), &err), 10); /* below dir, not below / */
    CHECK_EQ(ptn_file_read(dir, "empty", buf, sizeof(buf), &err), 0);
    CHECK_STR(buf, "");
    CHECK_EQ(err.kind, PTN_ERR_NONE);
    CHECK_EQ(ptn_file_read(dir, "ten", buf, 10, &err), -EFBIG);
    CHECK_EQ(err.kind, PTN_ERR_LIMIT);
    CHECK_STR(err.what, "read ten");
    CHECK_EQ(ptn_file_read(dir, "absent", buf, sizeof(buf), NULL), -ENOENT);
    CHECK_EQ(ptn_file_read(dir, "", buf, sizeof(buf), &err), -EISDIR);
    CHECK_EQ(err.err_no, EISDIR);
}

static void unknown_sizes(int dir)
{
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 8192, 9000};
    struct ptn_err err = {0};

    for (size_t i = 0; i < PTN_COUNT(sizes); i++) {
        ptn_auto(ptn_freep) char *text = NULL;

        (void)unlinkat(dir, "file", 0);
        put(dir, "file", sizes[i]);
        CHECK_EQ(ptn_file_read_all(dir, "file", 9000, &text, &err), sizes[i]);
        CHECK(text && strlen(text) == sizes[i]);
        if (sizes[i] > 0) {
            char *none = NULL;

            CHECK_EQ(ptn_file_read_all(dir, "file", sizes[i] - 1, &none, &err), -EFBIG);
            CHECK(none == NULL);
            CHECK_EQ(err.kind, PTN_ERR_LIMIT);
        }
    }
}

static void memory_runs_out(int dir)
{
    struct ptn_err err = {0};
    char *text = NULL;

    for (int n = 1; n <= 2; n++) { /* the first buffer, and the larger one */
        fault_alloc = n;
        CHECK_EQ(ptn_file_read_all(dir, "file", 9000, &text, &err), -ENOMEM);
        CHECK_EQ(err.kind, PTN_ERR_MEMORY);
        CHECK(text == NULL);
    }
    fault_alloc = 0;
}

static void nothing_hangs(int dir)
{
    char buf[16], *text = NULL;
    int writer;

    CHECK_EQ(mkfifoat(dir, "fifo", 0600), 0);
    CHECK_EQ(ptn_file_read(dir, "fifo", buf, sizeof(buf), NULL), 0); /* nobody writes: empty */
    writer = openat(dir, "fifo", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    CHECK_EQ(ptn_file_read(dir, "fifo", buf, sizeof(buf), NULL), -EAGAIN);
    CHECK_EQ(ptn_file_read_all(dir, "fifo", 100, &text, NULL), -EAGAIN);
    CHECK(text == NULL);
    (void)close(writer);
}

static void links(int dir)
{
    char buf[8];

    CHECK_EQ(symlinkat("target", dir, "link"), 0);
    CHECK_EQ(ptn_file_link(dir, "link", buf, sizeof(buf)), 6);
    CHECK_STR(buf, "target");
    CHECK_EQ(ptn_file_link(dir, "/link", buf, 7), 6);
    CHECK_EQ(ptn_file_link(dir, "link", buf, 6), -ENAMETOOLONG);
    CHECK_EQ(ptn_file_link(dir, "ten", buf, sizeof(buf)), -EINVAL); /* not a link */
    CHECK_EQ(ptn_file_link(dir, "absent", buf, sizeof(buf)), -ENOENT);
}

static void proc(void)
{
    ptn_auto(ptn_closep) int root = ptn_file_root("/", NULL);
    ptn_auto(ptn_freep) char *text = NULL;
    char buf[64];

    CHECK(ptn_file_read(root, "/proc/sys/kernel/ostype", buf, sizeof(buf), NULL) == 6);
    CHECK_STR(buf, "Linux\n");
    CHECK(ptn_file_read_all(root, "/proc/self/status", 1 << 20, &text, NULL) > 0);
    CHECK(text && strstr(text, "\nPid:"));
}

int main(void)
{
    ptn_auto(ptn_closep) int dir = -1;

    if (!mkdtemp(folder))
        return 1;
    dir = ptn_file_root(folder, NULL);
    roots();
    sizes(dir);
    unknown_sizes(dir);
    memory_runs_out(dir);
    nothing_hangs(dir);
    links(dir);
    proc();
    for (const char *const *name =
             (const char *const[]){"ten", "empty", "file", "fifo", "link", NULL};
         *name; name++)
        CHECK_EQ(unlinkat(dir, *name, 0), 0);
    CHECK_EQ(rmdir(folder), 0);
    CHECK_DONE();
}
