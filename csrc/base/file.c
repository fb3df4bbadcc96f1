/* SPDX-License-Identifier: MIT */
/* Small files below a directory descriptor. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static const char *relative(const char *path)
{
    while (*path == '/')
        path++;
    return *path ? path : ".";
}

int ptn_file_root(const char *path, struct ptn_err *err)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return ptn_err_errno(err, "open directory %s", path);
    return fd;
}

/* Bytes read (at most size), or -errno. procfs may return less than asked, so read to the end. */
static ssize_t read_some(int fd, char *buf, size_t size)
{
    size_t n = 0;

    while (n < size) {
        ssize_t got = read(fd, buf + n, size - n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        n += (size_t)got;
    }
    return (ssize_t)n;
}

/* O_NONBLOCK: a FIFO with that name must not hang us; it has no effect on regular files. */
static int open_at(int dir_fd, const char *path, struct ptn_err *err)
{
    int fd = openat(dir_fd, relative(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return ptn_err_errno(err, "open %s", path);
    return fd;
}

ssize_t ptn_file_read(int dir_fd, const char *path, char *buf, size_t size, struct ptn_err *err)
{
    ptn_auto(ptn_closep) int fd = open_at(dir_fd, path, err);
    ssize_t n;

    if (fd < 0)
        return fd;
    n = read_some(fd, buf, size);
    if (n < 0)
        return ptn_err_set(err, PTN_ERR_SYSTEM, (int)-n, "read %s", path);
    if ((size_t)n == size)
        return ptn_err_set(err, PTN_ERR_LIMIT, EFBIG, "read %s", path);
    buf[n] = 0;
    return n;
}

ssize_t ptn_file_read_all(int dir_fd, const char *path, size_t max, char **ret_text,
                          struct ptn_err *err)
{
    ptn_auto(ptn_closep) int fd = open_at(dir_fd, path, err);
    ptn_auto(ptn_freep) char *text = NULL;
    size_t room = 4096, n = 0;

    if (fd < 0)
        return fd;
    for (;;) {
        char *grown = realloc(text, room + 1);
        ssize_t got;

        if (!grown)
            return ptn_err_memory(err, path);
        text = grown;
        got = read_some(fd, text + n, room - n);
        if (got < 0)
            return ptn_err_set(err, PTN_ERR_SYSTEM, (int)-got, "read %s", path);
        n += (size_t)got;
        if (n < room)
            break;
        if (room > max)
            return ptn_err_set(err, PTN_ERR_LIMIT, EFBIG, "read %s", path);
        room *= 2;
    }
    if (n > max)
        return ptn_err_set(err, PTN_ERR_LIMIT, EFBIG, "read %s", path);
    text[n] = 0;
    *ret_text = PTN_TAKE(text);
    return (ssize_t)n;
}

ssize_t ptn_file_link(int dir_fd, const char *path, char *buf, size_t size)
{
    ssize_t n = readlinkat(dir_fd, relative(path), buf, size);

    if (n < 0)
        return -errno;
    if ((size_t)n >= size)
        return -ENAMETOOLONG;
    buf[n] = 0;
    return n;
}
