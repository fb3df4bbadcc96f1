"""The directory board, and meetings on it."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from unit.jobs import agent, card, rank, reach, snapshot

from ptnet import gather
from ptnet.board import SLOTS, VERDICT, BoardLost, DirectoryBoard
from ptnet.codec import dump
from ptnet.errors import UsageError
from ptnet.gather import ACKS, Meeting
from ptnet.model import Launch, RankCard, Report, Resolution
from ptnet.stages import Preflight
from ptnet.waiting import Waiting
from ptnet.wire import pack

PREFIX = "ptnet/none/0/ranks"


def test_numbers_are_given_once(tmp_path: Path) -> None:
    taken: list[int] = []

    def take() -> None:
        board = DirectoryBoard(tmp_path, PREFIX)
        taken.extend(board.add(SLOTS) for _ in range(20))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(1, 161))
    assert DirectoryBoard(tmp_path, PREFIX).count(SLOTS) == 160


def test_the_first_value_stands(tmp_path: Path) -> None:
    board = DirectoryBoard(tmp_path, PREFIX)
    assert board.get([VERDICT]) == [None]
    assert board.put_once(VERDICT, b"one") == b"one"
    assert board.put_once(VERDICT, b"two") == b"one"
    assert board.get([VERDICT, "card/1"]) == [b"one", None]


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such directory"):
        DirectoryBoard(tmp_path / "absent", PREFIX)


def meet(
    directory: Path,
    launches: list[tuple[str, Launch]],
    *,
    expected: int = 2,
    wait_s: float = 20.0,
    between: Callable[[], None] = lambda: None,
) -> list[Report | None]:
    """Participants in threads; their reports in order."""
    reports: list[Report | None] = [None] * len(launches)

    def take_part(n: int, node: str, launch: Launch) -> None:
        own = card(launch, node, pid=os.getpid(), boot_id=node)
        meeting = Meeting(
            DirectoryBoard(directory, PREFIX),
            own,
            snapshot(node, launch),
            expected,
            time.monotonic() + wait_s,
            lambda job, here, left_s: None,
        )
        reports[n] = meeting.hold()
        meeting.end(serving=False)

    threads = [threading.Thread(target=take_part, args=(n, *one)) for n, one in enumerate(launches)]
    for thread in threads:
        thread.start()
        between()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    return reports


TWO = [("nodea", rank(0, "nodea")), ("nodeb", rank(1, "nodeb"))]


def test_two_ranks_meet_and_leave_nothing(tmp_path: Path) -> None:
    first, second = meet(tmp_path, TWO)
    assert first == second
    assert first
    assert first.verdict == "pass"
    assert first.nodes == ["nodea", "nodeb"]
    assert list(tmp_path.iterdir()) == []


def test_many_ranks_come_to_one_report(tmp_path: Path) -> None:
    launches = [(f"node{n}", rank(n, f"node{n}", world_size=12)) for n in range(12)]
    reports = meet(tmp_path, launches, expected=12)
    assert all(r == reports[0] for r in reports)
    assert reports[0]
    assert reports[0].verdict == "pass"


@pytest.mark.parametrize(
    ("second", "id"),
    [(rank(0, "nodeb"), "rank-duplicate"), (rank(1, "nodeb", world_size=3), "world-size-mismatch")],
)
def test_a_conflict_ends_the_meeting_before_all_are_there(
    tmp_path: Path, second: Launch, id: str
) -> None:
    started = time.monotonic()
    reports = meet(tmp_path, [TWO[0], ("nodeb", second)], expected=3)
    assert time.monotonic() - started < 10
    assert reports[0] == reports[1]
    assert reports[0]
    assert [f.id for f in reports[0].findings] == [id]
    assert set(reports[0].findings[0].nodes) == {"nodea", "nodeb"}


def test_who_never_came_is_named(tmp_path: Path) -> None:
    (report,) = meet(tmp_path, TWO[:1], wait_s=0.5)
    assert report
    assert [f.id for f in report.findings] == ["ranks-missing"]
    assert [m.rank for m in report.missing] == [1]
    assert list(tmp_path.iterdir()) == []


def test_who_fails_ends_the_meeting_for_all(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(*args: object) -> None:
        raise Stop

    waiting: list[Report | None] = []
    thread = threading.Thread(target=lambda: waiting.extend(meet(tmp_path, TWO[:1], expected=3)))
    thread.start()
    node, launch = TWO[1]
    board = DirectoryBoard(tmp_path, PREFIX)
    while not board.count(SLOTS):  # the other one has come
        time.sleep(0.01)
    meeting = Meeting(
        board,
        card(launch, node, pid=os.getpid(), boot_id=node),
        None,
        3,
        time.monotonic() + 20,
        stop,
    )
    with pytest.raises(Stop):
        meeting.hold()
    thread.join(10)
    (report,) = waiting
    assert report
    assert [f.id for f in report.findings] == ["participant-left"]
    assert "nodeb (rank 1)" in report.findings[0].message


def test_who_fails_names_also_one_that_is_just_writing_its_card(tmp_path: Path) -> None:
    board = DirectoryBoard(tmp_path, PREFIX)
    assert board.add(SLOTS) == 1  # the other one has come, its card not yet
    other = card(rank(1, "nodeb"), "nodeb", pid=os.getpid(), boot_id="nodeb")
    writing = threading.Timer(0.2, board.put, ("card/1", pack(dump(other))))
    board.put("snapshot/1", b"")
    writing.start()
    own = card(rank(1, "nodea"), "nodea", pid=os.getpid(), boot_id="nodea")
    report = Meeting(
        DirectoryBoard(tmp_path, PREFIX), own, None, 2, time.monotonic() + 5, lambda *a: None
    ).tell()
    writing.join()
    assert [f.id for f in report.findings] == ["rank-duplicate"]
    assert all(node in report.findings[0].message for node in ("nodea", "nodeb"))


def test_who_comes_late_checks_itself_and_holds_up_nobody(tmp_path: Path) -> None:
    board = DirectoryBoard(tmp_path, PREFIX)
    meet_before = [rank(n, f"node{n}", world_size=2) for n in range(2)]

    def late(launch: Launch, node: str) -> Report:
        own = card(launch, node, pid=os.getpid(), boot_id=node)
        deadline_s = time.monotonic() + 20
        return Meeting(
            DirectoryBoard(tmp_path, PREFIX), own, None, 2, deadline_s, lambda *a: None
        ).hold()

    reports: list[Report] = []
    threads = [
        threading.Thread(target=lambda n=n: reports.append(late(meet_before[n], f"node{n}")))
        for n in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert {r.verdict for r in reports} == {"pass"}
    started = time.monotonic()
    assert late(rank(2, "node2", world_size=2), "node2").verdict == "pass"
    twice = late(rank(1, "node3", world_size=2), "node3")
    assert time.monotonic() - started < 2
    assert [f.id for f in twice.findings] == ["rank-duplicate"]
    assert board.get([VERDICT])[0] is not None


def test_a_card_of_an_ended_process_does_not_count(tmp_path: Path) -> None:
    """A node that is started again: its earlier process has gone without a word."""
    board = DirectoryBoard(tmp_path, PREFIX)
    with_pid = replace(RankCard("nodea", 2**22 - 3, rank(0, "nodea")), boot_id="nodea", pidns=2)
    board.add(SLOTS)
    board.put("card/1", pack(dump(with_pid)))
    reports = meet(tmp_path, TWO)
    assert [r and r.verdict for r in reports] == ["pass", "pass"]


def test_another_run_on_the_board_is_named(tmp_path: Path) -> None:
    DirectoryBoard(tmp_path, "ptnet/other/0/ranks").add(SLOTS)
    (report,) = meet(tmp_path, TWO[:1], wait_s=0.3)
    assert report
    assert "another run id: other" in report.findings[0].message


@pytest.mark.parametrize("part", ["card", "snapshot"])
@pytest.mark.parametrize(
    "value", [b"garbage", pack({"node": 7}), pack([1]), pack({"schema": "x"}), pack("x" * 2**25)]
)
def test_a_card_that_cannot_be_read_ends_the_meeting_for_all(
    tmp_path: Path, part: str, value: bytes
) -> None:
    """Another version's, or whoever else writes there: none may crash, or wait in vain."""
    board = DirectoryBoard(tmp_path, PREFIX)
    board.add(SLOTS)
    stranger = pack(dump(card(rank(2, "nodec"), "nodec", pid=os.getpid())))
    board.put("card/1", value if part == "card" else stranger)
    board.put("snapshot/1", value if part == "snapshot" else b"")
    started = time.monotonic()
    reports = meet(tmp_path, TWO, expected=3)
    assert time.monotonic() - started < 10
    assert reports[0] == reports[1]
    assert reports[0]
    assert [f.id for f in reports[0].findings] == ["participant-left"]
    assert "its card cannot be read" in reports[0].findings[0].message


