"""Tables of the kernel that a large job fills."""

from __future__ import annotations

from collections.abc import Iterator

from ptnet.checks._facts import placed, serves, several_nodes, sysctl
from ptnet.checks._words import nodes, ranks, who
from ptnet.checks.registry import check
from ptnet.model import Evidence, Finding, Fix, Job

NEARLY = 0.8


@check("ephemeral-exhausted", title="The kernel runs out of ports for connections", family="F16",
       severity="warning", needs=("port_ranges", "socket_counts"), early=True)  # fmt: skip
def ephemeral_exhausted(job: Job) -> Iterator[Finding]:
    """What it looks at
        The number of TCP sockets, those in TIME_WAIT included, and the world size, against
        net.ipv4.ip_local_port_range.

    Why it matters for training
        NCCL and Gloo listen on ports of that range, and every connection takes one: “Address
        already in use” although nobody chose a port.

    Fix
        Widen the range (and keep the master's port out of it).

    False alarms
        Connections to different hosts may share a port.

    Source
        Documentation/networking/ip-sysctl.rst; pytorch/gloo (SO_REUSEADDR).
    """
    for card, snapshot in placed(job):
        ranges, counts = snapshot.port_ranges, snapshot.socket_counts
        if not ranges or not counts or not ranges.ephemeral_first or not ranges.ephemeral_last:
            continue
        size = ranges.ephemeral_last - ranges.ephemeral_first + 1
        used = counts.time_wait + counts.established
        needed = (card.launch.world_size or 1) * (card.launch.local_world_size or 1)
        if used + needed <= NEARLY * size:
            continue
        yield Finding(
            "ephemeral-exhausted",
            "warning",
            f"{snapshot.node}: {used} of {size} ports for connections are in use "
            f"({counts.time_wait} in TIME_WAIT), and the job needs about {needed} more.",
            [snapshot.node],
            evidence=[Evidence("TCP sockets", str(used), f"at most {NEARLY:.0%} of {size}")],
            fixes=[
                Fix(
                    "widen the range",
                    ["sysctl", "-w", "net.ipv4.ip_local_port_range=32768 65535"],
                    needs_root=True,
                    undo=[
                        "sysctl",
                        "-w",
                        f"net.ipv4.ip_local_port_range={ranges.ephemeral_first} "
                        f"{ranges.ephemeral_last}",
                    ],
                )
            ],
        )


@check("listen-backlog-small", title="The store's queue is shorter than the world", family="F16",
       severity="warning", needs=("sysctls",), early=True)  # fmt: skip
def listen_backlog_small(job: Job) -> Iterator[Finding]:
    """What it looks at
        net.core.somaxconn on the node that serves the store, against the world size, and
        net.ipv4.tcp_abort_on_overflow.

    Why it matters for training
        All ranks connect at once. What does not fit the queue waits for a SYN to be sent again, or
        is reset: “Connection reset by peer” at 1,000 ranks. Kernels before 5.4 (EL7, EL8) have 128.

    Fix
        Raise net.core.somaxconn above the world size.

    False alarms
        Ranks that start over several seconds.

    Source
        listen(2); Documentation/networking/ip-sysctl.rst.
    """
    for card, snapshot in placed(job):
        longest = sysctl(snapshot, "net.core.somaxconn")
        world = card.launch.world_size or (card.launch.nnodes or 1)
        if longest is None or not serves(card) or world <= longest:
            continue
        resets = sysctl(snapshot, "net.ipv4.tcp_abort_on_overflow") == 1
        effect = "are reset" if resets else "wait for a second and more"
        yield Finding(
            "listen-backlog-small",
            "warning",
            f"{who(card)}: {world} connect to its store at once, and those beyond "
            f"net.core.somaxconn={longest} {effect}.",
            nodes(card),
            ranks(card),
            evidence=[Evidence("net.core.somaxconn", str(longest), f"{world} or more")],
            fixes=[
                Fix(
                    "raise it",
                    ["sysctl", "-w", f"net.core.somaxconn={max(4096, world)}"],
                    needs_root=True,
                    undo=["sysctl", "-w", f"net.core.somaxconn={longest}"],
                )
            ],
        )


@check("conntrack-full", title="The table of tracked connections is nearly full", family="F16",
       severity="warning", needs=("sysctls",), early=True)  # fmt: skip
def conntrack_full(job: Job) -> Iterator[Finding]:
    """What it looks at
        net.netfilter.nf_conntrack_count against nf_conntrack_max.

    Why it matters for training
        A full table drops packets of new connections: “nf_conntrack: table full, dropping packet”.

    Fix
        Raise nf_conntrack_max, on the host.

    False alarms
        None known.

    Source
        Documentation/networking/nf_conntrack-sysctl.rst.
    """
    for snapshot in job.snapshots:
        used = sysctl(snapshot, "net.netfilter.nf_conntrack_count")
        most = sysctl(snapshot, "net.netfilter.nf_conntrack_max")
        if used is None or not most or used <= NEARLY * most:
            continue
        yield Finding(
            "conntrack-full",
            "warning",
            f"{snapshot.node}: {used} of {most} tracked connections are in use: the kernel will "
            "drop packets of new ones.",
            [snapshot.node],
            evidence=[Evidence("nf_conntrack_count", str(used), f"at most {NEARLY:.0%} of {most}")],
            fixes=[
                Fix(
                    "raise it",
                    ["sysctl", "-w", f"net.netfilter.nf_conntrack_max={max(1048576, 2 * most)}"],
                    needs_root=True,
                    undo=["sysctl", "-w", f"net.netfilter.nf_conntrack_max={most}"],
                )
            ],
        )


@check("conntrack-strict", title="Tracked connections of pods are judged strictly", family="F16",
       severity="note", needs=("place",), early=True)  # fmt: skip
def conntrack_strict(job: Job) -> Iterator[Finding]:
    """What it looks at
        net.netfilter.nf_conntrack_tcp_be_liberal in a container whose link is one end of a veth
        pair.

    Why it matters for training
        Packets that the tracker takes for out of window are marked invalid, and are not translated
        or dropped: “Connection reset by peer” in the middle of the training.

    Fix
        net.netfilter.nf_conntrack_tcp_be_liberal=1 on the host, or the host's network for the pod.

    False alarms
        Most pods never meet it. Silent on one node.

    Source
        Documentation/networking/nf_conntrack-sysctl.rst; kubernetes/kubernetes issue 74839.
    """
    if not several_nodes(job):
        return
    for snapshot in job.snapshots:
        liberal = sysctl(snapshot, "net.netfilter.nf_conntrack_tcp_be_liberal")
        contained = snapshot.place is not None and snapshot.place.container is not None
        veth = any(link.kind == "veth" and link.addresses for link in snapshot.links)
        if liberal != 0 or not contained or not veth:
            continue
        yield Finding(
            "conntrack-strict",
            "note",
            f"{snapshot.node}: connections of this container are tracked, and strictly "
            "(nf_conntrack_tcp_be_liberal=0).",
            [snapshot.node],
            evidence=[Evidence("nf_conntrack_tcp_be_liberal", "0", "1")],
            fixes=[Fix("on the host, set net.netfilter.nf_conntrack_tcp_be_liberal=1")],
        )
