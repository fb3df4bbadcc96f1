"""What tells the nodes of a job apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ptnet.checks._facts import host_of, several_nodes
from ptnet.checks._words import listed, plural
from ptnet.checks.registry import check
from ptnet.model import Evidence, Finding, Fix, Job, Snapshot

NOBODY = ("localhost", "localhost.localdomain", "localhost6", "(none)")


@check("hostname-duplicate", title="Several nodes have one host name", family="F03",
       severity="warning", early=True)  # fmt: skip
def hostname_duplicate(job: Job) -> Iterator[Finding]:
    """What it looks at
        The host names of all nodes, and hosts that are called localhost.

    Why it matters for training
        torchrun tells the ranks the name of the first node, which leads each node to itself. NCCL
        takes two containers of one host and one name for one host, and tries shared memory between
        them. Nobody can tell the nodes apart in a log.

    Fix
        Give each node its own host name.

    False alarms
        None known.

    Source
        NCCL utils.cc (getHostHash); torch/distributed/elastic/agent.
    """
    by_name: dict[str, list[Snapshot]] = defaultdict(list)
    for snapshot in job.snapshots:
        if snapshot.names and snapshot.names.hostname:
            by_name[snapshot.names.hostname.lower()].append(snapshot)
    for name, snapshots in by_name.items():
        count = len({host_of(s)[1:] for s in snapshots})
        if count > 1:
            what = f"{plural(count, 'node')} are called {name}"
        elif name in NOBODY and several_nodes(job):
            what = f"a node is called {name}, which is every node's name for itself"
        else:
            continue
        yield Finding(
            "hostname-duplicate",
            "warning",
            f"{what}: torchrun, NCCL and the logs cannot tell it from others.",
            sorted({s.node for s in snapshots}),
            evidence=[Evidence("host name", name, "a name of its own", "gethostname")],
            fixes=[
                Fix(
                    "give each node its own name",
                    ["hostnamectl", "set-hostname", "NAME"],
                    needs_root=True,
                    undo=["hostnamectl", "set-hostname", name],
                )
            ],
        )


@check("host-identity-collision", title="NCCL_HOSTID makes several hosts one", family="F03",
       severity="warning", early=True)  # fmt: skip
def host_identity_collision(job: Job) -> Iterator[Finding]:
    """What it looks at
        NCCL_HOSTID on nodes with different kernels.

    Why it matters for training
        It replaces the host name and boot id by which NCCL tells hosts apart: ranks of two machines
        with one value try peer-to-peer and shared memory between them.

    Fix
        Unset it, or give each host its own value.

    False alarms
        None known.

    Source
        NCCL utils.cc (getHostHash).
    """
    by_id: dict[str, list[Snapshot]] = defaultdict(list)
    for snapshot in job.snapshots:
        if snapshot.env.get("NCCL_HOSTID"):
            by_id[snapshot.env["NCCL_HOSTID"]].append(snapshot)
    for value, snapshots in by_id.items():
        if len({host_of(s)[1] for s in snapshots}) < 2:
            continue
        names = sorted({s.node for s in snapshots})
        yield Finding(
            "host-identity-collision",
            "warning",
            f"NCCL_HOSTID is {value} on {listed(names, 4)}: NCCL takes them for one host.",
            names,
            evidence=[Evidence("NCCL_HOSTID", value, "a value for each host", "NCCL_HOSTID")],
            fixes=[Fix("unset NCCL_HOSTID")],
        )
