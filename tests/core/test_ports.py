"""Listeners equal `ss`; the bind test is that of torch's store."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from netns import Netns, netns

from ptnet import _core

SERVER = """
import os, socket, sys, json
def listen(family, address, port, v6only=None, device=None):
    s = socket.socket(family)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if v6only is not None: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, v6only)
    if device: s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
    s.bind((address, port)); s.listen(7)
    return s
A, B = socket.AF_INET, socket.AF_INET6
held = [
    listen(A, "0.0.0.0", 4001), listen(A, "127.0.0.1", 4002), listen(A, "10.1.0.1", 4003),
    listen(B, "::", 4004, 0), listen(B, "::", 4005, 1), listen(B, "::1", 4006),
    listen(A, "0.0.0.0", 4007, device="v0"),
]
os.setuid(65534)
held.append(listen(A, "0.0.0.0", 4008))
print("ready", os.getpid(), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Netns, int]]:
    with netns() as space:
        space.ip("link add v0 type veth peer name v1")
        space.ip("addr add 10.1.0.1/24 dev v0")
        space.ip("link set v0 up")
        with subprocess.Popen(
            space.argv(SERVER), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout
            assert server.stdin
            pid = int(server.stdout.readline().split()[1])
            yield space, pid
            server.stdin.close()


def read_ss(space: Netns) -> set[tuple[str, int, str]]:
    rows = set()
    for line in space.run("ss", "-H", "-ltn").splitlines():
        address, _, port = line.split()[3].rpartition(":")
        bare = address.strip("[]").partition("%")[0].replace("*", "::")
        rows.add((bare.strip("[]"), int(port), line.split()[2]))
    return rows


def test_listeners_equal_ss(served: tuple[Netns, int]) -> None:
    space, _ = served
    rows = space.python("core.listeners()")
    assert {(r["address"], r["port"], str(r["backlog"])) for r in rows} == read_ss(space)
    assert len(rows) == 8


def test_what_a_listener_is(served: tuple[Netns, int]) -> None:
    space, pid = served
    rows = {r["port"]: r for r in space.python("core.listeners()")}
    assert [rows[p]["v6only"] for p in (4001, 4004, 4005)] == [None, False, True]
    assert [rows[p]["family"] for p in (4003, 4006)] == ["inet", "inet6"]
    assert rows[4007]["interface"] == "v0"
    assert rows[4001]["interface"] is None
    assert (rows[4001]["uid"], rows[4008]["uid"]) == (0, 65534)
    assert {r["pid"] for r in rows.values()} == {pid}
    assert rows[4001]["command"].startswith("python")
    stat = Path(f"/proc/{pid}/stat").read_text()
    assert rows[4001]["ppid"] == int(stat.rpartition(")")[2].split()[1])


def test_an_owner_that_may_not_be_seen_is_unknown(served: tuple[Netns, int]) -> None:
    space, _ = served
    rows = space.python("core.listeners()", prelude="import os; os.setuid(12345)")
    assert len(rows) == 8
    assert {(r["pid"], r["command"], r["ppid"]) for r in rows} == {(None, None, None)}


def test_without_sock_diag_the_files_say_the_same(served: tuple[Netns, int]) -> None:
    """A seccomp filter, as gVisor and some sandboxes have, that refuses netlink of sock_diag."""
    space, _ = served
    refuse = """
import ctypes, errno, struct
libc = ctypes.CDLL(None, use_errno=True)
# socket(2) whose third argument is NETLINK_SOCK_DIAG (4) fails with EPROTONOSUPPORT
rules = [(0x20, 0, 0, 0), (0x15, 0, 5, 41), (0x20, 0, 0, 16), (0x15, 0, 3, 16), (0x20, 0, 0, 32),
         (0x15, 0, 1, 4), (0x06, 0, 0, 0x00050000 | errno.EPROTONOSUPPORT),
         (0x06, 0, 0, 0x7fff0000)]
code = b"".join(struct.pack("HBBI", *r) for r in rules)
buf = ctypes.create_string_buffer(code)
prog = ctypes.create_string_buffer(struct.pack("H6xQ", len(rules), ctypes.addressof(buf)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, prog) == 0, ctypes.get_errno()
"""
    whole = space.python("core.listeners()")
    by_file = space.python("core.listeners()", prelude=refuse)
    kept = ("address", "port", "family", "uid", "inode", "pid", "command")
    assert [{k: r[k] for k in kept} for r in by_file] == [{k: r[k] for k in kept} for r in whole]
    assert {r["backlog"] for r in by_file} == {None}
    counts = space.python("core.socket_counts()", prelude=refuse)
    assert counts == space.python("core.socket_counts()")


def test_counts_equal_ss(served: tuple[Netns, int]) -> None:
    space, _ = served
    with ExitStack() as stack:
        client = subprocess.Popen(
            space.argv(
                "import socket, sys; to = ('127.0.0.1', 4002); "
                "a = [socket.create_connection(to) for _ in range(3)]; "
                "print('ready', flush=True); sys.stdin.read()"
            ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        stack.enter_context(client)
        assert client.stdout
        client.stdout.readline()
        states = [line.split()[0] for line in space.run("ss", "-H", "-tan").splitlines()]
        counts = space.python("core.socket_counts()")
        assert client.stdin
        client.stdin.close()
    for name, state in (("established", "ESTAB"), ("listen", "LISTEN"), ("time_wait", "TIME-WAIT")):
        assert counts[name] == states.count(state), name
    assert counts["established"] == 6


def test_port_ranges_are_the_sysctls() -> None:
    with netns() as space:
        space.run("sysctl", "-qw", "net.ipv4.ip_local_port_range=40000 41000")
        space.run("sysctl", "-qw", "net.ipv4.ip_local_reserved_ports=40010,40020-40030")
        space.run("sysctl", "-qw", "net.ipv4.ip_unprivileged_port_start=80")
        ranges = space.python("core.port_ranges()")
    assert ranges == {
        "ephemeral_first": 40000,
        "ephemeral_last": 41000,
        "reserved": [[40010, 40010], [40020, 40030]],
        "unprivileged_start": 80,
    }


def test_nobody_connects_while_a_port_is_tried() -> None:
    """A rank that dials meanwhile must not take the test for the master."""
    dial = """
import socket, sys
port, met = int(sys.argv[1]), 0
for n in range(4000):
    with socket.socket() as s:
        s.settimeout(0.002)
        met += s.connect_ex(("127.0.0.1", port)) == 0
print(met)
"""
    with netns() as space:
        prelude = f"""
import subprocess, sys
port = 29500
argv = [sys.executable, "-c", {dial!r}, str(port)]
child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
def ask():
    tries = 0
    while child.poll() is None:
        assert core.bind_try(port)["ok"]
        tries += 1
    return [tries, int(child.stdout.read())]
"""
        tries, met = space.python("ask()", prelude=prelude)
    assert tries > 1000
    assert met == 0


@pytest.mark.parametrize(
    ("family", "address"),
    [(socket.AF_INET6, "::"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET, "127.0.0.1")],
)
def test_a_port_that_somebody_holds_is_in_use(family: int, address: str) -> None:
    with socket.socket(family) as held:
        held.bind((address, 0))
        held.listen()
        tried = _core.bind_try(held.getsockname()[1])
    assert (tried["ok"], tried["error"], tried["errno"]) == (False, "in-use", 98)


def test_a_free_port_is_free_also_in_time_wait() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with closing(socket.create_connection(("127.0.0.1", port))):
            server.accept()[0].close()  # this end closes first: it keeps the TIME_WAIT
    assert _core.bind_try(port)["ok"] is True
    assert _core.bind_try(port)["address"] == "::"


def test_a_privileged_port_is_not_permitted() -> None:
    with netns() as space:
        tried = space.python("core.bind_try(97)", prelude="import os; os.setuid(65534)")
    assert (tried["ok"], tried["error"]) == (False, "not-permitted")


def test_without_ipv6_the_test_is_of_ipv4() -> None:
    with netns() as space:
        space.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
        tried = space.python("core.bind_try(29500)")
    assert tried["ok"] is True


def test_an_address_is_local_if_it_can_be_bound() -> None:
    assert _core.is_local("127.0.0.2") is True
    assert _core.is_local("192.0.2.77") is False
