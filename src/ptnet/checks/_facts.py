"""What several checks ask of a job: whose snapshot is whose, who serves, how many nodes."""

from __future__ import annotations

import ipaddress
import re
from collections import defaultdict
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address

from ptnet.checks._words import number
from ptnet.model import Job, Launch, Names, RankCard, Snapshot


def placed(job: Job) -> Iterator[tuple[RankCard, Snapshot]]:
    """The participants whose node's snapshot is there; nodes may share a name."""
    by_node: dict[str, list[Snapshot]] = defaultdict(list)
    for snapshot in job.snapshots:
        by_node[snapshot.node].append(snapshot)
    for card in job.cards:
        for snapshot in by_node[card.node]:
            boot_id = snapshot.place.boot_id if snapshot.place else None
            if boot_id == card.boot_id or not card.boot_id:
                yield card, snapshot
                break


def names_of(job: Job, node: str) -> Names | None:
    """What a node knows of names."""
    return next((s.names for s in job.snapshots if s.node == node), None)


Host = tuple[str, str | None, int | None]
"""What tells hosts apart that share a name: the name, the boot id, the network namespace."""


def host(card: RankCard) -> Host:
    """Where a participant runs."""
    return card.node, card.boot_id, card.netns


def host_of(snapshot: Snapshot) -> Host:
    """Where a snapshot was taken; several ranks of one host may each have taken one."""
    place = snapshot.place
    if place is None:
        return snapshot.node, None, None
    return snapshot.node, place.boot_id, place.namespaces.get("net")


def several_nodes(job: Job) -> bool:
    """Is it known that the job has more than one node."""
    launches = [s.launch for s in job.snapshots if s.launch] + [c.launch for c in job.cards]
    if any((launch.nnodes_max or launch.nnodes or 1) > 1 for launch in launches):
        return True
    hosts = {host_of(s) for s in job.snapshots}
    return len(hosts) > 1 or len({host(c) for c in job.cards}) > 1


def serves(card: RankCard) -> bool:
    """Must this participant's process open the master's port, whatever happens."""
    launch = card.launch
    if is_c10d(launch):
        return bool(launch.is_host)
    return number(launch) == 0 and not launch.agent_store


def is_c10d(launch: Launch) -> bool:
    """Is this a node in front of torchrun, whose agents meet on a c10d store."""
    return launch.backend == "c10d"


def parsed(address: str) -> IPv4Address | IPv6Address | None:
    """The address without its zone; None for a name, and for what stands in a file and is none."""
    try:
        return ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None


def is_address(host: str) -> bool:
    """Is the host an address, not a name."""
    return parsed(host) is not None


def master_addresses(card: RankCard, snapshot: Snapshot) -> list[str]:
    """The master's addresses as this node sees them; none where nobody has looked."""
    if card.reach is not None and card.reach.resolution is not None:
        return [a.address for a in card.reach.resolution.addresses]
    host = card.launch.master_addr
    if host == "localhost":
        return ["127.0.0.1"]
    if host and is_address(host):
        return [host]
    known = snapshot.names.master if snapshot.names else None
    return [a.address for a in known.addresses] if known and known.name == host else []


def owns(snapshot: Snapshot, address: str) -> bool:
    """Is it an address of a link of that node."""
    return any(a.address == address for link in snapshot.links for a in link.addresses)


def sysctl(snapshot: Snapshot, key: str) -> int | None:
    """A setting that is one number, where it is known."""
    value = next((s.value for s in snapshot.sysctls if s.key == key), None)
    return int(value) if value is not None and re.fullmatch(r"-?\d{1,18}", value) else None
