"""Stage 3 and 6: the participants meet on a board and come to one verdict.

Everyone puts a card on the board (a rank's, or a node's in front of its launcher) and the first of
each node its snapshot. One of them, the leader, reads the cards as they come, judges, and writes
the verdict once; all others wait for that key alone. A participant that leaves before the verdict
writes it itself, so that nobody waits for one that has already failed.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ptnet import checks, codec, redact, wire
from ptnet.board import SLOTS, VERDICT, Board, BoardLost
from ptnet.model import ERROR, Job, RankCard, Report, Resolution, Snapshot
from ptnet.resolver import resolve

ACKS = "acks"
ASK = "ask"
"""The key of a name that every participant shall look up before the verdict."""
ASK_S = 4.0
PAUSE_S = (0.005, 0.2)
CARD_S = 1.0
"""A participant that has a slot puts its card there within this time, or never."""
LINGER_S = 5.0
"""How long the participant that serves the board stays after the verdict, for the others to read
it."""
LEAVE_S = 1.0
"""The same for one that was interrupted."""


@dataclass
class Meeting:
    """One participant's side."""

    board: Board
    card: RankCard
    snapshot: Snapshot | None
    expected: int
    deadline_s: float
    """time.monotonic()"""
    say: Callable[[Job, int, float], None]
    """Called while nothing is decided: the cards that were read, the number of participants that
    are here, the seconds left."""
    cards: dict[int, RankCard] = field(default_factory=dict)
    snapshots: dict[int, Snapshot] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    slot: int = 0
    started_s: float = field(default_factory=time.monotonic)

    def hold(self) -> Report:
        """Meet, and return the common report."""
        try:
            self._put()
            decided = self._verdict()
            return self._wait() if decided is None else self._join_late(decided)
        except BoardLost:
            raise
        except BaseException as error:
            self._leave(error)
            raise

    def tell(self) -> Report:
        """Put a card there that shows this participant's own failure, and end the meeting for
        all."""
        self._put()
        self._read_announced()
        return self._settle(checks.judge(self._job(complete=False), only_early=True))

    def end(self, serving: bool, linger_s: float = LINGER_S) -> None:
        """Say that the verdict was read. Who serves the board waits for the others to say so. The
        verdict stands, whatever becomes of the board now."""
        last = False
        with contextlib.suppress(BoardLost):
            acks = self.board.add(ACKS)
            give_up = time.monotonic() + linger_s
            while serving and acks < self.board.count(SLOTS) and time.monotonic() < give_up:
                time.sleep(0.01)
                acks = self.board.count(ACKS)
            last = acks >= self.board.count(SLOTS)
        self.board.close(last)

    def _put(self) -> None:
        if not self.slot:
            self.board.announce()
            self.slot = self.board.add(SLOTS)
            snapshot = wire.pack(codec.dump(self.snapshot)) if self.snapshot else b""
            self.board.put(f"snapshot/{self.slot}", snapshot)
        self.board.put(f"card/{self.slot}", wire.pack(codec.dump(self.card)))

    def _verdict(self) -> Report | None:
        value = self.board.get([VERDICT])[0]
        return None if value is None else wire.read_report(value)

    def _settle(self, report: Report) -> Report:
        text = json.dumps(codec.dump(report)).encode()
        return wire.read_report(self.board.put_once(VERDICT, text))

    def _serves(self) -> bool:
        reach = self.card.reach
        return reach is not None and (reach.role, reach.outcome) == ("serve", "ok")

    def _leads(self) -> bool:
        """Several may: the first verdict stands. One that ended before the verdict must not."""
        launch = self.card.launch
        first = launch.node_rank if launch.unit == "node" else launch.rank
        if first == 0 or self._serves():
            return True
        return not any(self.board.alive(f"card/{n}") for n in range(1, self.slot))

    def _wait(self) -> Report:
        pause = PAUSE_S[0]
        while True:
            decided = self._verdict()
            if decided is not None:
                return decided
            left_s = self.deadline_s - time.monotonic()
            if self._answer():
                pause = PAUSE_S[0]  # the verdict is near
            if self._leads() or left_s <= 0:
                report = self._decide(left_s <= 0)
                if report is not None:
                    return self._settle(report)
            self.say(self._job(complete=False), self.board.count(SLOTS), left_s)
            time.sleep(max(0.0, min(pause, left_s)))
            pause = min(pause * 1.5, PAUSE_S[1])

    def _decide(self, late: bool) -> Report | None:
        """The report, once there is enough for one."""
        news = self._read()
        if len(self.cards) >= self.expected:
            self._ask()
            return checks.judge(self._job(complete=True))
        if late:
            job = self._job(complete=False)
            job.waited_s = time.monotonic() - self.started_s
            job.other_worlds = self.board.others()
            return checks.judge(job)
        if news:
            early = checks.judge(self._job(complete=False), only_early=True)
            if any(f.severity == ERROR for f in early.findings):
                return early
        return None

    def _given_out(self) -> str | None:
        """The name that torchrun's first agent will tell the ranks of all nodes: with c10d the
        agents are ranked by the text of their names."""
        names = []
        for n, card in self.cards.items():
            of_host = self.snapshots[n].names if n in self.snapshots else None
            name = card.launch.local_addr or (of_host.fqdn if of_host else None)
            if card.launch.backend != "c10d" or name is None:
                return None
            names.append(name)
        return min(names) if len(names) > 1 else None

    def _ask(self) -> None:
        """Let everybody look that name up, and read what they make of it."""
        name = self._given_out()
        if name is None:
            return
        self.board.put_once(ASK, name.encode())
        self._answer()
        give_up = min(self.deadline_s, time.monotonic() + ASK_S + CARD_S)
        while (silent := [n for n, c in self.cards.items() if not c.asked]) and (
            time.monotonic() < give_up
        ):
            time.sleep(PAUSE_S[0])
            for n, packed in zip(
                silent, self.board.get([f"card/{n}" for n in silent]), strict=True
            ):
                if packed is not None:
                    self.cards[n], _ = wire.read_card(n, packed, None)

    def _answer(self) -> bool:
        """Look up the name that was asked for; the own name is left alone, which may be loopback
        here without harm. True when it has just been done."""
        if self.card.launch.backend != "c10d" or self.card.asked:
            return False
        name = self.board.get([ASK])[0]
        if name is None:
            return False
        text = name.decode(errors="replace")
        names = self.snapshot.names if self.snapshot else None
        own = self.card.launch.local_addr or (names.fqdn if names else None)
        left_s = max(0.1, min(ASK_S, self.deadline_s - time.monotonic()))
        self.card.asked = [Resolution(text) if text == own else resolve(text, left_s)]
        self._put()
        if self.slot in self.cards:
            self.cards[self.slot] = self.card
        return True

    def _read(self) -> bool:
        """Read the cards that came since; True if there were any."""
        new = [n for n in range(1, self.board.count(SLOTS) + 1) if n not in self.seen]
        cards = self.board.get([f"card/{n}" for n in new])
        here = [(n, card) for n, card in zip(new, cards, strict=True) if card is not None]
        snapshots = self.board.get([f"snapshot/{n}" for n, _ in here])
        for (n, packed), snapshot in zip(here, snapshots, strict=True):
            card, taken = wire.read_card(n, packed, snapshot)
            if not self.board.alive(f"card/{n}") or self._is_gone(card):
                continue
            self._supersede(card)
            self.seen.add(n)
            self.cards[n] = card
            if taken is not None:
                self.snapshots[n] = taken
        return bool(self.seen & set(new))

    def _read_announced(self) -> None:
        """Read also the cards of those who have a slot and are just writing theirs."""
        give_up = time.monotonic() + CARD_S
        self._read()
        while len(self.seen) < self.board.count(SLOTS) and time.monotonic() < give_up:
            time.sleep(PAUSE_S[0])
            self._read()

    def _supersede(self, card: RankCard) -> None:
        """A process that meets again (`require()`, then `init_process_group()`) has one card."""

        def process(one: RankCard) -> tuple[object, ...]:
            return one.node, one.boot_id, one.pidns, one.pid

        for n in [n for n, one in self.cards.items() if process(one) == process(card)]:
            del self.cards[n]
            self.snapshots.pop(n, None)

    def _is_gone(self, card: RankCard) -> bool:
        """An earlier process of this very host and PID namespace that has ended: a restart."""
        own = self.card
        if own.boot_id is None or (card.boot_id, card.pidns) != (own.boot_id, own.pidns):
            return False
        try:
            os.kill(card.pid, 0)
        except ProcessLookupError:
            return True
        except (PermissionError, OverflowError):
            pass
        return False

    def _job(self, complete: bool) -> Job:
        cards = self.cards or {self.slot: self.card}
        snapshots = self.snapshots
        if not snapshots and self.snapshot is not None:
            snapshots = {self.slot: self.snapshot}
        return Job(
            cards=[cards[n] for n in sorted(cards)],
            snapshots=[snapshots[n] for n in sorted(snapshots)],
            complete=complete,
            expected=self.expected,
        )

    def _join_late(self, decided: Report) -> Report:
        """The others have agreed and gone on: an elastic join, or a restart. Check this participant
        against the board, and hold up nobody."""
        if decided.verdict == "fail" or self.card.launch.agent_store:
            return decided  # under an agent's store the agents have given out the ranks
        self._read()
        own = checks.judge(self._job(complete=False), only_early=True)
        return own if own.verdict == "fail" else decided

    def _leave(self, error: BaseException) -> None:
        interrupted = isinstance(error, (KeyboardInterrupt, SystemExit))
        self.card.left = "interrupted" if interrupted else redact.text(repr(error))
        with contextlib.suppress(BoardLost):
            self.cards.pop(self.slot, None)
            self.seen.discard(self.slot)
            self.tell()
            self.end(self._serves(), LEAVE_S)
