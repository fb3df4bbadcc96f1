"""A real c10d store: how it is greeted, seen and joined."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ptnet import _core
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
def store(port: int, libuv: bool) -> Iterator[subprocess.Popen[str]]:
    """A store of another process; its stderr must stay empty."""
    with subprocess.Popen(
        [sys.executable, "-c", STORE.format(libuv=libuv), str(port)],
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


@pytest.mark.parametrize("libuv", [True, False])
def test_greetings_leave_no_trace(libuv: bool) -> None:
    port = free_port()
    with store(port, libuv):
        client = join_store("127.0.0.1", port)
        client.set("a", "1")
        before = client.num_keys()
        greetings = [_core.store_greet("127.0.0.1", port, 2.0, 8.0) for _ in range(60)]
        assert {g["verdict"] for g in greetings} == {"store"}
        assert client.num_keys() == before
        assert client.get("a") == b"1"
        del client


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
