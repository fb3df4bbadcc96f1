"""A real c10d store: how it is greeted, seen and joined."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from netns import Netns, deaf_name_server, netns

from ptnet import _core, dist
from ptnet.board import VERDICT, StoreBoard
from ptnet.dist import join_store

STORE = """
import sys
from torch.distributed import TCPStore
s = TCPStore("127.0.0.1", int(sys.argv[1]), None, True, wait_for_workers=False, use_libuv={libuv})
print("ready", flush=True)
sys.stdin.read()
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@contextmanager
def store(port: int, libuv: bool, space: Netns | None = None) -> Iterator[subprocess.Popen[str]]:
    """A store of another process; its stderr must stay empty."""
    code = STORE.format(libuv=libuv)
    with subprocess.Popen(
        [*(space.argv(code) if space else [sys.executable, "-c", code]), str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout
        assert child.stdin
        assert child.stderr
        assert child.stdout.readline() == "ready\n"
        yield child
        child.stdin.close()
        assert child.stderr.read() == ""
        assert child.wait(10) == 0


@pytest.mark.parametrize("libuv", [True, False])
def test_a_real_store_is_seen_and_leaves_the_port(libuv: bool) -> None:
    port = free_port()
    assert _core.bind_try(port)["ok"] is True
    with store(port, libuv) as child:
        tried = _core.bind_try(port)
        row = next(r for r in _core.listeners() if r["port"] == port)
    assert tried["error"] == "in-use"
    assert (row["pid"], row["address"]) == (child.pid, "::")


@pytest.mark.parametrize("libuv", [True, False])
@pytest.mark.parametrize(
    ("address", "v6only", "outcome"),
    [
        ("::", 0, "in-use"),
        ("::", 1, "0.0.0.0"),
        ("::1", 1, "0.0.0.0"),
        ("0.0.0.0", None, "in-use"),
        ("127.0.0.1", None, "in-use"),
    ],
)
def test_the_bind_test_foretells_the_store(
    address: str, v6only: int | None, outcome: str, libuv: bool
) -> None:
    """What stands in torch's way, and what it steps around by going on to IPv4."""
    code = f"""
from torch.distributed import TCPStore
TCPStore("127.0.0.1", {{}}, None, True, wait_for_workers=False, use_libuv={libuv})
"""
    with socket.socket(socket.AF_INET if v6only is None else socket.AF_INET6) as held:
        if v6only is not None:
            held.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, v6only)
        held.bind((address, 0))
        held.listen()
        port = held.getsockname()[1]
        tried = _core.bind_try(port)
        torch = subprocess.run([sys.executable, "-c", code.format(port)], capture_output=True)
    assert (tried["error"] or tried["address"]) == outcome
    assert tried["ok"] is (torch.returncode == 0), torch.stderr


@pytest.fixture
def nameless() -> Iterator[Netns]:
    """No name server: torch's store looks up the name of each peer before it serves it."""
    with netns() as space:
        etc = Path(f"/etc/netns/{space.name}")
        etc.mkdir(parents=True)
        (etc / "nsswitch.conf").write_text("hosts: files\n")
        yield space
        shutil.rmtree(etc)


GREETINGS = """
import os, signal, sys
from ptnet.dist import join_store
client = join_store("127.0.0.1", 29500)
client.set("a", "1")
before = client.num_keys()
def greet(times):
    return [core.store_greet("127.0.0.1", 29500, 2.0, 0.5)["verdict"] for _ in range(times)]
first = greet(100)
os.kill({pid}, signal.SIGSTOP)
busy = greet(3)
os.kill({pid}, signal.SIGCONT)
"""


@pytest.mark.parametrize("libuv", [True, False])
def test_greetings_leave_no_trace(libuv: bool, nameless: Netns) -> None:
    """Neither a hundred, nor three that give up while the store is held up."""
    with store(29500, libuv, nameless) as child:
        first, busy, after, before, keys, value = nameless.python(
            "[first, busy, greet(2), before, client.num_keys(), client.get('a').decode()]",
            prelude=GREETINGS.format(pid=child.pid),
        )
    assert (first, busy, after) == (["store"] * 100, ["silent"] * 3, ["store"] * 2)
    assert (keys, value) == (before, "1")


DEAF = """
import subprocess, sys, time
child = subprocess.Popen(
    [sys.executable, "-c", {store!r}, "29500"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
)
seen = ["refused"]
while seen[-1] != "store" and len(seen) < 9:
    verdict = core.store_greet("127.0.0.1", 29500, 2.0, 0.2)["verdict"]
    if verdict != seen[-1]:
        seen.append(verdict)
    time.sleep(0.01)
child.communicate()
"""


@pytest.mark.parametrize("libuv", [True, False])
def test_a_store_is_silent_while_its_name_server_is(libuv: bool) -> None:
    """Until torch has given up looking up its first peer's name: no stranger, only late."""
    with netns() as space, deaf_name_server(space):
        seen = space.python("seen", prelude=DEAF.format(store=STORE.format(libuv=libuv)))
    assert seen == ["refused", "silent", "store"]


def test_a_store_board_keeps_to_its_prefix() -> None:
    port = free_port()
    with store(port, True):
        client = join_store("127.0.0.1", port)
        one, two = (StoreBoard(client, "ptnet/job/0/ranks") for _ in range(2))
        assert [one.add("slots"), two.add("slots"), one.count("slots")] == [1, 2, 2]
        assert one.put_once(VERDICT, b"x") == b"x"
        assert two.put_once(VERDICT, b"y") == b"x"
        two.put("card/1", b"\x00\xff")
        assert one.get(["card/1", "card/2", VERDICT]) == [b"\x00\xff", None, b"x"]
        assert client.get("ptnet/job/0/ranks/verdict") == b"x"
        del client, one, two


def test_a_store_that_lets_nobody_in_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's own constructor waits for ever, deaf to Ctrl-C."""
    monkeypatch.setattr(dist, "JOIN_S", 0.5)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(RuntimeError, match="lets no client in"),
    ):
        join_store("127.0.0.1", silent.getsockname()[1])
