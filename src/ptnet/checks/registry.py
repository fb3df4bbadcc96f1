"""The registry of checks: which there are, what they need, and running them."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, repeat

from ptnet.errors import UsageError
from ptnet.model import ERROR, SEVERITIES, Finding, Job, Missing, Report, Skipped
from ptnet.version import VERSION

MODULES = (
    *("endpoint", "ports", "path", "ranks", "launcher"),
    *("names", "master", "identity", "family", "environment"),
    *("limits", "kernel"),
)
HEADINGS = (
    "What it looks at",
    "Why it matters for training",
    "Fix",
    "False alarms",
    "Source",
)

MAX_MISSING = 65536
"""That are listed: WORLD_SIZE may be any number."""

Function = Callable[[Job], Iterator[Finding]]


@dataclass(frozen=True)
class Check:
    """One check: the id names the problem."""

    id: str
    title: str
    family: str
    severity: str
    """The worst that it reports."""
    needs: tuple[str, ...]
    """Parts of a Snapshot that must be there; `reach`: every participant that was given a master
    has tried to get to it; `everybody`: all participants have come."""
    early: bool
    """May it be judged while participants are still arriving. With `everybody` in `needs` it finds
    faults among those that are here, and passes only when all are."""
    function: Function

    @property
    def page(self) -> str:
        return inspect.getdoc(self.function) or ""


_checks: dict[str, Check] = {}


def check(
    id: str,
    *,
    title: str,
    family: str,
    severity: str = ERROR,
    needs: tuple[str, ...] = (),
    early: bool = False,
) -> Callable[[Function], Function]:
    """Register a check."""

    def register(function: Function) -> Function:
        if id in _checks:
            raise ValueError(f"two checks are called {id}")
        _checks[id] = Check(id, title, family, severity, needs, early, function)
        return function

    return register


def _all() -> dict[str, Check]:
    for module in MODULES:
        importlib.import_module(f"ptnet.checks.{module}")
    return _checks


def ids() -> list[str]:
    """The ids of all checks, sorted."""
    return sorted(_all())


def _named(id: str) -> Check:
    found = _all().get(id)
    if found is None:
        near = difflib.get_close_matches(id, _checks, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else "; `ptnet explain` lists all"
        raise UsageError(f"there is no check called {id}{hint}")
    return found


def page(id: str) -> str:
    """The page of a check."""
    return _named(id).page


def title(id: str) -> str:
    """The problem that a check looks for, in a few words."""
    return _named(id).title


def get(id: str) -> Check:
    """The check itself."""
    return _named(id)


def _lacking(needs: Iterable[str], job: Job) -> str | None:
    """Why silence of a check means nothing, or None."""
    if not job.snapshots and not job.cards:
        return "nothing is known of any node"
    asked = {"everybody": _lacks_anybody, "reach": _lacks_reach}
    reasons = (asked[n](job) if n in asked else _lacks_part(n, job) for n in needs)
    return next((reason for reason in reasons if reason), None)


def _lacks_anybody(job: Job) -> str | None:
    return None if job.complete else "not all participants have come"


def _lacks_reach(job: Job) -> str | None:
    for card in job.cards:
        if card.launch.master_addr and card.reach is None:
            return f"{card.node} has not tried to reach the master"
    return None


def _lacks_part(part: str, job: Job) -> str | None:
    for snapshot in job.snapshots:
        if getattr(snapshot, part) in (None, []):
            reasons = [gap.reason for gap in snapshot.gaps if gap.fact.split(".")[0] == part]
            if reasons or getattr(snapshot, part) is None:
                return f"{part} of {snapshot.node}: {reasons[0] if reasons else 'unknown'}"
    return None if job.snapshots else f"{part}: no snapshot of any node"


def judge(job: Job, *, only_early: bool = False) -> Report:
    """Run the checks on a job. `only_early`: those that hold however many are still to come.

    Each check ends as findings, or passed, skipped or crashed. One whose facts are there for some
    nodes only is asked all the same: what it finds counts, and its silence is skipped, not passed.
    """
    report = Report(
        verdict="pass",
        ptnet=VERSION,
        nodes=sorted({s.node for s in job.snapshots} | {c.node for c in job.cards}),
    )
    report.names = sorted(_names(job).difference(report.nodes, ("",)))
    for each in _all().values():
        if only_early and not each.early:
            continue
        reason = _lacking(each.needs, job)
        try:
            waits = "everybody" in each.needs and not each.early and not job.complete
            found = [] if waits else list(each.function(job))
        except Exception as error:
            report.crashed.append(Skipped(each.id, f"{type(error).__name__}: {error}"))
            continue
        if found:
            # Several ranks of a host that each took a snapshot say the same once.
            report.findings += {f.message: f for f in found}.values()
        elif reason is not None:
            report.skipped.append(Skipped(each.id, reason))
        else:
            report.passed.append(each.id)
    report.findings.sort(key=lambda f: SEVERITIES.index(f.severity))
    report.missing = missing(job)
    if any(f.severity == ERROR for f in report.findings):
        report.verdict = "fail"
    elif report.crashed or not (report.passed or report.findings):
        report.verdict = "unknown"
    return report


def _names(job: Job) -> set[str]:
    """The names of hosts in a job that are not its nodes' own."""
    found: set[str | None] = set()
    for launch in [c.launch for c in job.cards] + [s.launch for s in job.snapshots if s.launch]:
        found |= {launch.master_addr, launch.local_addr}
    for card in job.cards:
        found |= {a.name for a in card.asked} | ({card.reach.host} if card.reach else set())
    for snapshot in job.snapshots:
        if snapshot.names:
            found |= {snapshot.names.hostname, snapshot.names.fqdn}
            found |= {snapshot.names.own.name} if snapshot.names.own else set()
    return {name for name in found if name}


def missing(job: Job) -> list[Missing]:
    """Who never came, once the deadline has passed: by rank where ranks are known beforehand."""
    if job.waited_s is None or job.expected is None or len(job.cards) >= job.expected:
        return []
    unit = job.cards[0].launch.unit if job.cards else "rank"
    here = {c.launch.node_rank if unit == "node" else c.launch.rank for c in job.cards}
    ranks: Iterable[int | None] = (n for n in range(job.expected) if n not in here)
    if None in here:
        ranks = repeat(None, job.expected - len(job.cards))
    return [Missing(rank=n, node=None, unit=unit) for n in islice(ranks, MAX_MISSING)]
