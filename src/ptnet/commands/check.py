"""`ptnet check`: judge this host, or what was collected on others."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ptnet import checks, codec, redact
from ptnet.collect import collect, load
from ptnet.commands.output import add_fail_on, add_share, exit_code, parser, put_report
from ptnet.model import Job, Launch, RankCard, Report, Snapshot
from ptnet.progress import doing

TEXT = """Judge this host, or snapshots and jobs from JSON files (ptnet snapshot writes them; - is
standard input): several snapshots are judged as the nodes of one job."""


def main(argv: Sequence[str]) -> int:
    made = parser("check", TEXT)
    made.add_argument("--from", dest="files", nargs="+", metavar="FILE", default=[])
    add_share(made)
    add_fail_on(made)
    options = made.parse_args(argv)
    count = len(options.files)
    with doing(f"reading {count} files" if count else "looking at this host"), no_collection():
        parts = [load(file) for file in options.files] or [collect()]
    with doing("judging"):
        found = checks.judge(job(parts))
    # A file may have been written by hand: what it says is shown without its secrets.
    report = codec.load(Report, redact.within(codec.dump(found)))
    put_report("check", report, options)
    return exit_code(report, options.fail_on)


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause the garbage collector: reading only makes objects, and it would walk all of them again
    and again (1,024 nodes: 1.3 s with it, 0.8 s without)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def card(snapshot: Snapshot, launch: Launch) -> RankCard:
    """The participant that took a snapshot."""
    place = snapshot.place
    return RankCard(
        node=snapshot.node,
        pid=0,
        launch=launch,
        boot_id=place.boot_id if place else None,
        netns=place.namespaces.get("net") if place else None,
        pidns=place.namespaces.get("pid") if place else None,
    )


def job(parts: Sequence[Snapshot | Job]) -> Job:
    """One job of all nodes and cards that were loaded."""
    whole = Job()
    for part in parts:
        if isinstance(part, Snapshot):
            whole.snapshots.append(part)
            if part.launch is not None:
                whole.cards.append(card(part, part.launch))
            continue
        whole.snapshots += part.snapshots
        whole.cards += part.cards
        whole.complete = whole.complete and part.complete
        whole.expected = part.expected if whole.expected is None else whole.expected
        whole.waited_s = part.waited_s if whole.waited_s is None else whole.waited_s
        whole.other_worlds += part.other_worlds
    return whole
