"""The master's port: held, not permitted, one that the kernel gives away."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from ptnet.checks._facts import host, placed, serves
from ptnet.checks._reached import endpoint_check, finding, outcomes
from ptnet.checks._words import nodes, number, port_option, ranks, who
from ptnet.checks.registry import check
from ptnet.model import Evidence, Finding, Fix, Job, Listener, RankCard, Snapshot

DEFAULTS = (29500, 29400)
"""Of torchrun: static and MASTER_PORT, and c10d."""


def _servers(job: Job) -> Iterator[tuple[RankCard, Snapshot, int]]:
    """The participants that must open a port and have not tried yet, or that were not asked to."""
    for card, snapshot in placed(job):
        if serves(card) and card.launch.master_port and card.reach is None:
            yield card, snapshot, card.launch.master_port


def _held(job: Job) -> Iterator[tuple[RankCard, int, Listener | None]]:
    for card, reach in outcomes(job, "port-busy"):
        yield card, reach.port, reach.holder
    for card, snapshot, port in _servers(job):
        held = next((one for one in snapshot.listeners if one.port == port), None)
        if held and (held.pid is None or held.pid != card.pid):
            yield card, port, held


def _holder(held: Listener | None) -> str:
    if held is None or held.pid is None:
        return "a process that this user cannot see"
    words = f"{held.command or 'a process'} (pid {held.pid}, uid {held.uid})"
    left = ", whose parent has ended: left over from an earlier job"
    return words + (left if held.ppid == 1 and "python" in (held.command or "") else "")


@endpoint_check(
    "master-port-busy", title="The master's port is held by another program", family="F04"
)
def master_port_busy(job: Job) -> Iterator[Finding]:
    """What it looks at
        The listeners of the node that must serve the rendezvous store, and their owner.

    Why it matters for training
        The store cannot open its port: the master ends at once with EADDRINUSE, and all other nodes
        wait for it, or talk to the stranger.

    Fix
        Choose another port on all nodes, or end the program that holds this one.

    False alarms
        None known: a port in LISTEN on any address of this host cannot be opened again.

    Source
        bind(2), EADDRINUSE; torch/csrc/distributed/c10d/TCPStoreLibUvBackend.cpp.
    """
    for card, port, held in _held(job):
        fixes = [
            Fix(f"give another port with {port_option(card.launch)}, the same on all nodes"),
            Fix(f"or see who holds it on {card.node}", ["ss", "-ltnp", f"sport = :{port}"]),
        ]
        if held and held.ppid == 1:
            fixes.append(Fix("or end it", ["kill", str(held.pid)], risk="look at it first"))
        yield finding(
            "master-port-busy",
            card,
            f"{who(card)} must open port {port} for the rendezvous, but it is held by "
            f"{_holder(held)}.",
            Evidence("listener", f"{held.address if held else '?'}:{port}", "free", "sock_diag"),
            *fixes,
        )


@endpoint_check(
    "master-port-not-permitted", title="The master's port needs a privilege", family="F04"
)
def master_port_not_permitted(job: Job) -> Iterator[Finding]:
    """What it looks at
        The errno of the bind to the rendezvous port; before it, the port against
        net.ipv4.ip_unprivileged_port_start and CAP_NET_BIND_SERVICE.

    Why it matters for training
        A port below that limit cannot be opened by an ordinary user: the store never listens.

    Fix
        Choose a port from 1024 on, such as 29500.

    False alarms
        SELinux may refuse a port above 1024 with the same errno; another port helps there too.

    Source
        bind(2), EACCES; Documentation/networking/ip-sysctl.rst.
    """
    tried = [(card, reach.port) for card, reach in outcomes(job, "not-permitted")]
    for card, snapshot, port in _servers(job):
        ranges, place = snapshot.port_ranges, snapshot.place
        if ranges and place and port < (ranges.unprivileged_start or 0) and not place.cap_net_bind:
            tried.append((card, port))
    for card, port in tried:
        yield finding(
            "master-port-not-permitted",
            card,
            f"{who(card)} may not open port {port} for the rendezvous: permission denied.",
            Evidence("bind", "EACCES", "permitted", "bind"),
            Fix(f"give a port from 1024 on with {port_option(card.launch)}, the same on all nodes"),
        )


@check("master-port-ephemeral", title="The kernel may give the master's port away", family="F04",
       severity="warning", needs=("port_ranges",), early=True)  # fmt: skip
def master_port_ephemeral(job: Job) -> Iterator[Finding]:
    """What it looks at
        The port that this node must open, against net.ipv4.ip_local_port_range and
        ip_local_reserved_ports.

    Why it matters for training
        The kernel gives ports of that range to outgoing connections: now and then one of them has
        it already, and the store ends with EADDRINUSE. Scripts that derive a port from a job id do
        this.

    Fix
        Choose a port below the range, or reserve it.

    False alarms
        A host that opens few connections may never meet it.

    Source
        Documentation/networking/ip-sysctl.rst; NVIDIA/pyxis and others that derive the port.
    """
    for card, snapshot in placed(job):
        port, ranges = card.launch.master_port, snapshot.port_ranges
        if not serves(card) or not port or not ranges or not ranges.ephemeral_first:
            continue
        first, last = ranges.ephemeral_first, ranges.ephemeral_last or 65535
        if not first <= port <= last or any(a <= port <= b for a, b in ranges.reserved):
            continue
        yield Finding(
            "master-port-ephemeral",
            "warning",
            f"{who(card)}: port {port} lies in {first}-{last}, from which the kernel takes ports "
            "for outgoing connections: now and then it will be taken.",
            nodes(card),
            ranks(card),
            evidence=[Evidence("port", str(port), f"below {first}", "ip_local_port_range")],
            fixes=[
                Fix(f"give a port below {first}, such as 29500, with {port_option(card.launch)}"),
                Fix(
                    "or reserve it",
                    ["sysctl", "-w", f"net.ipv4.ip_local_reserved_ports={port}"],
                    needs_root=True,
                    undo=["sysctl", "-w", "net.ipv4.ip_local_reserved_ports="],
                    risk="give the ports that are reserved already with it",
                ),
            ],
        )


@check("default-port-busy", title="torchrun's default port is held here", family="F04",
       severity="note", needs=("listeners",), early=True)  # fmt: skip
def default_port_busy(job: Job) -> Iterator[Finding]:
    """What it looks at
        Listeners on 29500 and 29400 while this job was given another port, or none.

    Why it matters for training
        A job that is started without a port of its own will not get it; libraries that spawn their
        own ranks take 29500 whatever MASTER_PORT says.

    Fix
        Give each job of a host its own port.

    False alarms
        The other job is meant to run there. Silent in the ranks of torchrun, whose agent it is.

    Source
        torch/distributed/run.py; torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py.
    """
    for snapshot in job.snapshots:
        launch = snapshot.launch
        if launch and (launch.agent_store or launch.master_port in DEFAULTS):
            continue  # it is this very job's
        for held in snapshot.listeners:
            if held.port not in DEFAULTS:
                continue
            yield Finding(
                "default-port-busy",
                "note",
                f"{snapshot.node}: torchrun's default port {held.port} is held by {_holder(held)}.",
                [snapshot.node],
                evidence=[Evidence("listener", f"{held.address}:{held.port}", "free")],
                fixes=[Fix("give each job of a host its own port with --master-port")],
            )


def _comm_id_port(snapshot: Snapshot) -> int | None:
    found = re.fullmatch(r".*:(\d{1,5})", snapshot.env.get("NCCL_COMM_ID", ""))
    return int(found[1]) if found else None


@check("port-planned-twice", title="Two servers are to open one port", family="F04", early=True)
def port_planned_twice(job: Job) -> Iterator[Finding]:
    """What it looks at
        The ports that the participants of one host must open: the stores of two jobs, and the port
        of NCCL_COMM_ID beside MASTER_PORT.

    Why it matters for training
        The second one ends with EADDRINUSE.

    Fix
        Give each its own port.

    False alarms
        Two jobs that run one after the other.

    Source
        bind(2); NCCL bootstrap.cc (NCCL_COMM_ID). Seen with two torchruns on one host.
    """
    planned: dict[tuple[object, int], list[RankCard]] = defaultdict(list)
    for card, snapshot in placed(job):
        port = card.launch.master_port
        if not serves(card) or not port:
            continue
        planned[host(card), port].append(card)
        if _comm_id_port(snapshot) == port:
            yield Finding(
                "port-planned-twice",
                "warning",
                f"{who(card)}: NCCL_COMM_ID and the rendezvous have one port, {port}: one of the "
                "two will find it taken.",
                nodes(card),
                ranks(card),
                evidence=[Evidence("NCCL_COMM_ID", str(port), f"not {port}", "NCCL_COMM_ID")],
                fixes=[Fix("unset NCCL_COMM_ID: torch does not need it")],
            )
    for (_, port), cards in planned.items():
        runs = {c.launch.run_id for c in cards}
        if len(runs) < 2:
            continue
        yield Finding(
            "port-planned-twice",
            "error",
            f"{len(runs)} jobs are to open port {port} on {cards[0].node}.",
            nodes(*cards),
            [],
            evidence=[
                Evidence("port", str(port), "a port for each job", port_option(cards[0].launch))
            ],
            fixes=[Fix(f"give each job its own port with {port_option(cards[0].launch)}")],
        )


@check("elastic-stale-store", title="This torch restarts with keys of the earlier attempt",
       family="F04", severity="note", early=True)  # fmt: skip
def elastic_stale_store(job: Job) -> Iterator[Finding]:
    """What it looks at
        torch 2.4 and 2.5 in a torchrun job with restarts, whose ranks share the agents' store.

    Why it matters for training
        After a restart NCCL may read the address of the attempt before: “Software caused connection
        abort”.

    Fix
        TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 on all nodes, or torch 2.6.

    False alarms
        A job that is never restarted.

    Source
        pytorch/pytorch issue 135712, pull requests 128096 and 135957.
    """
    for card, snapshot in placed(job):
        restarts = snapshot.env.get("TORCHELASTIC_MAX_RESTARTS", "0")
        affected = re.match(r"2\.[45](\.|$)", snapshot.torch or "")
        shared = snapshot.env.get("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "0") != "1"
        if not affected or not shared or restarts == "0" or number(card.launch) not in (0, None):
            continue
        yield Finding(
            "elastic-stale-store",
            "note",
            f"{who(card)}: torch {snapshot.torch} may meet keys of the earlier attempt in the "
            "store after a restart.",
            nodes(card),
            ranks(card),
            evidence=[Evidence("torch", snapshot.torch or "", "2.6 or later")],
            fixes=[Fix("set TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 on all nodes, or use torch 2.6")],
        )
