/* SPDX-License-Identifier: MIT */
/* Where this process runs: uname, os-release, /proc, /dev, selinuxfs, capget, adjtimex. */
#include "sys/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

static void read_line(int root, const char *path, char *to, size_t size)
{
    char buf[1024];

    if (ptn_file_read(root, path, buf, sizeof(buf), NULL) < 0)
        return;
    ptn_text_rstrip(buf);
    (void)ptn_text_copy(to, size, buf);
}

/* NAME="value" of os-release(5); quotes are taken off, escapes do not occur in these three. */
static void read_os_value(const char *text, size_t len, const char *name, char *to, size_t size)
{
    const char *line;
    size_t pos = 0, n, name_len = strlen(name);

    while (ptn_text_line(text, len, &pos, &line, &n)) {
        if (n <= name_len || memcmp(line, name, name_len) != 0 || line[name_len] != '=')
            continue;
        line += name_len + 1;
        n -= name_len + 1;
        if (n >= 2 && (line[0] == '"' || line[0] == '\'') && line[n - 1] == line[0]) {
            line++;
            n -= 2;
        }
        (void)ptn_text_copy_n(to, size, line, n);
        return;
    }
}

static void read_os_release(int root, struct ptn_place *place)
{
    char buf[8192];
    ssize_t n = ptn_file_read(root, "/etc/os-release", buf, sizeof(buf), NULL);

    if (n < 0)
        n = ptn_file_read(root, "/usr/lib/os-release", buf, sizeof(buf), NULL);
    if (n < 0)
        return;
    read_os_value(buf, (size_t)n, "ID", place->os_id, sizeof(place->os_id));
    read_os_value(buf, (size_t)n, "VERSION_ID", place->os_version, sizeof(place->os_version));
    read_os_value(buf, (size_t)n, "PRETTY_NAME", place->os_name, sizeof(place->os_name));
}

static void read_namespaces(struct ptn_place *place)
{
    static const char *const names[] = {"net", "pid", "uts",    "user",
                                        "mnt", "ipc", "cgroup", "time"};

    for (size_t i = 0; i < PTN_COUNT(names); i++) {
        char path[32];
        struct stat st;

        (void)snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
        if (stat(path, &st) < 0)
            continue;
        (void)ptn_text_copy(place->namespaces[place->n_namespaces].name,
                            sizeof(place->namespaces[0].name), names[i]);
        place->namespaces[place->n_namespaces++].inode = st.st_ino;
    }
}

/* capget has no wrapper in libc, and libcap would be a library for one call. */
static void read_capabilities(struct ptn_place *place)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};

    if (syscall(SYS_capget, &header, data) < 0)
        return;
    place->cap_net_admin = data[0].effective >> CAP_NET_ADMIN & 1;
    place->cap_net_raw = data[0].effective >> CAP_NET_RAW & 1;
    place->cap_net_bind = data[0].effective >> CAP_NET_BIND_SERVICE & 1;
}

static void read_clock(struct ptn_place *place)
{
    struct timex tx = {.modes = 0}; /* reads only */
    struct timespec now;
    int state = adjtimex(&tx);

    place->clock_synchronized = -1;
    if (state >= 0)
        place->clock_synchronized = state != TIME_ERROR && !(tx.status & STA_UNSYNC);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    place->unix_time_s = (double)now.tv_sec + (double)now.tv_nsec / (double)PTN_S_NS;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    place->uptime_s = (double)now.tv_sec + (double)now.tv_nsec / (double)PTN_S_NS;
}

static bool has_ipv6(void)
{
    ptn_auto(ptn_closep) int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    return fd >= 0;
}

/* The files in `path` that are called `stem` and a number. */
static int32_t count_numbered(int root, const char *path, const char *stem)
{
    ptn_auto(ptn_closedirp) DIR *dir = NULL;
    size_t stem_len = strlen(stem);
    struct dirent *entry;
    int32_t n = 0;
    int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    dir = fdopendir(fd);
    if (!dir)
        (void)close(fd);
    while (dir && (entry = readdir(dir)))
        if (strncmp(entry->d_name, stem, stem_len) == 0) {
            int64_t number;

            n += ptn_text_i64(entry->d_name + stem_len, 0, INT32_MAX, &number) == 0;
        }
    return n;
}

/* NVIDIA's device files are /dev/nvidia0 and on; AMD's compute driver has /dev/kfd and a render
 * node for each GPU. WSL2 has /dev/dxg, which does not tell how many are behind it. */
static int32_t count_gpus(int root)
{
    int32_t n = count_numbered(root, "dev", "nvidia");

    if (faccessat(root, "dev/kfd", F_OK, 0) == 0)
        n += count_numbered(root, "dev/dri", "renderD");
    return n == 0 && faccessat(root, "dev/dxg", F_OK, 0) == 0 ? -1 : n;
}

static void read_selinux(int root, struct ptn_place *place)
{
    char enforce[16] = "";

    read_line(root, "/sys/fs/selinux/enforce", enforce, sizeof(enforce));
    if (!enforce[0])
        return; /* without SELinux, attr/current is another module's label */
    (void)ptn_text_copy(place->selinux, sizeof(place->selinux),
                        enforce[0] == '1' ? "enforcing" : "permissive");
    read_line(root, "/proc/self/attr/current", place->selinux_label, sizeof(place->selinux_label));
}

static int count_cpus(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return CPU_COUNT(&set);
    return (int)sysconf(_SC_NPROCESSORS_ONLN); /* more than 1024 CPUs */
}

int ptn_place_get(const char *root, struct ptn_place *ret_place, struct ptn_err *err)
{
    ptn_auto(ptn_closep) int dir = ptn_file_root(root, err);
    struct ptn_place place = {.wsl = -1, .proc_sys_readonly = -1};
    struct utsname names;
    struct statvfs fs;

    if (dir < 0)
        return dir;
    if (uname(&names) < 0)
        return ptn_err_errno(err, "uname");
    (void)ptn_text_copy(place.kernel, sizeof(place.kernel), names.release);
    (void)ptn_text_copy(place.machine, sizeof(place.machine), names.machine);
    read_os_release(dir, &place);
    read_line(dir, "/proc/sys/kernel/random/boot_id", place.boot_id, sizeof(place.boot_id));
    read_line(dir, "/proc/self/cgroup", place.cgroup, sizeof(place.cgroup));
    place.cgroup[strcspn(place.cgroup, "\n")] = 0;
    read_namespaces(&place);
    ptn_place_read_signs(dir, &place);
    place.uid = geteuid();
    read_capabilities(&place);
    if (statvfs("/proc/sys", &fs) == 0)
        place.proc_sys_readonly = (fs.f_flag & ST_RDONLY) != 0;
    place.cpus = count_cpus();
    read_clock(&place);
    place.ipv6 = has_ipv6();
    place.gpus = count_gpus(dir);
    read_selinux(dir, &place);
    *ret_place = place;
    return 0;
}
