/* SPDX-License-Identifier: MIT */
/* Small files below a directory descriptor: /proc, /sys and /etc, or a private copy of them. */
#ifndef PTN_BASE_FILE_H
#define PTN_BASE_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/auto.h"
#include "base/err.h"

/* Open `path` as an O_PATH directory descriptor; -errno with err filled. */
ptn_must_check int ptn_file_root(const char *path, struct ptn_err *err);

/* Read the file `path` below `dir_fd` into `buf` and end it with 0: bytes read, or -errno.
 * A leading '/' of `path` is skipped, so "/etc/hosts" means etc/hosts below dir_fd.
 * A file of `size` bytes or more is -EFBIG; nothing of it is returned. err may be NULL where an
 * absent file is an answer. */
ptn_must_check ssize_t ptn_file_read(int dir_fd, const char *path, char *buf, size_t size,
                                     struct ptn_err *err);

/* The same for a file of unknown size up to `max` bytes; *ret_text is malloc'ed and 0-ended. */
ptn_must_check ssize_t ptn_file_read_all(int dir_fd, const char *path, size_t max, char **ret_text,
                                         struct ptn_err *err);

/* The target of the symbolic link `path` below `dir_fd`: its length, or -errno. */
ptn_must_check ssize_t ptn_file_link(int dir_fd, const char *path, char *buf, size_t size);

#endif
