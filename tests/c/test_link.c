/* SPDX-License-Identifier: MIT */
/* Of what sort is a link, and whose place does sysfs tell. */
#include <fcntl.h>
#include <ftw.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/text.h"
#include "check.h"
#include "sys/sysfs.h"

static struct ptn_link make(const char *info_kind, uint16_t type)
{
    struct ptn_link link = {.type = type, .index = 7, .numa_node = -1};

    (void)ptn_text_copy(link.name, sizeof(link.name), "eth0");
    (void)ptn_text_copy(link.mac, sizeof(link.mac), "02:00:00:00:00:01");
    (void)ptn_text_copy(link.info_kind, sizeof(link.info_kind), info_kind);
    return link;
}

static void kinds(void)
{
    static const struct {
        const char *info_kind;
        uint16_t type;
        const char *kind;
        bool has_device;
    } cases[] = {
        {"", ARPHRD_LOOPBACK, "loopback", false},
        {"", ARPHRD_ETHER, "physical", true},
        {"", ARPHRD_INFINIBAND, "ib", true},
        {"ipoib", ARPHRD_INFINIBAND, "ib", true},
        {"veth", ARPHRD_ETHER, "veth", false},
        {"macvtap", ARPHRD_ETHER, "macvlan", false},
        {"gre", ARPHRD_IPGRE, "tunnel", false},
        {"", ARPHRD_SIT, "tunnel", true},
        {"newer-than-this", ARPHRD_ETHER, "newer-than-this", false},
    };

    for (size_t i = 0; i < PTN_COUNT(cases); i++) {
        struct ptn_link link = make(cases[i].info_kind, cases[i].type);

        CHECK_STR(ptn_link_kind(&link), cases[i].kind);
        CHECK_EQ(ptn_link_has_device(&link), cases[i].has_device);
    }
}

static void put(const char *root, const char *path, const char *text)
{
    char full[256];
    FILE *file;

    (void)snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *p = full + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = 0;
        (void)mkdir(full, 0700);
        *p = '/';
    }
    file = fopen(full, "w");
    CHECK(file != NULL);
    if (!file)
        return;
    (void)fputs(text, file);
    (void)fclose(file);
}

/* A sysfs whose eth0 has index 7 and the MAC …:01. */
static void places(const char *root)
{
    struct ptn_link link = make("", ARPHRD_ETHER);
    int sysfs;

    put(root, "class/net/eth0/ifindex", "7\n");
    put(root, "class/net/eth0/address", "02:00:00:00:00:01\n");
    put(root, "class/net/eth0/device/numa_node", "1\n");
    put(root, "class/net/eth0/phy80211/index", "0\n");
    put(root, "bus/pci/devices/0000:65:00.1/numa_node", "3\n");
    sysfs = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ptn_sysfs_fill(sysfs, &link);
    CHECK_EQ(link.numa_node, 1);
    CHECK_STR(ptn_link_kind(&link), "wireless");

    link = make("", ARPHRD_ETHER); /* another namespace's eth0: by index, then by MAC alone */
    link.index = 8;
    ptn_sysfs_fill(sysfs, &link);
    CHECK_EQ(link.numa_node, -1);
    CHECK_STR(ptn_link_kind(&link), "physical");
    link = make("", ARPHRD_ETHER);
    link.mac[16] = '2';
    ptn_sysfs_fill(sysfs, &link);
    CHECK_EQ(link.numa_node, -1);
    CHECK_STR(ptn_link_kind(&link), "physical");

    /* a PCI address means one device, whosever namespace it is in */
    (void)ptn_text_copy(link.pci_address, sizeof(link.pci_address), "0000:65:00.1");
    ptn_sysfs_fill(sysfs, &link);
    CHECK_EQ(link.numa_node, 3);
    (void)ptn_text_copy(link.pci_address, sizeof(link.pci_address), "0000:66:00.1");
    ptn_sysfs_fill(sysfs, &link);
    CHECK_EQ(link.numa_node, -1);
    (void)close(sysfs);

    link = make("", ARPHRD_ETHER);
    ptn_sysfs_fill(-1, &link);
    CHECK_EQ(link.numa_node, -1);
}

static int take_away(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int main(void)
{
    char root[] = "/tmp/ptn-sysfs-XXXXXX";

    kinds();
    CHECK(mkdtemp(root) != NULL);
    places(root);
    CHECK_EQ(nftw(root, take_away, 8, FTW_DEPTH | FTW_PHYS), 0);
    CHECK_DONE();
}
