"""The participants against each other: ranks, world sizes, who is missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ptnet.checks._facts import host
from ptnet.checks._words import (
    is_loopback,
    kind,
    listed,
    nodes,
    number,
    plural,
    rank_option,
    ranks,
    spans,
    who,
)
from ptnet.checks.registry import check, missing
from ptnet.model import Evidence, Finding, Fix, Job, Launch, RankCard


@check(
    "rank-duplicate", title="A rank is given twice", family="F07", needs=("everybody",), early=True
)
def rank_duplicate(job: Job) -> Iterator[Finding]:
    """What it looks at
        The ranks (or node ranks, in front of torchrun) of all participants.

    Why it matters for training
        Two processes with one rank overwrite each other's keys in the store, another rank is
        missing, and all wait until the time-out.

    Fix
        Give each process its own rank.

    False alarms
        None known.

    Source
        torch/distributed/rendezvous.py; NCCL bootstrap (“rank has already checked in”).
    """
    by_rank: dict[tuple[str, int, str], list[RankCard]] = defaultdict(list)
    for card in job.cards:
        n = number(card.launch)
        if n is not None:
            by_rank[kind(card.launch), n, card.launch.run_id or ""].append(card)
        elif card.launch.node_rank is not None:
            by_rank["node rank", card.launch.node_rank, card.launch.run_id or ""].append(card)
    for (what, n, _), cards in sorted(by_rank.items()):
        if len(cards) < 2 or (what == "node rank" and len({host(c) for c in cards}) < 2):
            continue
        given = listed([f"{c.node} (pid {c.pid})" if c.pid else c.node for c in cards], 4)
        launch = cards[0].launch
        yield Finding(
            "rank-duplicate",
            "error",
            f"{what} {n} is given to {len(cards)} processes: {given}.",
            nodes(*cards),
            [n],
            evidence=[Evidence(what, given, "one process", rank_option(launch))],
            fixes=[Fix(f"give each its own {what} with {rank_option(launch)}")],
        )


@check("local-rank-duplicate", title="Two ranks of a node have one local rank", family="F07",
       severity="warning", early=True)  # fmt: skip
def local_rank_duplicate(job: Job) -> Iterator[Finding]:
    """What it looks at
        LOCAL_RANK and CUDA_VISIBLE_DEVICES of the ranks of each node.

    Why it matters for training
        Scripts take the GPU of their local rank: two ranks then take one, and NCCL ends with
        “Duplicate GPU detected”.

    Fix
        Take LOCAL_RANK from the launcher, and pass no --local-rank of your own.

    False alarms
        Ranks that choose their GPU in another way. Silent where the host has no GPU.

    Source
        NCCL init.cc (“Duplicate GPU detected”).
    """
    without_gpu = {s.node for s in job.snapshots if s.place and s.place.gpus == 0}
    by_local: dict[tuple[object, ...], list[RankCard]] = defaultdict(list)
    for card in job.cards:
        if card.launch.local_rank is not None and card.node not in without_gpu:
            by_local[(*host(card), card.launch.local_rank, card.devices)].append(card)
    for cards in by_local.values():
        given = sorted({c.launch.rank for c in cards if c.launch.rank is not None})
        if len(given) < 2:
            continue
        local = cards[0].launch.local_rank
        yield Finding(
            "local-rank-duplicate",
            "warning",
            f"{cards[0].node}: ranks {spans(given)} all have local rank {local}: they will take "
            "one GPU.",
            nodes(*cards),
            given,
            evidence=[Evidence("local rank", str(local), "one rank", "LOCAL_RANK")],
            fixes=[Fix("take LOCAL_RANK from the launcher, each rank of a node its own")],
        )


def _size(launch: Launch) -> str | None:
    size = launch.world_size if launch.unit == "rank" else launch.nnodes
    if size is None:
        return None
    return f"{size}:{launch.nnodes_max}" if launch.nnodes_max else str(size)


@check("world-size-mismatch", title="The participants expect different world sizes", family="F07",
       needs=("everybody",), early=True)  # fmt: skip
def world_size_mismatch(job: Job) -> Iterator[Finding]:
    """What it looks at
        WORLD_SIZE of all ranks, or --nnodes of all nodes.

    Why it matters for training
        Those who expect more wait for ranks that nobody starts.

    Fix
        Give the same number everywhere.

    False alarms
        None known.

    Source
        torch/distributed/rendezvous.py.
    """
    by_size: dict[str, list[RankCard]] = defaultdict(list)
    for card in job.cards:
        size = _size(card.launch)
        if size is not None:
            by_size[size].append(card)
    if len(by_size) < 2:
        return
    node = job.cards[0].launch.unit == "node"
    what = "number of nodes" if node else "world size"
    option = "--nnodes" if node else "WORLD_SIZE"
    parts = [f"{size} on {listed(nodes(*cards), 4)}" for size, cards in sorted(by_size.items())]
    everyone = [c for cards in by_size.values() for c in cards]
    yield Finding(
        "world-size-mismatch",
        "error",
        f"the {what} is not the same everywhere: {' but '.join(parts)}.",
        nodes(*everyone),
        ranks(*everyone),
        evidence=[Evidence(what, "; ".join(parts), "one value", option)],
        fixes=[Fix(f"give the same {option} everywhere")],
    )


@check("master-mismatch", title="The participants were given different masters", family="F07",
       needs=("everybody",), early=True)  # fmt: skip
def master_mismatch(job: Job) -> Iterator[Finding]:
    """What it looks at
        The master's address and port as each participant was given them.

    Why it matters for training
        With different ports they wait for each other until the time-out. With different names they
        may meet, as long as the names lead to one host.

    Fix
        Give the same address and port everywhere.

    False alarms
        A name here and its address there, on purpose: a warning. So is all that nevertheless met.

    Source
        torch/distributed/rendezvous.py. Seen with torch 2.13: two ports time out.
    """
    by_master: dict[str, list[RankCard]] = defaultdict(list)
    for card in job.cards:
        if card.launch.master_addr:
            by_master[f"{card.launch.master_addr}:{card.launch.master_port}"].append(card)
    if len(by_master) < 2:
        return
    parts = [f"{m} on {listed(nodes(*cards), 4)}" for m, cards in sorted(by_master.items())]
    everyone = [c for cards in by_master.values() for c in cards]
    met = all(c.reach is not None and c.reach.outcome == "ok" for c in everyone)
    ports = {c.launch.master_port for c in everyone}
    yield Finding(
        "master-mismatch",
        "error" if len(ports) > 1 and not met else "warning",
        f"the master is not the same everywhere: {' but '.join(parts)}.",
        nodes(*everyone),
        ranks(*everyone),
        evidence=[Evidence("master", "; ".join(parts), "one value", "MASTER_ADDR, MASTER_PORT")],
        fixes=[Fix("give the same address and port everywhere")],
    )


@check("ranks-missing", title="Some participants never came", family="F07")
def ranks_missing(job: Job) -> Iterator[Finding]:
    """What it looks at
        Who had put a card on the board when the deadline passed.

    Why it matters for training
        The job starts when all are there. torch waits 10 to 30 minutes for one that never comes,
        and does not say which.

    Fix
        Look at that node's own output: it says within seconds why it cannot take part. Start it if
        nobody did.

    False alarms
        Nodes that start later than the deadline: raise --wait or PTNET_WAIT.

    Source
        torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py.
    """
    absent = missing(job)
    if not absent:
        return
    unit = absent[0].unit
    here = listed([who(c) for c in job.cards]) or "nobody"
    known = [m.rank for m in absent if m.rank is not None]
    word = "node rank" if unit == "node" else "rank"
    names = f"{word if len(known) == 1 else word + 's'} {spans(known)}" if known else ""
    lead = names or plural(len(absent), unit)
    hint = ""
    if job.other_worlds:
        hint = "; others on this board use another run id: " + ", ".join(job.other_worlds)
    elif job.cards and is_loopback(job.cards[0].launch.master_addr or ""):
        hint = "; the master is loopback, so that every node meets only itself"
    yield Finding(
        "ranks-missing",
        "error",
        f"{lead} never came: {len(job.cards)} of {plural(job.expected or 0, unit)} here after "
        f"{job.waited_s or 0:.0f} s ({here}){hint}.",
        nodes(*job.cards),
        known,
        evidence=[Evidence("board", f"{len(job.cards)} cards", f"{job.expected} cards")],
        fixes=[
            Fix(
                f"look at the output of {names or 'the missing ' + unit + 's'}: was it started, "
                "and what does it say"
            ),
            Fix("if it only starts later, wait longer: --wait SECONDS or PTNET_WAIT"),
        ],
    )


@check("participant-left", title="A participant left before the verdict", family="F07", early=True)
def participant_left(job: Job) -> Iterator[Finding]:
    """What it looks at
        Cards whose owner said that it leaves.

    Why it matters for training
        The job cannot start without it: the others need not wait.

    Fix
        Look at its own output.

    False alarms
        None known.

    Source
        ptnet's board.
    """
    for card in job.cards:
        if card.left:
            yield Finding(
                "participant-left",
                "error",
                f"{who(card)} left before all had come: {card.left}.",
                nodes(card),
                ranks(card),
                evidence=[Evidence("left", card.left, "all stay until the verdict")],
                fixes=[Fix(f"look at the output of {who(card)}")],
            )
