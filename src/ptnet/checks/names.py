"""This host's own name."""

from __future__ import annotations

from collections.abc import Iterator

from ptnet.checks._words import is_loopback, listed
from ptnet.checks.registry import check
from ptnet.model import Evidence, Finding, Fix, Job, Launch


def _several_nodes(job: Job) -> bool:
    launches = [s.launch for s in job.snapshots if s.launch]
    count = max((n.nnodes_max or n.nnodes or 1 for n in launches), default=1)
    return count > 1 or len({s.node for s in job.snapshots}) > 1


def _asks_for_own_name(launch: Launch, own: str) -> bool:
    """Does torchrun compare its endpoint with the addresses of its own name."""
    if launch.unit != "node" or launch.backend != "c10d" or not launch.master_addr:
        return False
    return not is_loopback(launch.master_addr) and launch.master_addr != own


@check("own-name-unresolved", title="The host's own name does not resolve", family="F03",
       needs=("names",), early=True)  # fmt: skip
def own_name_unresolved(job: Job) -> Iterator[Finding]:
    """What it looks at
        getaddrinfo of this host's own name.

    Why it matters for training
        torchrun's c10d rendezvous looks its own name up and raises gaierror when that fails; Gloo
        falls back to loopback, which no other node can reach.

    Fix
        Add the name to /etc/hosts with an address of this host that the other nodes can reach.

    False alarms
        It is a warning where the endpoint is `localhost`, a loopback address or the host's own
        name (torchrun then does not ask), and without torchrun: Gloo's fall-back to loopback works
        on one node.

    Source
        torch/distributed/elastic/rendezvous/utils.py (_matches_machine_hostname);
        ProcessGroupGloo.cpp (createDefaultDevice).
    """
    for snapshot in job.snapshots:
        own = snapshot.names.own if snapshot.names else None
        if own is None or own.error is None:
            continue
        launch = snapshot.launch
        severe = launch is not None and _asks_for_own_name(launch, own.name)
        effect = "torchrun's c10d rendezvous will raise" if severe else "Gloo will use loopback"
        yield Finding(
            "own-name-unresolved",
            "error" if severe else "warning",
            f"{snapshot.node} cannot resolve its own name {own.name} ({own.error_text}): {effect}.",
            [snapshot.node],
            evidence=[Evidence("getaddrinfo", own.error, "an address of this host", own.name)],
            fixes=[
                Fix(
                    f"add a line “ADDRESS {own.name}” to /etc/hosts on {snapshot.node}",
                    file="/etc/hosts",
                    needs_root=True,
                )
            ],
        )


@check("hostname-loopback", title="The host's own name is a loopback address", family="F03",
       severity="note", needs=("names",), early=True)  # fmt: skip
def hostname_loopback(job: Job) -> Iterator[Finding]:
    """What it looks at
        The first address of this host that its own name resolves to, in a job of several nodes.

    Why it matters for training
        Gloo tells the other nodes the first address of the host's own name that it can bind: with
        127.0.1.1, as Debian and Ubuntu write it to /etc/hosts, they connect to themselves. NCCL
        does not look the name up.

    Fix
        Name Gloo's interface with GLOO_SOCKET_IFNAME, or give the name an address that the other
        nodes can reach.

    False alarms
        A job that uses NCCL alone. Silent on one node, and where GLOO_SOCKET_IFNAME is set.

    Source
        torch/csrc/distributed/c10d/ProcessGroupGloo.cpp (createDefaultDevice); hosts(5).
    """
    if not _several_nodes(job):
        return
    named: dict[str, str] = {}
    for snapshot in job.snapshots:
        own = snapshot.names.own if snapshot.names else None
        first = next((a.address for a in own.addresses if a.local is not False), "") if own else ""
        if is_loopback(first) and not snapshot.env.get("GLOO_SOCKET_IFNAME"):
            named[snapshot.node] = first
    if named:
        where = listed([f"{address} on {node}" for node, address in sorted(named.items())])
        yield Finding(
            "hostname-loopback",
            "note",
            f"the host's own name is {where}: Gloo will tell the other nodes this address.",
            sorted(named),
            evidence=[Evidence("getaddrinfo of the own name", where, "an address of a link")],
            fixes=[Fix("set GLOO_SOCKET_IFNAME to the link between the nodes, on all of them")],
        )
