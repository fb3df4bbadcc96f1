"""The host's own name: what Gloo and torchrun make of it."""

from __future__ import annotations

from collections.abc import Iterator

from ptnet.checks import _gloo
from ptnet.checks._facts import is_c10d
from ptnet.checks._hosts import add_line
from ptnet.checks._words import is_loopback
from ptnet.checks.registry import check
from ptnet.model import Evidence, Finding, Fix, Job, Launch, Resolution, Snapshot

IFNAME = Fix("or name the link between the nodes with GLOO_SOCKET_IFNAME, on all of them")


def _asked(launch: Launch | None, own: str) -> str | None:
    """What torchrun does with the name, where it needs it."""
    if launch is None or not is_c10d(launch):
        return None
    if not launch.local_addr:
        return "torchrun tells the ranks this name as MASTER_ADDR, and they wait for it"
    host = launch.master_addr or "localhost"
    if launch.is_host is None and not is_loopback(host) and host != own:
        return "torchrun's c10d rendezvous raises"
    return None


def _own(snapshot: Snapshot) -> Resolution | None:
    return snapshot.names.own if snapshot.names else None


ONE_NODE = _gloo.Fate("", "note", "Gloo uses loopback, which is enough on one node")


@check("own-name-unresolved", title="The host's own name does not resolve", family="F03",
       needs=("names",), early=True)  # fmt: skip
def own_name_unresolved(job: Job) -> Iterator[Finding]:
    """What it looks at
        getaddrinfo of this host's own name.

    Why it matters for training
        torchrun's c10d rendezvous (and --standalone) tells the ranks the name of the first node as
        MASTER_ADDR, and looks its own name up: the ranks wait for ever, or it raises gaierror. Gloo
        falls back to 127.0.0.1, which no other node can reach.

    Fix
        Add the name to /etc/hosts with an address of this host that the other nodes can reach.

    False alarms
        It is an error for torchrun with c10d, and on several nodes without a GPU, since they need
        Gloo; with GPUs and on one node a note.

    Source
        torch/distributed/elastic/rendezvous/utils.py (_matches_machine_hostname);
        ProcessGroupGloo.cpp (createDefaultDevice). Seen with torch 2.13 in two namespaces.
    """
    fates = _gloo.fates(job)
    for n, snapshot in enumerate(job.snapshots):
        own = _own(snapshot)
        if own is None or own.error is None:
            continue
        fate = fates.get(n, ONE_NODE)
        asked = _asked(snapshot.launch, own.name)
        severity, effect = ("error", asked) if asked else (fate.severity, fate.effect)
        yield Finding(
            "own-name-unresolved",
            severity,
            f"{snapshot.node} cannot resolve its own name {own.name} ({own.error_text}): {effect}.",
            [snapshot.node],
            evidence=[Evidence("getaddrinfo", own.error, "an address of this host", own.name)],
            fixes=[add_line(own.name, snapshot.node)],
        )


@check("own-name-not-local", title="The host's own name is another host's address", family="F03",
       needs=("names",), early=True)  # fmt: skip
def own_name_not_local(job: Job) -> Iterator[Finding]:
    """What it looks at
        The addresses of this host's own name: can a socket of this host be bound to one of them.

    Why it matters for training
        Gloo falls back to 127.0.0.1, which no other node can reach; torchrun tells the ranks the
        name of the first node, which leads them elsewhere.

    Fix
        Correct the name in /etc/hosts or DNS.

    False alarms
        On one node and with GPUs a note. An address that is forwarded to this host.

    Source
        ProcessGroupGloo.cpp (createDefaultDevice). Seen with torch 2.13 in two namespaces.
    """
    fates = _gloo.fates(job)
    for n, snapshot in enumerate(job.snapshots):
        own = _own(snapshot)
        if own is None or not own.addresses or any(a.local is not False for a in own.addresses):
            continue
        fate = fates.get(n, ONE_NODE)
        first = own.addresses[0].address
        yield Finding(
            "own-name-not-local",
            fate.severity,
            f"{snapshot.node}'s own name {own.name} is {first}, which is no address of "
            f"{snapshot.node}: {fate.effect}.",
            [snapshot.node],
            evidence=[Evidence("bind", first, "an address of this host", own.name)],
            fixes=[add_line(own.name, snapshot.node), IFNAME],
        )


@check("hostname-loopback", title="The host's own name is a loopback address", family="F03",
       needs=("names",), early=True)  # fmt: skip
def hostname_loopback(job: Job) -> Iterator[Finding]:
    """What it looks at
        The address that Gloo tells the other nodes of this one: the first of the host's own name
        that can be bound, or that of GLOO_SOCKET_IFNAME.

    Why it matters for training
        With 127.0.1.1, as Debian and Ubuntu write it to /etc/hosts, the others connect to
        themselves. Of two ranks the one with the smaller address listens, so that it happens to
        work in 10.0.0.0/8, and not in 172.16.0.0/12 or 192.168.0.0/16.

    Fix
        Name Gloo's interface with GLOO_SOCKET_IFNAME, or give the name an address that the other
        nodes can reach.

    False alarms
        It is a note where there is a GPU: NCCL does not look the name up. Silent on one node.

    Source
        ProcessGroupGloo.cpp (createDefaultDevice); gloo/transport/tcp/pair.cc; hosts(5). Seen with
        torch 2.13 in two namespaces.
    """
    for n, fate in _gloo.fates(job).items():
        snapshot = job.snapshots[n]
        own = _own(snapshot)
        if own is None or all(a.address != fate.address for a in own.addresses):
            continue  # the name is at fault in another way
        yield Finding(
            "hostname-loopback",
            fate.severity,
            f"{snapshot.node}'s own name {own.name} is {fate.address}: {fate.effect}.",
            [snapshot.node],
            evidence=[Evidence("getaddrinfo", fate.address, "an address of a link", own.name)],
            fixes=[Fix("set GLOO_SOCKET_IFNAME to the link between the nodes, on all of them")],
        )
