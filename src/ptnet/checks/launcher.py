"""What the launcher's variables and options say."""

from __future__ import annotations

from collections.abc import Iterator

from ptnet.checks._words import nodes, ranks, who
from ptnet.checks.registry import check
from ptnet.model import Evidence, Finding, Fix, Job, Launch


@check("launch-invalid", title="A launcher variable or option has an unusable value", family="F07",
       early=True)  # fmt: skip
def launch_invalid(job: Job) -> Iterator[Finding]:
    """What it looks at
        RANK, WORLD_SIZE, MASTER_PORT and the other variables and options that say who this process
        is and where the ranks meet.

    Why it matters for training
        torch raises on some of them, and waits for ever on others (a port 0 is a random one that
        nobody knows).

    Fix
        Give the value that is expected.

    False alarms
        None known.

    Source
        torch/distributed/rendezvous.py; torch/distributed/elastic/rendezvous/utils.py.
    """
    for card in job.cards:
        for bad in card.launch.invalid:
            yield Finding(
                "launch-invalid",
                "error",
                f"{who(card)}: {bad.variable} is “{bad.value}”; expected {bad.expected}.",
                nodes(card),
                ranks(card),
                evidence=[Evidence(bad.variable, bad.value, bad.expected, bad.variable)],
                fixes=[Fix(f"set {bad.variable} to {bad.expected}")],
            )


def _lacks_launcher(launch: Launch) -> bool:
    """Are there variables of a node, and nothing that makes this process a rank."""
    return launch.launcher == "variables" and launch.rank is None and launch.node_rank is not None


@check("launcher-absent", title="A launcher's variables are set, but no rank", family="F07",
       severity="warning", early=True)  # fmt: skip
def launcher_absent(job: Job) -> Iterator[Finding]:
    """What it looks at
        NODE_RANK and WORLD_SIZE without RANK and LOCAL_RANK.

    Why it matters for training
        They are those of a launcher that is not there: of the image, or of a shell before.
        Lightning takes them for the sign that somebody else starts the other ranks, and waits.

    Fix
        Unset them, or start with the launcher that sets RANK.

    False alarms
        A framework that starts the ranks of its node itself and is told the node's number this way.

    Source
        lightning/fabric/plugins/environments/lightning.py.
    """
    for card in job.cards:
        launch = card.launch
        if not _lacks_launcher(launch):
            continue
        names = sorted(n for n in launch.sources.values() if n.isupper())
        yield Finding(
            "launcher-absent",
            "warning",
            f"{card.node}: {', '.join(names)} set, but not RANK: no launcher made this process a "
            "rank.",
            nodes(card),
            evidence=[Evidence("RANK", "not set", "a rank", "RANK")],
            fixes=[Fix(f"unset {', '.join(names)}, or start with torchrun")],
        )


@check("notebook-alone", title="A notebook is one of several ranks", family="F07",
       severity="warning", early=True)  # fmt: skip
def notebook_alone(job: Job) -> Iterator[Finding]:
    """What it looks at
        RANK and a WORLD_SIZE above 1 in a Python prompt or a notebook.

    Why it matters for training
        init_process_group returns when all ranks have called it. The cell never returns if nobody
        starts the others.

    Fix
        Start the ranks from the command line with torchrun, or from the notebook with a launcher
        that starts all of them.

    False alarms
        Ranks that were started by hand elsewhere.

    Source
        torch.distributed.init_process_group.
    """
    for card in job.cards:
        launch = card.launch
        if not launch.interactive or launch.rank is None or (launch.world_size or 1) < 2:
            continue
        yield Finding(
            "notebook-alone",
            "warning",
            f"{card.node}: this notebook or prompt is rank {launch.rank} of {launch.world_size}, "
            "and waits until somebody starts the others.",
            nodes(card),
            ranks(card),
            evidence=[Evidence("WORLD_SIZE", str(launch.world_size), "1", "WORLD_SIZE")],
            fixes=[
                Fix("start all ranks with torchrun"),
                Fix("or set WORLD_SIZE=1 for a notebook that runs alone"),
            ],
        )


@check(
    "launch-incomplete", title="A variable that torch needs is not set", family="F07", early=True
)
def launch_incomplete(job: Job) -> Iterator[Finding]:
    """What it looks at
        RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT of a process that shall be a rank.

    Why it matters for training
        `init_process_group` raises ValueError without any of them.

    Fix
        Set it, or start with torchrun, which sets all four.

    False alarms
        A script that passes rank and world size itself and meets elsewhere (init_method=, store=).

    Source
        torch/distributed/rendezvous.py (_env_rendezvous_handler).
    """
    for card in job.cards:
        launch = card.launch
        if launch.unit != "rank" or launch.launcher == "none" or _lacks_launcher(launch):
            continue
        bad = {i.variable for i in launch.invalid}
        have = {
            "RANK": launch.rank is not None,
            "WORLD_SIZE": launch.world_size is not None,
            "MASTER_ADDR": launch.master_addr is not None or launch.world_size == 1,
            "MASTER_PORT": launch.master_port is not None or launch.world_size == 1,
        }
        absent = [name for name, there in have.items() if not there and name not in bad]
        if not absent:
            continue
        yield Finding(
            "launch-incomplete",
            "error",
            f"{who(card)}: {', '.join(absent)} not set, and torch needs all of RANK, WORLD_SIZE, "
            "MASTER_ADDR and MASTER_PORT.",
            nodes(card),
            ranks(card),
            evidence=[Evidence(name, "not set", "a value", name) for name in absent],
            fixes=[Fix(f"set {', '.join(absent)}, or start with torchrun")],
        )


@check("launcher-conflict", title="Two launchers' variables disagree", family="F07",
       severity="warning", early=True)  # fmt: skip
def launcher_conflict(job: Job) -> Iterator[Finding]:
    """What it looks at
        Quantities that two sets of variables give, such as WORLD_SIZE and SLURM_NTASKS.

    Why it matters for training
        torch reads RANK and WORLD_SIZE only. Where they are left over from another job or shell,
        each process takes itself for another one.

    Fix
        Unset the variables that are left over.

    False alarms
        A job that uses fewer ranks than it was given tasks, on purpose.

    Source
        The launchers' manuals; torch/distributed/rendezvous.py.
    """
    for card in job.cards:
        for conflict in card.launch.conflicts:
            values = ", ".join(f"{k}={v}" for k, v in conflict.values.items())
            yield Finding(
                "launcher-conflict",
                "warning",
                f"{who(card)}: {conflict.field.replace('_', ' ')} is said twice and differently: "
                f"{values}.",
                nodes(card),
                ranks(card),
                evidence=[Evidence(k, v, None, k) for k, v in conflict.values.items()],
                fixes=[Fix("unset the variable that is left over from another job or shell")],
            )
