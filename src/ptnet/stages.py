"""The pre-flight: its stages, its deadlines and the common verdict.

look      this node's snapshot                        nothing is sent
self      what this process knows to be wrong         nothing is sent
reach     the way to the rendezvous endpoint          `ptnet.reach`
gather    everybody's card, one verdict               `ptnet.gather`
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from ptnet import checks, collect, dist, reach, redact
from ptnet import launch as launcher
from ptnet.board import SLOTS, Board, BoardLost, DirectoryBoard, StoreBoard
from ptnet.errors import PreflightError, UsageError
from ptnet.gather import Meeting
from ptnet.model import Job, Launch, RankCard, Reach, Report, Snapshot, Stage
from ptnet.waiting import Waiting

DEFAULT_WAIT_S = 300.0
DEVICES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
TELL_S = 4.0
"""How long a node that knows its own fault stays to tell the others."""


def wait_seconds(given: float | str | None, environ: Mapping[str, str] = os.environ) -> float:
    """The deadline for the others: the argument, `PTNET_WAIT`, or 300 s."""
    for source, text in (("wait", given), ("PTNET_WAIT", environ.get("PTNET_WAIT"))):
        if text is None or text == "":
            continue
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 < value < 1e7:
            raise UsageError(f"{source}={text}: expected a number of seconds above 0, such as 60")
        return value
    return DEFAULT_WAIT_S


@dataclass
class Preflight:
    """One participant's pre-flight."""

    launch: Launch
    door: str
    """`nodes` in front of a launcher, `ranks` in the ranks: the two meet apart."""
    wait_s: float
    serve: bool = False
    must_serve: bool = True
    directory: str | None = None
    """Meet in this directory and not on a store."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    stages: list[Stage] = field(default_factory=list)
    serving: bool = False
    snapshot: Snapshot | None = None
    card: RankCard = field(init=False)

    @property
    def expected(self) -> int:
        """How many participants there must be."""
        launch = self.launch
        return (launch.nnodes if launch.unit == "node" else launch.world_size) or 1

    @property
    def prefix(self) -> str:
        launch = self.launch
        world = f"/{launch.world_size}" if launch.agent_store else ""  # an elastic job shrinks
        return f"ptnet/{launch.run_id or 'none'}/{launch.restart_count}/{self.door}{world}"

    def conduct(self, meet: bool = True) -> Report:
        """All stages, as far as they go."""
        started = time.monotonic()
        with self._stage("look"):
            self._look()
        with self._stage("self") as stage:
            alone = not meet or (self.expected <= 1 and (self.launch.nnodes_max or 1) <= 1)
            report = checks.judge(self._job(complete=alone))
            stage.outcome = "findings" if report.findings else "ok"
        if not alone:
            patience_s = TELL_S if report.verdict == "fail" else self.wait_s
            report = self._meet(report, started + patience_s)
        report.stages = self.stages
        return report

    def _look(self) -> None:
        first = self.launch.unit == "node" or self.launch.local_rank in (0, None)
        if first:
            self.snapshot = collect.collect(environ=self.environ, launch=self.launch)
        place = self.snapshot.place if self.snapshot else collect.place()
        self.card = RankCard(
            node=os.uname().nodename,
            pid=os.getpid(),
            launch=self.launch,
            boot_id=place.boot_id if place else None,
            netns=place.namespaces.get("net") if place else None,
            pidns=place.namespaces.get("pid") if place else None,
            devices=next(
                (redact.text(self.environ[n]) for n in DEVICES if n in self.environ), None
            ),
        )

    def _job(self, complete: bool) -> Job:
        snapshots = [self.snapshot] if self.snapshot else []
        return Job(snapshots=snapshots, cards=[self.card], complete=complete)

    def _meet(self, own: Report, deadline_s: float) -> Report:
        waiting = Waiting(self.launch, self.expected, self.wait_s)
        if self.directory is not None:
            board: Board = DirectoryBoard(self.directory, self.prefix)
            return self._gather(board, own, deadline_s, waiting)
        if not self.launch.master_addr or not self.launch.master_port:
            return own  # the checks say which of the two is missing or unusable
        if not dist.available():
            with self._stage("reach") as stage:
                stage.outcome = "skipped"
                stage.detail = "torch is not installed here: the nodes cannot meet on its store"
            return own
        with self._stage("reach") as stage:
            board_or_none = self._reach(deadline_s, waiting.reaching)
            found = self.card.reach
            stage.outcome = found.outcome if found else "skipped"
        if own.verdict != "fail" and found is not None and found.outcome != "ok":
            own = checks.judge(self._job(complete=False))
        if board_or_none is None:
            return own
        return self._gather(board_or_none, own, deadline_s, waiting)

    def _reach(self, deadline_s: float, say: Callable[[Reach], None]) -> Board | None:
        """The board, and in `card.reach` how this process got to it. A process that cannot take
        part still gets the board where there is one, to tell the others."""
        launch = self.launch
        assert launch.master_addr
        assert launch.master_port
        end = reach.Endpoint(
            launch.master_addr,
            launch.master_port,
            launch,
            self.must_serve,
            deadline_s,
            late_names=launch.launcher == "sagemaker" or self._in_kubernetes(),
        )
        found = reach.serve(end, say) if self.serve else reach.join(end, say)
        self.card.reach = found
        try:
            if (found.role, found.outcome) == ("serve", "ok") or found.outcome == "no-rank-0":
                self.serving = True
                return StoreBoard(dist.serve_store(end.port), self.prefix)
            if found.outcome == "join":
                found.outcome = "ok"
            store = next((c for c in found.connects if c.verdict == "store"), None)
            if store is None:
                return None
            return StoreBoard(dist.join_store(store.address, store.port), self.prefix)
        except (RuntimeError, ValueError) as error:
            found.outcome = "failed"
            found.detail = redact.text(str(error).splitlines()[0])
            return None

    def _in_kubernetes(self) -> bool:
        place = self.snapshot.place if self.snapshot else None
        return bool(place and place.kubernetes) or "KUBERNETES_SERVICE_HOST" in self.environ

    def _gather(self, board: Board, own: Report, deadline_s: float, waiting: Waiting) -> Report:
        failed = own.verdict == "fail"
        meeting = Meeting(
            board,
            self.card,
            self.snapshot,
            expected=self.expected,
            deadline_s=min(deadline_s, time.monotonic() + TELL_S) if failed else deadline_s,
            say=waiting.gathering,
        )
        with self._stage("gather") as stage:
            try:
                if failed and self.serving:
                    self._await_company(board)
                report = meeting.tell() if failed else meeting.hold()
                meeting.end(self.serving)
                if failed and report.verdict != "fail":
                    report = own  # the others have agreed and gone on before
            except BoardLost as lost:
                self._lose(lost)
                report = checks.judge(self._job(complete=False))
            stage.outcome = "ok" if report.verdict == "pass" else "findings"
        return report

    def _await_company(self, board: Board) -> None:
        """Others may already be knocking: let them in, so that the verdict can name them."""
        give_up = time.monotonic() + TELL_S
        while board.count(SLOTS) < 1 and time.monotonic() < give_up:
            time.sleep(0.05)

    def _lose(self, lost: BoardLost) -> None:
        if self.card.reach is None:
            self.card.reach = Reach(str(self.directory), 0, "join", "failed")
        self.card.reach.outcome, self.card.reach.detail = "failed", str(lost)

    @contextmanager
    def _stage(self, name: str) -> Iterator[Stage]:
        stage = Stage(name, 0.0, "ok")
        self.stages.append(stage)
        started = time.monotonic()
        try:
            yield stage
        finally:
            stage.seconds = round(time.monotonic() - started, 4)


def preflight(
    *,
    board: str | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    wait_s: float | None = None,
    meet: bool = True,
) -> Report:
    """Check this process's job: its launcher's variables, this host, the way to MASTER_ADDR, and
    all ranks' cards against each other.

    Args:
        board: a directory that all ranks share; without it the ranks meet on the c10d store at
            MASTER_ADDR:MASTER_PORT, as `torch.distributed` itself will (under torchrun: the
            agent's).
        rank, world_size: in place of RANK and WORLD_SIZE.
        wait_s: seconds to wait for the other ranks (default `PTNET_WAIT`, or 300).
        meet: False checks this host alone.

    Returns the report, equal on all ranks but for its `stages`. Needs no privilege and changes
    nothing. Raises UsageError for an unusable argument; a network that will not carry the job is a
    report whose `verdict` is `fail`.

    >>> preflight(meet=False).verdict
    'pass'
    """
    # Ranks that meet elsewhere (init_method=, store=) need none of the launcher's variables.
    launch = launcher.detect(os.environ if meet else {})
    first = launch.node_rank if launch.unit == "node" else launch.rank
    if rank is not None:
        launch.unit, first = "rank", rank
    launcher.override(launch, rank=rank, world_size=world_size)
    if board is not None and (launch.rank is None or launch.world_size is None):
        raise UsageError("board= needs a rank and a world size: RANK and WORLD_SIZE, or arguments")
    given = launch.launcher == "none" and (rank, world_size) != (None, None)
    master = launch.master_addr and launch.master_port
    if given and board is None and meet and not (master or launch.invalid or world_size == 1):
        raise UsageError("the ranks need a place to meet: MASTER_ADDR and MASTER_PORT, or board=")
    return Preflight(
        launch,
        door="ranks",
        wait_s=wait_seconds(wait_s),
        serve=first == 0 and not launch.agent_store,
        directory=board,
    ).conduct(meet)


def require(
    *,
    board: str | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    wait_s: float | None = None,
    meet: bool = True,
) -> Report:
    """`preflight()` with the same arguments, that raises PreflightError when its verdict is `fail`:
    on every rank, with the same text. Warnings are printed once, by rank 0, on stderr."""
    report = preflight(board=board, rank=rank, world_size=world_size, wait_s=wait_s, meet=meet)
    if report.verdict == "fail":
        raise PreflightError(f"the pre-flight found an error\n{report}", report)
    if any(f.severity == "warning" for f in report.findings):
        launch = launcher.detect(os.environ)
        if (rank if rank is not None else launch.rank) in (0, None):
            print(report, file=sys.stderr)
    return report
