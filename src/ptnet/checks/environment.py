"""Variables of the libraries over the nodes."""

from __future__ import annotations

from collections.abc import Iterator

from ptnet.checks._words import listed
from ptnet.checks.registry import check
from ptnet.model import Evidence, Finding, Fix, Job

IFNAMES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "TP_SOCKET_IFNAME")


@check("socket-ifname-not-everywhere", title="An interface is named on some nodes only",
       family="F02", severity="warning", needs=("everybody",))  # fmt: skip
def socket_ifname_not_everywhere(job: Job) -> Iterator[Finding]:
    """What it looks at
        GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME and TP_SOCKET_IFNAME on all nodes.

    Why it matters for training
        It was exported in one shell, and the launcher (Ray, ssh, mpirun) did not carry it to the
        others: these choose their interface by themselves, often another one.

    Fix
        Set it on all nodes, before the launcher's daemon starts.

    False alarms
        Nodes that need no hint, because they have one link.

    Source
        NCCL and torch's environment variables; ray start.
    """
    for name in IFNAMES:
        given = sorted({s.node for s in job.snapshots if s.env.get(name)})
        absent = sorted({s.node for s in job.snapshots if not s.env.get(name)})
        if not given or not absent:
            continue
        yield Finding(
            "socket-ifname-not-everywhere",
            "warning",
            f"{name} is set on {listed(given, 4)}, and not on {listed(absent, 4)}.",
            sorted({*given, *absent}),
            evidence=[Evidence(name, f"not set on {listed(absent, 4)}", "on all nodes", name)],
            fixes=[Fix(f"set {name} on all nodes, before the launcher's daemon starts there")],
        )
