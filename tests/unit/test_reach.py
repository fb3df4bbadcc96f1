"""How long the way to the endpoint is tried, with a kernel that answers as the test says."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from typing import Any

import pytest
from unit.jobs import agent, rank, resolution

from ptnet import _core, reach
from ptnet.model import Job, Launch, RankCard, Reach
from ptnet.waiting import Waiting


class Clock:
    """Time passes only when somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Kernel:
    """Greetings end with the verdicts in turn, the last one for ever, and take their time."""

    def __init__(
        self,
        clock: Clock,
        *verdicts: str,
        address: str = "10.77.0.1",
        slow_names: bool = False,
        errno: int | None = None,
    ) -> None:
        self._errno = errno
        self._clock = clock
        self._verdicts: Iterator[str] = iter(verdicts)
        self._last = ""
        self._address = address
        self.slow_names = slow_names
        self.answers_s: list[float] = []

    def resolve(
        self, names: list[str], timeout_s: float, reverse: bool = False
    ) -> list[dict[str, Any]]:
        if names[0].endswith(".invalid"):
            self._clock.sleep(timeout_s if self.slow_names else 0.001)
            error = "timeout" if self.slow_names else "no-such-name"
            return [{"name": names[0], "addresses": [], "error": error}]
        found = {"address": self._address, "family": "inet", "local": False}
        found |= {"reverse": None, "reverse_ms": None}
        return [
            {"name": names[0], "addresses": [found], "canonical": None, "error": None}
            | {"error_text": None, "time_ms": 1.0}
        ]

    def store_greet(
        self, address: str, port: int, connect_s: float, answer_s: float
    ) -> dict[str, Any]:
        self._last = next(self._verdicts, self._last)
        self.answers_s.append(answer_s)
        self._clock.sleep({"silent": answer_s, "timeout": connect_s}.get(self._last, 0.001))
        row = {"address": address, "port": port, "family": "inet", "verdict": self._last}
        return row | {"errno": self._errno, "connect_ms": 1.0, "source": None, "said": None}


def join(
    monkeypatch: pytest.MonkeyPatch,
    *verdicts: str,
    launch: Launch,
    wait_s: float = 300.0,
    **more: Any,
) -> tuple[Reach, float, Kernel]:
    clock = Clock()
    kernel = Kernel(clock, *verdicts, **more)
    monkeypatch.setattr(time, "monotonic", clock.monotonic)
    monkeypatch.setattr(time, "sleep", clock.sleep)
    monkeypatch.setattr(_core, "resolve", kernel.resolve)
    monkeypatch.setattr(_core, "store_greet", kernel.store_greet)
    monkeypatch.setattr(_core, "host_name", lambda: "nodeb")
    end = reach.Endpoint("nodea", 29500, launch, False, clock.now + wait_s)
    before = clock.now
    found = reach.join(end, lambda reach: None)
    return found, clock.now - before, kernel


def test_a_store_that_comes_later_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    found, seconds, _ = join(monkeypatch, *["refused"] * 50, "store", launch=agent(1))
    assert found.outcome == "ok"
    assert 5 < seconds < 20
    assert found.tries == 51


def test_a_store_whose_name_server_is_silent_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _, kernel = join(monkeypatch, "silent", "store", launch=agent(1), slow_names=True)
    assert found.outcome == "ok"
    assert kernel.answers_s == [2.5, 28.0]


def test_a_silent_stranger_behind_slow_names_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    found, seconds, _ = join(monkeypatch, "silent", launch=agent(1), slow_names=True)
    assert found.outcome == "silent"
    assert 30 <= seconds <= 35


@pytest.mark.parametrize(
    ("verdict", "outcome", "least_s", "most_s"),
    [
        ("not-a-store", "not-a-store", 1, 3),
        ("silent", "silent", 5, 7),
        ("timeout", "timeout", 6, 9),
        ("unreachable", "unreachable", 4, 9),
        ("prohibited", "prohibited", 4, 9),
        ("refused", "refused", 300, 301),
    ],
)
def test_what_does_not_mend_itself_ends_in_time(
    monkeypatch: pytest.MonkeyPatch, verdict: str, outcome: str, least_s: float, most_s: float
) -> None:
    found, seconds, _ = join(monkeypatch, verdict, launch=agent(1))
    assert found.outcome == outcome
    assert least_s <= seconds <= most_s


@pytest.mark.parametrize("verdict", ["silent", "refused", "timeout"])
def test_the_deadline_is_kept(monkeypatch: pytest.MonkeyPatch, verdict: str) -> None:
    _, seconds, _ = join(monkeypatch, verdict, wait_s=5.0, launch=agent(1))
    assert 4.9 <= seconds <= 7.5


def test_a_name_that_is_loopback_here_ends_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    found, seconds, _ = join(monkeypatch, "refused", launch=agent(1), address="127.0.1.1")
    assert found.outcome == "loopback"
    assert seconds < 7


def test_a_rank_beside_the_master_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the master's own host its name may well be loopback."""
    monkeypatch.setattr(_core, "host_name", lambda: "nodea.cluster")
    clock_end = reach.Endpoint("nodea", 29500, rank(1, "nodea"), False, 0.0)
    seen = Reach("nodea", 29500, "join", "refused")
    seen.resolution = resolution("127.0.1.1")
    assert reach.points_at_itself(clock_end, seen) is False


def test_an_address_that_this_host_cannot_use_is_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, _, _ = join(monkeypatch, "local-error", launch=agent(1), errno=errno.EAFNOSUPPORT)
    assert found.outcome == "failed"
    assert found.detail == "Address family not supported by protocol"


def test_what_is_said_while_waiting_steers_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting = Waiting(agent(0), 2, 300.0)
    monkeypatch.setattr("ptnet.waiting.QUIET_S", -1.0)
    evil = RankCard("node\x1b]0;b\r", 1, agent(1))
    waiting.gathering(Job(cards=[evil]), 1, 9.0)
    assert "1 of 2 nodes are here: node?]0;b? (node rank 1)" in capsys.readouterr().err