@pytest.mark.parametrize(
    "value",
    [
        *(b"", b"garbage", b"[]", b'{"verdict": "fail", "schema": "x"}', b"[" * 100_000),
        json.dumps(dump(Report("perhaps"))).encode(),
    ],
)
def test_a_verdict_that_cannot_be_read_is_said(tmp_path: Path, value: bytes) -> None:
    board = DirectoryBoard(tmp_path, PREFIX)
    board.add(SLOTS)
    board.put("card/1", pack(dump(card(TWO[1][1], "nodeb", pid=os.getpid(), boot_id="nodeb"))))
    board.put_once(VERDICT, value)
    own = card(TWO[0][1], "nodea", pid=os.getpid(), boot_id="nodea")
    meeting = Meeting(board, own, None, 2, time.monotonic() + 5, lambda *a: None)
    with pytest.raises(BoardLost, match="the verdict on the board cannot be read"):
        meeting.hold()


def test_a_pid_that_is_none_is_somebody(tmp_path: Path) -> None:
    board = DirectoryBoard(tmp_path, PREFIX)
    board.add(SLOTS)
    board.put("card/1", pack(dump(card(TWO[1][1], "nodeb", pid=2**70, boot_id="nodea"))))
    reports = meet(tmp_path, TWO[:1])
    assert [r and r.verdict for r in reports] == ["pass"]


