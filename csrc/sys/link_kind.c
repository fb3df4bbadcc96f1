/* SPDX-License-Identifier: MIT */
/* Of what sort is a link: IFLA_INFO_KIND and the hardware type of RTM_GETLINK. */
#include <net/if_arp.h>
#include <string.h>

#include "base/auto.h"
#include "sys/link.h"

/* Kinds that the kernel calls otherwise than people do. */
static const struct {
    const char *info_kind, *kind;
} kinds[] = {
    {"ipip", "tunnel"},     {"sit", "tunnel"},    {"gre", "tunnel"},       {"gretap", "tunnel"},
    {"ip6gre", "tunnel"},   {"ip6tnl", "tunnel"}, {"vti", "tunnel"},       {"vti6", "tunnel"},
    {"geneve", "tunnel"},   {"erspan", "tunnel"}, {"ip6gretap", "tunnel"}, {"ip6erspan", "tunnel"},
    {"macvtap", "macvlan"}, {"ipvtap", "ipvlan"}, {"ipoib", "ib"},
};

const char *ptn_link_kind(const struct ptn_link *link)
{
    for (size_t i = 0; i < PTN_COUNT(kinds); i++)
        if (strcmp(link->info_kind, kinds[i].info_kind) == 0)
            return kinds[i].kind;
    if (link->info_kind[0])
        return link->info_kind;
    if (link->is_wireless)
        return "wireless";
    switch (link->type) {
    case ARPHRD_LOOPBACK:
        return "loopback";
    case ARPHRD_INFINIBAND:
        return "ib";
    case ARPHRD_TUNNEL: /* tunl0, sit0, … of kernels that give them no IFLA_INFO_KIND */
    case ARPHRD_TUNNEL6:
    case ARPHRD_SIT:
    case ARPHRD_IPGRE:
        return "tunnel";
    default:
        return "physical";
    }
}

bool ptn_link_has_device(const struct ptn_link *link)
{
    /* IPoIB's ports are hardware, and yet the kernel gives them a kind */
    if (link->type == ARPHRD_INFINIBAND || link->pci_address[0])
        return true;
    return !link->info_kind[0] && link->type != ARPHRD_LOOPBACK;
}
