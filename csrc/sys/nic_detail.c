/* SPDX-License-Identifier: MIT */
/* Rings, channels, pause, FEC and offloads of a link: SIOCETHTOOL. */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/text.h"
#include "sys/nic.h"

static int ask(int fd, const char *name, void *data)
{
    struct ifreq request = {.ifr_data = data};

    (void)ptn_text_copy(request.ifr_name, sizeof(request.ifr_name), name);
    return ioctl(fd, SIOCETHTOOL, &request);
}

static void fill_rings(int fd, const char *name, struct ptn_nic_detail *d)
{
    struct ethtool_ringparam p = {.cmd = ETHTOOL_GRINGPARAM};

    if (ask(fd, name, &p) < 0)
        return;
    d->rx_ring = (int32_t)p.rx_pending;
    d->rx_ring_max = (int32_t)p.rx_max_pending;
    d->tx_ring = (int32_t)p.tx_pending;
    d->tx_ring_max = (int32_t)p.tx_max_pending;
}

static void fill_channels(int fd, const char *name, struct ptn_nic_detail *d)
{
    struct ethtool_channels p = {.cmd = ETHTOOL_GCHANNELS};

    if (ask(fd, name, &p) < 0)
        return;
    d->combined_channels = (int32_t)p.combined_count;
    d->combined_channels_max = (int32_t)p.max_combined;
    d->rx_channels = (int32_t)p.rx_count;
    d->tx_channels = (int32_t)p.tx_count;
}

static void fill_pause(int fd, const char *name, struct ptn_nic_detail *d)
{
    struct ethtool_pauseparam p = {.cmd = ETHTOOL_GPAUSEPARAM};

    if (ask(fd, name, &p) < 0)
        return;
    d->pause_autoneg = p.autoneg != 0;
    d->pause_rx = p.rx_pause != 0;
    d->pause_tx = p.tx_pause != 0;
}

static void fill_fec(int fd, const char *name, struct ptn_nic_detail *d)
{
    struct ethtool_fecparam p = {.cmd = ETHTOOL_GFECPARAM};

    if (ask(fd, name, &p) == 0)
        d->fec = p.active_fec;
}

static uint32_t count_features(int fd, const char *name)
{
    union {
        struct ethtool_sset_info head;
        char room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
    } info = {.head = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES}};

    return ask(fd, name, &info) == 0 && info.head.sset_mask ? info.head.data[0] : 0;
}

static int fill_features(int fd, const char *name, struct ptn_nic_detail *d, struct ptn_err *err)
{
    uint32_t n = count_features(fd, name), blocks = (n + 31) / 32;
    ptn_auto(ptn_freep) struct ethtool_gstrings *names =
        calloc(1, sizeof(*names) + (size_t)n * ETH_GSTRING_LEN);
    ptn_auto(ptn_freep) struct ethtool_gfeatures *on =
        calloc(1, sizeof(*on) + blocks * sizeof(on->features[0]));

    if (!names || !on)
        return ptn_err_memory(err, "features of a link");
    names->cmd = ETHTOOL_GSTRINGS;
    names->string_set = ETH_SS_FEATURES;
    names->len = n;
    on->cmd = ETHTOOL_GFEATURES;
    on->size = blocks;
    if (n == 0 || ask(fd, name, names) < 0 || ask(fd, name, on) < 0)
        return 0;
    for (uint32_t i = 0; i < n && i < names->len && d->n_features < PTN_NIC_FEATURES; i++) {
        const char *text = (const char *)names->data + (size_t)i * ETH_GSTRING_LEN;

        if (text[0] && on->features[i / 32].active >> (i % 32) & 1)
            (void)ptn_text_copy_n(d->features[d->n_features++], sizeof(d->features[0]), text,
                                  ETH_GSTRING_LEN);
    }
    return 0;
}

int ptn_nic_detail_get(const char *name, struct ptn_nic_detail *ret_detail, struct ptn_err *err)
{
    ptn_auto(ptn_closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ptn_nic_detail *d = ret_detail;

    if (fd < 0)
        return ptn_err_errno(err, "open a socket for SIOCETHTOOL");
    memset(d, 0, sizeof(*d));
    d->rx_ring = d->rx_ring_max = d->tx_ring = d->tx_ring_max = -1;
    d->combined_channels = d->combined_channels_max = d->rx_channels = d->tx_channels = -1;
    d->pause_autoneg = d->pause_rx = d->pause_tx = -1;
    fill_rings(fd, name, d);
    fill_channels(fd, name, d);
    fill_pause(fd, name, d);
    fill_fec(fd, name, d);
    return fill_features(fd, name, d, err);
}
