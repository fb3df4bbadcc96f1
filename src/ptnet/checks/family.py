"""IPv4 and IPv6: families that do not meet, and how literals are written."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from ptnet.checks import _gloo
from ptnet.checks._facts import is_address, master_addresses, parsed, placed
from ptnet.checks._words import is_loopback, listed, master_option, nodes, ranks, who
from ptnet.checks.registry import check
from ptnet.model import Evidence, Finding, Fix, Job, Snapshot

NAMES = {4: "IPv4", 6: "IPv6"}


def _version(address: str) -> int:
    known = parsed(address)
    return known.version if known else 0


@check("gloo-family-mixed", title="Some nodes tell Gloo an IPv4 address, others an IPv6 one",
       family="F06", needs=("names",), early=True)  # fmt: skip
def gloo_family_mixed(job: Job) -> Iterator[Finding]:
    """What it looks at
        The family of the address that Gloo tells the other nodes, on each node: the first of the
        host's own name that can be bound, or that of GLOO_SOCKET_IFNAME.

    Why it matters for training
        Both ends of a pair need one family: Gloo ends with “ss1.ss_family == ss2.ss_family. 2 vs
        10”.

    Fix
        Give all nodes' names addresses of one family, or name a link that has it with
        GLOO_SOCKET_IFNAME.

    False alarms
        It is a note where every node has a GPU: NCCL does not look the name up.

    Source
        gloo/transport/tcp/device.cc. Seen with torch 2.13 in two namespaces.
    """
    by_family: dict[int, list[Snapshot]] = defaultdict(list)
    for snapshot in job.snapshots:
        version = _version(_gloo.told(snapshot) or "")
        if version:
            by_family[version].append(snapshot)
    if len(by_family) < 2:
        return
    parts = [f"{NAMES[v]} on {listed([s.node for s in of], 4)}" for v, of in by_family.items()]
    everyone = [s for of in by_family.values() for s in of]
    may_need = not all(s.place and s.place.gpus for s in everyone)
    yield Finding(
        "gloo-family-mixed",
        "error" if may_need else "note",
        f"Gloo would use {' but '.join(sorted(parts))}: it cannot connect one family to the other.",
        sorted({s.node for s in everyone}),
        evidence=[Evidence("getaddrinfo of the own name", "; ".join(parts), "one family")],
        fixes=[Fix("set GLOO_SOCKET_IFNAME to a link that has one family on all nodes")],
    )


def _families(snapshot: Snapshot) -> set[int]:
    """Of the addresses by which the node can speak to others."""
    found = {
        _version(a.address)
        for link in snapshot.links
        for a in link.addresses
        if a.scope == "global" and not is_loopback(a.address)
    }
    off = {0, 6} if snapshot.place and snapshot.place.ipv6 is False else {0}
    return found - off


@check("master-family-absent", title="The master's address has a family that this node lacks",
       family="F06", needs=("links", "names"), early=True)  # fmt: skip
def master_family_absent(job: Job) -> Iterator[Finding]:
    """What it looks at
        The families of the master's addresses, as this node resolves them, against those of this
        node's own addresses.

    Why it matters for training
        A node without an IPv6 address cannot reach a name that has nothing else: torch tries until
        its time-out.

    Fix
        Give an address of the other family, or give the node an address.

    False alarms
        A translator (NAT64) that this node reaches by an address of link scope.

    Source
        ipv6(7); connect(2), ENETUNREACH. Seen with torch 2.13 in two namespaces.
    """
    for card, snapshot in placed(job):
        addresses = [a for a in master_addresses(card, snapshot) if "%" not in a]
        theirs = {_version(a) for a in addresses} - {0}
        mine = _families(snapshot)
        works = card.reach is not None and card.reach.outcome == "ok"
        if not theirs or not mine or theirs & mine or works or any(map(is_loopback, addresses)):
            continue
        option = master_option(card.launch)
        wanted = " and ".join(NAMES[v] for v in sorted(theirs))
        yield Finding(
            "master-family-absent",
            "error",
            f"{who(card)}: the master {card.launch.master_addr} has only {wanted} "
            f"({listed(addresses, 2)}), and {card.node} has no such address.",
            nodes(card),
            ranks(card),
            evidence=[Evidence("addresses", listed(addresses, 2), "a family of this node", option)],
            fixes=[Fix(f"give an address of {NAMES[min(mine)]} with {option} on all nodes")],
        )


@check("address-needs-brackets", title="An IPv6 address with a port has no brackets", family="F06",
       early=True)  # fmt: skip
def address_needs_brackets(job: Job) -> Iterator[Finding]:
    """What it looks at
        NCCL_COMM_ID and PET_RDZV_ENDPOINT with an IPv6 address.

    Why it matters for training
        Without brackets nobody can tell the port from the address: NCCL and torchrun take another
        address or end.

    Fix
        Write [ADDRESS]:PORT.

    False alarms
        None known.

    Source
        NCCL socket.cc (ncclSocketGetAddrFromString); torch/distributed/elastic/rendezvous/utils.py.
        Seen with libnccl 2.32.
    """
    for snapshot in job.snapshots:
        for name in ("NCCL_COMM_ID", "PET_RDZV_ENDPOINT"):
            value = snapshot.env.get(name, "")
            found = re.fullmatch(r"(.*:.*):(\d{1,5})", value)
            if found is None or not is_address(found[1]):
                continue
            right = f"[{found[1]}]:{found[2]}"
            yield Finding(
                "address-needs-brackets",
                "error",
                f"{snapshot.node}: {name} is {value}; an IPv6 address with a port is {right}.",
                [snapshot.node],
                evidence=[Evidence(name, value, right, name)],
                fixes=[Fix(f"set {name} to {right}")],
            )


@check("store-v6-old-torch", title="This torch's store may not listen on IPv6", family="F06",
       severity="warning", early=True)  # fmt: skip
def store_v6_old_torch(job: Job) -> Iterator[Finding]:
    """What it looks at
        A master with an IPv6 address alone, and a torch before 1.11.

    Why it matters for training
        That store listened on the family of the first wildcard address only, mostly IPv4: the
        others are refused.

    Fix
        A newer torch, or an IPv4 address of the master.

    False alarms
        A host whose first wildcard address is IPv6.

    Source
        torch/csrc/distributed/c10d/socket.cpp, since 1.11.
    """
    for card, snapshot in placed(job):
        version = re.match(r"(\d+)\.(\d+)", snapshot.torch or "")
        addresses = master_addresses(card, snapshot)
        if not version or not addresses or any(_version(a) == 4 for a in addresses):
            continue
        if (int(version[1]), int(version[2])) >= (1, 11):
            continue
        yield Finding(
            "store-v6-old-torch",
            "warning",
            f"{who(card)}: the master {card.launch.master_addr} is an IPv6 address, on which the "
            f"store of torch {snapshot.torch} may not listen.",
            nodes(card),
            ranks(card),
            evidence=[Evidence("torch", snapshot.torch or "", "1.11 or later")],
            fixes=[Fix("use a newer torch"), Fix("or give the master's IPv4 address")],
        )