def test_hosts_that_do_not_know_their_boot_are_not_one_host(tmp_path: Path) -> None:
    """Without a boot id a process number says nothing of another host."""
    board = DirectoryBoard(tmp_path, PREFIX)
    for n, node, pid in ((1, "nodeb", 2**22 - 3), (2, "nodec", os.getpid())):
        board.add(SLOTS)
        board.put(f"card/{n}", pack(dump(card(rank(n, node, world_size=3), node, pid=pid))))
    own = card(rank(0, "nodea", world_size=3), "nodea", pid=os.getpid())
    report = Meeting(
        DirectoryBoard(tmp_path, PREFIX), own, None, 3, time.monotonic() + 3, lambda *a: None
    ).hold()
    assert (report.verdict, report.nodes) == ("pass", ["nodea", "nodeb", "nodec"])


class Silent(DirectoryBoard):
    """As a store: nobody can tell who is still there."""

    def alive(self, key: str) -> bool:
        return True


@pytest.mark.parametrize("kind", [DirectoryBoard, Silent])
def test_an_ended_first_comer_does_not_hold_up_the_others(
    tmp_path: Path, kind: type[DirectoryBoard]
) -> None:
    """In front of a c10d rendezvous nobody has a number: who serves the store, or comes first."""
    kind(tmp_path, PREFIX).add(SLOTS)  # it was killed at once
    reports: list[Report] = []

    def take_part(node: str, role: str) -> None:
        launch = agent(None, backend="c10d")
        own = card(launch, node, pid=os.getpid(), boot_id=node, reach=reach("ok", role))
        board, deadline_s = kind(tmp_path, PREFIX), time.monotonic() + 8
        reports.append(Meeting(board, own, None, 2, deadline_s, lambda *a: None).hold())

    started = time.monotonic()
    roles = {"nodea": "serve", "nodeb": "join"}
    threads = [threading.Thread(target=take_part, args=one) for one in roles.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert time.monotonic() - started < 5
    assert [r.verdict for r in reports] == ["pass", "pass"]


class Leaving(DirectoryBoard):
    """A store whose server ends as soon as it has seen the last one's sign."""

    def add(self, key: str) -> int:
        number = super().add(key)
        self.ended = key == ACKS
        return number

    def count(self, key: str) -> int:
        if getattr(self, "ended", False):
            raise BoardLost("the store went away")
        return super().count(key)


def test_the_verdict_stands_when_the_board_ends_after_it(tmp_path: Path) -> None:
    made = Preflight(TWO[0][1], "ranks", 5.0)
    made.card = card(TWO[0][1], "nodea", pid=os.getpid(), boot_id="nodea")
    board = Leaving(tmp_path, PREFIX)
    board.put_once(VERDICT, json.dumps(dump(Report("pass", nodes=["a", "b"]))).encode())
    waiting = Waiting(TWO[0][1], 2, 5.0)
    report = made._gather(board, Report("pass"), time.monotonic() + 5, waiting)
    assert (report.verdict, report.nodes) == ("pass", ["a", "b"])


def test_a_late_comers_own_fault_counts(tmp_path: Path) -> None:
    """The others have agreed and gone on: their verdict is not this one's."""
    made = Preflight(TWO[0][1], "ranks", 5.0)
    made.card = card(TWO[0][1], "nodea", pid=os.getpid(), boot_id="nodea")
    board = DirectoryBoard(tmp_path, PREFIX)
    board.put_once(VERDICT, json.dumps(dump(Report("pass"))).encode())
    own, waiting = Report("fail"), Waiting(TWO[0][1], 2, 5.0)
    assert made._gather(board, own, time.monotonic() + 5, waiting) is own


def test_who_is_stopped_while_it_comes_tells_the_others(tmp_path: Path) -> None:
    class Stopped(DirectoryBoard):
        stop = True

        def put(self, key: str, value: bytes) -> None:
            if self.stop:
                self.stop = False
                raise KeyboardInterrupt
            super().put(key, value)

    own = card(TWO[1][1], "nodeb", pid=os.getpid(), boot_id="nodeb")
    deadline_s = time.monotonic() + 5
    other = DirectoryBoard(tmp_path, PREFIX)
    other.add(SLOTS)
    with pytest.raises(KeyboardInterrupt):
        Meeting(Stopped(tmp_path, PREFIX), own, None, 2, deadline_s, lambda *a: None).hold()
    (value,) = other.get([VERDICT])
    assert value is not None
    assert [f["id"] for f in json.loads(value)["findings"]] == ["participant-left"]


def test_a_run_after_a_failed_one_does_not_meet_its_verdict(tmp_path: Path) -> None:
    board = DirectoryBoard(tmp_path, PREFIX)
    board.add(SLOTS)  # killed before it could say a word: the directory stays
    (failed,) = meet(tmp_path, TWO[:1], wait_s=0.3)
    assert failed
    assert failed.verdict == "fail"
    assert board.get([VERDICT])[0] is not None
    assert [r and r.verdict for r in meet(tmp_path, TWO)] == ["pass", "pass"]


def test_a_directory_that_fails_is_a_lost_board(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    board = DirectoryBoard(tmp_path / "x", PREFIX)
    shutil.rmtree(tmp_path / "x")
    (tmp_path / "x").write_text("a file in its place")
    for ask in (
        lambda: board.add(SLOTS),
        lambda: board.put("card/1", b""),
        lambda: board.put_once(VERDICT, b""),
        lambda: board.get([VERDICT]),
        lambda: board.others(),
        lambda: board.alive("card/1"),
    ):
        with pytest.raises(BoardLost, match="Not a directory"):
            ask()
    board.close(last=True)


def test_a_meeting_cleared_up_by_others_is_opened_again(tmp_path: Path) -> None:
    first, second = (DirectoryBoard(tmp_path, PREFIX) for _ in range(2))
    first.add(SLOTS)
    first.close(last=True)
    assert list(tmp_path.iterdir()) == []
    assert second.add(SLOTS) == 1
    assert second.put_once(VERDICT, b"x") == b"x"


def test_agents_look_up_the_name_that_the_first_will_give_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torchrun ranks its agents by their names: `nodea` is the first of the three."""
    asked: list[str] = []

    def resolve(name: str, timeout_s: float) -> Resolution:
        asked.append(name)
        return Resolution(name, error="no-such-name")

    monkeypatch.setattr(gather, "resolve", resolve)
    agents = [(node, agent(None, backend="c10d", nnodes=3)) for node in ("nodec", "nodea", "nodeb")]
    reports = meet(tmp_path, agents, expected=3)
    assert asked == ["nodea", "nodea"]  # not by itself
    for report in reports:
        assert report
        found = {(f.id, *f.nodes) for f in report.findings}
        assert found == {("agent-name-unresolved", n) for n in ("nodeb", "nodec")}


def test_other_participants_are_asked_nothing(tmp_path: Path) -> None:
    meeting = [(n, agent(i, backend="static")) for i, n in enumerate(("nodea", "nodeb"))]
    board = DirectoryBoard(tmp_path, PREFIX)
    asked: list[bytes | None] = []
    reports = meet(tmp_path, meeting, between=lambda: asked.extend(board.get(["ask"])))
    assert [r and r.verdict for r in reports] == ["pass", "pass"]
    assert set(asked) == {None}


def test_who_serves_the_board_is_stopped_after_the_others_have_read_why(tmp_path: Path) -> None:
    class Served(DirectoryBoard):
        read = False

        def close(self, last: bool) -> None:
            self.read = last
            super().close(last)

    def stop(*args: object) -> None:
        raise KeyboardInterrupt

    other, board = DirectoryBoard(tmp_path, PREFIX), Served(tmp_path, PREFIX)
    other.add(SLOTS)
    own = card(TWO[0][1], "nodea", pid=os.getpid(), boot_id="nodea", reach=reach("ok", "serve"))
    meeting = Meeting(board, own, None, 2, time.monotonic() + 5, stop)
    reading = threading.Timer(1.3, other.add, (ACKS,))  # the other's card is awaited for 1 s
    reading.start()
    with pytest.raises(KeyboardInterrupt):
        meeting.hold()
    reading.join()
    assert board.read
