"""What Gloo makes of a node's names: the address that it tells the other nodes, and if they meet.

Of two ranks the one with the smaller address listens and the other one connects (torch 2.13, in two
network namespaces: a node that tells 127.0.1.1 meets 10.77.0.2, and not 192.168.7.2). NCCL asks
none of this, so a node with a GPU may never get there.
"""

from __future__ import annotations

from dataclasses import dataclass

from ptnet.checks._facts import host_of, parsed, several_nodes
from ptnet.checks._words import is_loopback
from ptnet.model import Job, Place, Snapshot

FALLBACK = "127.0.0.1"


def told(snapshot: Snapshot) -> str | None:
    """The address; None where it is not known."""
    name = snapshot.env.get("GLOO_SOCKET_IFNAME", "").partition(",")[0]
    if name:
        addresses = [a for link in snapshot.links if link.name == name for a in link.addresses]
        return next((a.address for a in sorted(addresses, key=lambda a: a.family)), None)
    own = snapshot.names.own if snapshot.names else None
    if own is None or own.error == "timeout":
        return None
    return next((a.address for a in own.addresses if a.local is not False), FALLBACK)


def _order(address: str) -> tuple[int, bytes]:
    known = parsed(address)
    return (known.version, known.packed) if known else (0, b"")


@dataclass(frozen=True)
class Fate:
    """What comes of a node that tells the others loopback."""

    address: str
    severity: str
    effect: str


def fates(job: Job) -> dict[int, Fate]:
    """By the number of the snapshot, in a job of several nodes."""
    if not several_nodes(job):
        return {}
    tell = ((n, told(s)) for n, s in enumerate(job.snapshots))
    known = {n: address for n, address in tell if address is not None}
    loopbacks = {n: address for n, address in known.items() if is_loopback(address)}
    largest = max((_order(a) for n, a in known.items() if n not in loopbacks), default=None)
    found = {}
    astray = {host_of(job.snapshots[n]) for n in loopbacks}
    for n, address in loopbacks.items():
        fails = len(astray) > 1 or (largest is not None and largest > _order(address))
        found[n] = _fate(address, fails, largest is not None, job.snapshots[n].place)
    return found


def _fate(address: str, fails: bool, others: bool, place: Place | None) -> Fate:
    severity = "warning"
    if fails:
        effect = "Gloo's connections from the other nodes end at themselves"
        severity = "error" if place and place.gpus == 0 else "warning"
    elif others:
        effect = "Gloo works only while the other nodes' addresses are smaller than this one"
    else:
        effect = "Gloo tells the other nodes that address"
    if place and place.gpus:
        return Fate(address, "note", f"{effect}; NCCL does not ask for it")
    return Fate(address, severity, effect)
