"""This host's own name."""

from __future__ import annotations

from collections.abc import Iterator

from ptnet.checks.registry import check
from ptnet.model import Evidence, Finding, Fix, Job, Snapshot


def _several_nodes(job: Job, snapshot: Snapshot) -> bool:
    launch = snapshot.launch
    count = (launch.nnodes_max or launch.nnodes or 1) if launch else 1
    return count > 1 or len({s.node for s in job.snapshots}) > 1


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
        On one node it is a warning: Gloo's fall-back to loopback works there.

    Source
        torch/distributed/elastic/rendezvous/utils.py (_matches_machine_hostname);
        ProcessGroupGloo.cpp (createDefaultDevice).
    """
    for snapshot in job.snapshots:
        own = snapshot.names.own if snapshot.names else None
        if own is None or own.error is None:
            continue
        launch = snapshot.launch
        c10d = launch is not None and launch.unit == "node" and launch.backend == "c10d"
        severe = c10d and _several_nodes(job, snapshot)
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
