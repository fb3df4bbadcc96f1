/* SPDX-License-Identifier: MIT */
/* What the driver says about a link: ethtool netlink for many links, SIOCETHTOOL for few. */
#include "sys/nic.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/text.h"
#include "sys/nl.h"
#include "sys/sysfs.h"

#define FEW_LINKS                                                                                  \
    8 /* up to here one ioctl each is faster than looking the family up (measured)                 \
       */

static int ask_ioctl(int fd, const char *name, void *data)
{
    struct ifreq request = {.ifr_data = data};

    (void)ptn_text_copy(request.ifr_name, sizeof(request.ifr_name), name);
    return ioctl(fd, SIOCETHTOOL, &request);
}

static void put_mode(struct ptn_link *link, uint32_t speed, uint8_t duplex, uint8_t autoneg)
{
    if (speed != (uint32_t)SPEED_UNKNOWN && speed != 0 && speed <= INT32_MAX)
        link->speed_mbps = (int32_t)speed;
    if (duplex == DUPLEX_FULL || duplex == DUPLEX_HALF)
        link->full_duplex = duplex == DUPLEX_FULL;
    if (autoneg == AUTONEG_ENABLE || autoneg == AUTONEG_DISABLE)
        link->autoneg = autoneg == AUTONEG_ENABLE;
}

static void fill_mode_by_ioctl(int fd, struct ptn_link *link)
{
    union {
        struct ethtool_link_settings base;
        char room[sizeof(struct ethtool_link_settings) + 3 * SCHAR_MAX * sizeof(uint32_t)];
    } settings = {.base.cmd = ETHTOOL_GLINKSETTINGS};
    int8_t words;

    /* The first call is refused with the negative number of mask words that the kernel has. */
    if (ask_ioctl(fd, link->name, &settings) < 0 || settings.base.link_mode_masks_nwords >= 0)
        return;
    words = (int8_t)-settings.base.link_mode_masks_nwords;
    settings.base = (struct ethtool_link_settings){.cmd = ETHTOOL_GLINKSETTINGS,
                                                   .link_mode_masks_nwords = words};
    if (ask_ioctl(fd, link->name, &settings) == 0)
        put_mode(link, settings.base.speed, settings.base.duplex, settings.base.autoneg);
}

struct modes {
    struct ptn_link_table *table;
    size_t next; /* the kernel dumps modes and links in one order, so the next link is here */
};

static struct ptn_link *find(struct modes *modes, int32_t index)
{
    size_t n = modes->table->n;

    for (size_t i = 0; i < n; i++) {
        size_t at = (modes->next + i) % n;

        if (modes->table->links[at].index != index)
            continue;
        modes->next = at + 1;
        return &modes->table->links[at];
    }
    return NULL;
}

static int mode_row(struct nlmsghdr *nlh, void *user, struct ptn_err *err)
{
    struct nlattr *tb[ETHTOOL_A_LINKMODES_MAX + 1], *head[ETHTOOL_A_HEADER_MAX + 1];
    struct ptn_link *link;

    (void)err;
    if (nlmsg_parse(nlh, GENL_HDRLEN, tb, ETHTOOL_A_LINKMODES_MAX, NULL) < 0 ||
        !tb[ETHTOOL_A_LINKMODES_HEADER] ||
        nla_parse_nested(head, ETHTOOL_A_HEADER_MAX, tb[ETHTOOL_A_LINKMODES_HEADER], NULL) < 0 ||
        !head[ETHTOOL_A_HEADER_DEV_INDEX])
        return 0;
    link = find(user, (int32_t)nla_get_u32(head[ETHTOOL_A_HEADER_DEV_INDEX]));
    if (link)
        put_mode(link,
                 tb[ETHTOOL_A_LINKMODES_SPEED] ? nla_get_u32(tb[ETHTOOL_A_LINKMODES_SPEED]) : 0,
                 tb[ETHTOOL_A_LINKMODES_DUPLEX] ? nla_get_u8(tb[ETHTOOL_A_LINKMODES_DUPLEX])
                                                : DUPLEX_UNKNOWN,
                 tb[ETHTOOL_A_LINKMODES_AUTONEG] ? nla_get_u8(tb[ETHTOOL_A_LINKMODES_AUTONEG])
                                                 : UINT8_MAX);
    return 0;
}

/* -ENOENT and -EOPNOTSUPP: a kernel without ethtool netlink (EL8 before 8.4). */
static int fill_modes_by_netlink(struct ptn_link_table *table, const struct ptn_ctl *ctl,
                                 struct ptn_err *err)
{
    const struct genlmsghdr hdr = {.cmd = ETHTOOL_MSG_LINKMODES_GET, .version = 1};
    ptn_auto(ptn_nl_closep) struct nl_sock *sk = NULL;
    ptn_auto(ptn_nl_msgp) struct nl_msg *msg = NULL;
    struct modes modes = {.table = table};
    struct nlattr *nest;
    uint16_t family;
    int r = ptn_nl_open(&sk, NETLINK_GENERIC, err);

    if (r == 0)
        r = ptn_nl_family(sk, "ethtool", &family, ctl, err);
    if (r == 0)
        r = ptn_nl_request(&msg, family, &hdr, sizeof(hdr), err);
    if (r < 0)
        return r;
    nest = nla_nest_start(msg, ETHTOOL_A_LINKMODES_HEADER | NLA_F_NESTED);
    if (!nest || nla_put_u32(msg, ETHTOOL_A_HEADER_FLAGS, ETHTOOL_FLAG_COMPACT_BITSETS) < 0)
        return ptn_err_memory(err, "netlink request");
    (void)nla_nest_end(msg, nest);
    return ptn_nl_dump(sk, msg, mode_row, NULL, &modes, ctl, "dump of link modes", err);
}

static void fill_driver(int fd, struct ptn_link *link)
{
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};

    if (ask_ioctl(fd, link->name, &info) < 0)
        return;
    (void)ptn_text_copy_n(link->driver, sizeof(link->driver), info.driver, sizeof(info.driver));
    /* bus_info of a PCI device is its address, "0000:65:00.1" */
    if (!link->pci_address[0] && strnlen(info.bus_info, sizeof(info.bus_info)) >= 12 &&
        info.bus_info[4] == ':' && info.bus_info[7] == ':')
        (void)ptn_text_copy_n(link->pci_address, sizeof(link->pci_address), info.bus_info,
                              sizeof(info.bus_info));
}

int ptn_nic_fill(struct ptn_link_table *table, const struct ptn_ctl *ctl, struct ptn_err *err)
{
    ptn_auto(ptn_closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ptn_auto(ptn_closep) int sysfs = -1; /* opened for the first device: virtual links need none */
    bool by_ioctl = table->n <= FEW_LINKS;

    if (fd < 0)
        return ptn_err_errno(err, "open a socket for SIOCETHTOOL");
    if (!by_ioctl) {
        int r = fill_modes_by_netlink(table, ctl, err);

        if (r == -ETIMEDOUT || r == -ECANCELED || r == -ENOMEM)
            return r;
        by_ioctl = r < 0;
    }
    for (size_t i = 0; i < table->n; i++) {
        struct ptn_link *link = &table->links[i];

        if (by_ioctl)
            fill_mode_by_ioctl(fd, link);
        if (ptn_link_has_device(link)) {
            fill_driver(fd, link);
            if (sysfs < 0)
                sysfs = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
            ptn_sysfs_fill(sysfs, link);
        }
    }
    return 0;
}
