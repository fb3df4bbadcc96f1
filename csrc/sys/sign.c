/* SPDX-License-Identifier: MIT */
/* The signs of a container, of Kubernetes, WSL and a virtual machine: files that each leaves. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "sys/place.h"

#define MAX_BYTES (1u << 20) /* an environment may be large */

struct text_sign {
    const char *file;
    const char *text; /* to be found in it; NULL = the file exists */
    const char *means;
};

/* In this order: the first that is found names the container. */
static const struct text_sign containers[] = {
    {"/run/.containerenv", NULL, "podman"},
    {"/.dockerenv", NULL, "docker"},
    {"/.singularity.d", NULL, "apptainer"},
    {"/proc/self/environ", "APPTAINER_CONTAINER=", "apptainer"},
    {"/run/systemd/container", "systemd-nspawn", "systemd-nspawn"},
    {"/run/systemd/container", "lxc", "lxc"},
    {"/run/systemd/container", "podman", "podman"},
    {"/run/systemd/container", "docker", "docker"},
    {"/run/systemd/container", NULL, "unknown"},
    {"/proc/1/cgroup", "kubepods", "kubernetes"},
    {"/proc/1/cgroup", "/docker", "docker"},
    {"/proc/1/cgroup", "libpod", "podman"},
    {"/proc/1/cgroup", "/lxc", "lxc"},
};

/* DMI texts of hypervisors and clouds (systemd, src/basic/virt.c). */
static const struct text_sign machines[] = {
    {"/sys/class/dmi/id/sys_vendor", "Amazon EC2", "amazon"},
    {"/sys/class/dmi/id/product_name", "Google Compute Engine", "google"},
    {"/sys/class/dmi/id/product_name", "Virtual Machine", "microsoft"}, /* not their laptops */
    {"/sys/class/dmi/id/sys_vendor", "QEMU", "qemu"},
    {"/sys/class/dmi/id/product_name", "KVM", "kvm"},
    {"/sys/class/dmi/id/sys_vendor", "VMware", "vmware"},
    {"/sys/class/dmi/id/sys_vendor", "innotek GmbH", "virtualbox"},
    {"/sys/class/dmi/id/sys_vendor", "Xen", "xen"},
    {"/sys/class/dmi/id/sys_vendor", "Parallels", "parallels"},
    {"/sys/class/dmi/id/sys_vendor", "OpenStack", "openstack"},
    {"/sys/class/dmi/id/chassis_asset_tag", "OracleCloud", "oracle"},
    {"/sys/hypervisor/type", "xen", "xen"},
};

static void note(struct ptn_place *place, const struct text_sign *sign)
{
    if (place->n_signs == PTN_PLACE_SIGNS)
        return;
    (void)snprintf(place->signs[place->n_signs++], sizeof(place->signs[0]),
                   sign->text ? "%s has “%s”" : "%s exists", sign->file, sign->text);
}

static bool found(int root, const struct text_sign *sign)
{
    ptn_auto(ptn_freep) char *text = NULL;
    ssize_t n;

    if (!sign->text)
        return faccessat(root, sign->file + 1, F_OK, 0) == 0;
    n = ptn_file_read_all(root, sign->file, MAX_BYTES, &text, NULL);
    return n > 0 && memmem(text, (size_t)n, sign->text, strlen(sign->text));
}

static const char *first_of(int root, const struct text_sign *signs, size_t n,
                            struct ptn_place *place)
{
    for (size_t i = 0; i < n; i++)
        if (found(root, &signs[i])) {
            note(place, &signs[i]);
            return signs[i].means;
        }
    return "";
}

static bool any(int root, const struct text_sign sign, struct ptn_place *place)
{
    bool is = found(root, &sign);

    if (is)
        note(place, &sign);
    return is;
}

void ptn_place_read_signs(int root, struct ptn_place *place)
{
    const struct text_sign account = {"/run/secrets/kubernetes.io", NULL, "kubernetes"};
    const struct text_sign account_var = {"/var/run/secrets/kubernetes.io", NULL, "kubernetes"};
    const struct text_sign service = {"/proc/self/environ", "KUBERNETES_SERVICE_HOST=", NULL};
    const struct text_sign wsl2 = {"/proc/version", "microsoft-standard-WSL2", "2"};
    const struct text_sign wsl1 = {"/proc/version", "-Microsoft", "1"};

    (void)ptn_text_copy(place->container, sizeof(place->container),
                        first_of(root, containers, PTN_COUNT(containers), place));
    place->kubernetes = strcmp(place->container, "kubernetes") == 0 || any(root, account, place) ||
                        any(root, account_var, place) || any(root, service, place);
    if (place->kubernetes)
        (void)ptn_text_copy(place->container, sizeof(place->container), "kubernetes");
    if (any(root, wsl2, place))
        place->wsl = 2;
    else if (any(root, wsl1, place))
        place->wsl = 1;
    (void)ptn_text_copy(place->vm, sizeof(place->vm),
                        first_of(root, machines, PTN_COUNT(machines), place));
}
