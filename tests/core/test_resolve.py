"""Names resolve as getaddrinfo resolves them."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from netns import Netns, deaf_name_server, netns

from ptnet import _core
from ptnet.errors import UsageError

HOSTS = """\
127.0.0.1 localhost
10.1.0.1 here.example here
10.1.0.2 there
fd00:1::1 both
10.1.0.1 both
"""


@pytest.fixture
def space() -> Iterator[Netns]:
    with netns() as made:
        etc = Path(f"/etc/netns/{made.name}")
        etc.mkdir(parents=True)
        (etc / "hosts").write_text(HOSTS)
        (etc / "resolv.conf").write_text("")
        made.ip("link add v0 type veth peer name v1")
        made.ip("addr add 10.1.0.1/24 dev v0")
        made.ip("addr add fd00:1::1/64 dev v0 nodad")
        made.ip("link set v0 up")
        yield made
        shutil.rmtree(etc)


def test_addresses_come_in_getaddrinfos_order(space: Netns) -> None:
    expected = space.python(
        "[a[4][0] for a in socket.getaddrinfo('both', None, type=socket.SOCK_STREAM)]",
        prelude="import socket",
    )
    (row,) = space.python("core.resolve(['both'], 2.0)")
    assert [a["address"] for a in row["addresses"]] == expected
    assert sorted(expected) == ["10.1.0.1", "fd00:1::1"]
    assert {a["family"] for a in row["addresses"]} == {"inet", "inet6"}
    assert row["error"] is None


def test_what_is_local_can_be_bound(space: Netns) -> None:
    rows = space.python("core.resolve(['here', 'there', 'localhost'], 2.0)")
    assert [r["name"] for r in rows] == ["here", "there", "localhost"]
    assert [r["addresses"][0]["local"] for r in rows] == [True, False, True]


def test_reverse_and_canonical_names(space: Netns) -> None:
    (row,) = space.python("core.resolve(['here'], 2.0, True, True)")
    assert row["canonical"] == "here.example"
    assert row["addresses"][0]["reverse"] == "here.example"
    assert row["addresses"][0]["reverse_ms"] >= 0
    (plain,) = space.python("core.resolve(['here'], 2.0)")
    assert (plain["canonical"], plain["addresses"][0]["reverse"]) == (None, None)


def test_a_name_that_is_not_there_is_an_answer(space: Netns) -> None:
    (row,) = space.python("core.resolve(['nosuchhost'], 2.0)")
    assert row["error"] in ("no-such-name", "try-again")
    assert row["error_text"]
    assert row["addresses"] == []


def test_a_deaf_name_server_holds_up_no_other_name() -> None:
    with netns() as made, deaf_name_server(made):
        rows = made.python("core.resolve(['some.name', 'localhost'], 0.5)")
    assert [r["error"] for r in rows] == ["timeout", None]
    assert rows[1]["addresses"][0]["address"] == "127.0.0.1"


def test_addresses_outlive_a_deaf_reverse_look_up() -> None:
    with netns() as made, deaf_name_server(made):
        (row,) = made.python("core.resolve(['10.1.0.9'], 0.5, True)")
    (address,) = row["addresses"]
    assert (row["error"], address["address"]) == (None, "10.1.0.9")
    assert (address["reverse"], address["reverse_ms"]) == (None, None)
    assert row["time_ms"] < 500


def test_numbers_are_addresses() -> None:
    rows = _core.resolve(["127.0.0.1", "::1"], 2.0)
    assert [r["addresses"][0]["address"] for r in rows] == ["127.0.0.1", "::1"]
    assert _core.resolve([], 1.0) == []


def test_many_names_at_once() -> None:
    names = [f"127.0.0.{n}" for n in range(1, 200)]
    assert [r["addresses"][0]["address"] for r in _core.resolve(names, 10.0)] == names


@pytest.mark.parametrize("names", [["a\0b"], ["x"] * 300])
def test_unusable_lists_are_refused(names: list[str]) -> None:
    with pytest.raises(UsageError):
        _core.resolve(names, 1.0)


def test_the_host_name_is_the_sockets() -> None:
    assert _core.host_name() == socket.gethostname()
