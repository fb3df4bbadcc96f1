"""What a greeting says of everything that is no c10d store."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from netns import Netns, deaf_name_server, environment, netns

from ptnet import _core
from ptnet.errors import UsageError


class Quiet(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def server(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port where each connection is given to `answer` and then closed."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    peer, _ = listening.accept()
                except OSError:
                    return
                with peer:
                    answer(peer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def http(peer: socket.socket) -> None:
    peer.recv(100)
    peer.sendall(b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n")


def ssh(peer: socket.socket) -> None:
    peer.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    peer.recv(100)


def one_byte(peer: socket.socket) -> None:
    peer.sendall(b"x")
    peer.recv(100)
    peer.recv(100)


def short(peer: socket.socket) -> None:
    peer.sendall(b"no\n")
    peer.shutdown(socket.SHUT_WR)
    peer.recv(100)


def echo(peer: socket.socket) -> None:
    peer.sendall(peer.recv(100))


def close(peer: socket.socket) -> None:
    pass


def reset(peer: socket.socket) -> None:
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")


def silent(peer: socket.socket) -> None:
    peer.recv(100)
    peer.recv(100)  # until the other side gives up


@pytest.mark.parametrize(
    ("answer", "verdict", "said"),
    [
        (http, "not-a-store", "HTTP/1.1 400 Bad Request"),
        (ssh, "not-a-store", "SSH-2.0-OpenSSH_9.2"),
        (one_byte, "not-a-store", "x"),
        (short, "not-a-store", "no"),
        (close, "not-a-store", None),
        (reset, "not-a-store", None),
        (silent, "silent", None),
    ],
)
def test_a_stranger_is_known(
    answer: Callable[[socket.socket], None], verdict: str, said: str | None
) -> None:
    with server(answer) as port:
        greeting = _core.store_greet("127.0.0.1", port, 2.0, 0.3)
    assert (greeting["verdict"], greeting["said"]) == (verdict, said)
    if answer is not reset:  # that may come before the connection is seen
        assert greeting["connect_ms"] < 1000
        assert greeting["source"] == "127.0.0.1"


def test_an_echo_is_no_store() -> None:
    with server(echo) as port:
        assert _core.store_greet("127.0.0.1", port, 2.0, 1.0)["verdict"] == "not-a-store"


def test_an_http_server_is_made_to_speak() -> None:
    """It waits for the end of a line, as many servers do."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as http_server:
        thread = threading.Thread(target=http_server.serve_forever)
        thread.start()
        greeting = _core.store_greet("127.0.0.1", http_server.server_port, 2.0, 10.0)
        http_server.shutdown()
        thread.join()
    assert greeting["verdict"] == "not-a-store"
    assert "HTML" in greeting["said"]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_connection_with_itself_is_a_refusal(address: str) -> None:
    """A port of the ephemeral range on which nobody listens may be given to the connection."""
    ports = "net.ipv4.ip_local_port_range=40000 40000"
    with netns() as space, netns() as other:
        for each in (space, other):
            each.run("sysctl", "-qw", ports)
        greeting = space.python(f"core.store_greet('{address}', 40000, 1.0, 1.0)")
        prelude = f"import socket; s = socket.create_connection(('{address}', 40000))"
        assert other.python("s.getsockname() == s.getpeername()", prelude=prelude)
    assert (greeting["verdict"], greeting["errno"]) == ("refused", 111)
    assert (greeting["connect_ms"], greeting["said"]) == (None, None)


def test_a_closed_port_refuses() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        greeting = _core.store_greet("127.0.0.1", closed.getsockname()[1], 2.0, 1.0)
    assert (greeting["verdict"], greeting["errno"]) == ("refused", 111)
    assert greeting["connect_ms"] is None


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Netns, Netns]]:
    with netns() as here, netns() as there:
        here.ip(f"link add v0 type veth peer name v1 netns {there.name}")
        for space, link, n in ((here, "v0", 1), (there, "v1", 2)):
            space.ip(f"addr add 10.1.0.{n}/24 dev {link}")
            space.ip(f"addr add fd00:1::{n}/64 dev {link} nodad")
            space.ip(f"link set {link} up")
        yield here, there


V4, V6 = "10.1.0.2", "fd00:1::2"


@pytest.mark.parametrize(
    ("address", "rule", "verdict"),
    [
        (V4, "drop", "timeout"),
        (V6, "drop", "timeout"),
        (V4, "reject with tcp reset", "refused"),
        (V6, "reject with tcp reset", "refused"),
        (V4, "reject with icmp type port-unreachable", "refused"),
        (V6, "reject with icmpv6 type port-unreachable", "refused"),
        (V4, "reject with icmp type host-unreachable", "unreachable"),
        (V4, "reject with icmp type net-unreachable", "unreachable"),
        (V6, "reject with icmpv6 type no-route", "unreachable"),
        (V4, "reject with icmp type admin-prohibited", "prohibited"),
        (V4, "reject with icmp type host-prohibited", "prohibited"),
        (V6, "reject with icmpv6 type admin-prohibited", "prohibited"),
    ],
)
def test_a_firewall_is_read(
    pair: tuple[Netns, Netns], address: str, rule: str, verdict: str
) -> None:
    here, there = pair
    rules = (
        "flush ruleset; table inet t { chain c { type filter hook input priority 0; "
        f"tcp dport 29500 {rule}; }}; }}"
    )
    subprocess.run(
        ["ip", "netns", "exec", there.name, "nft", "-f", "-"], input=rules, text=True, check=True
    )
    greeting = here.python(f'core.store_greet("{address}", 29500, 1.5, 0.5)')
    assert greeting["verdict"] == verdict


@pytest.mark.parametrize(
    ("address", "prepare", "verdict"),
    [
        ("10.1.0.99", "", "unreachable"),  # nobody answers ARP
        ("192.0.2.1", "", "unreachable"),  # no route
        ("10.9.0.1", "route add prohibit 10.9.0.0/16", "prohibited"),
        ("10.8.0.1", "route add unreachable 10.8.0.0/16", "unreachable"),
        ("10.7.0.1", "route add blackhole 10.7.0.0/16", "local-error"),
    ],
)
def test_routes_and_absent_hosts(address: str, prepare: str, verdict: str) -> None:
    with netns() as here, netns() as there:
        here.ip(f"link add v0 type veth peer name v1 netns {there.name}")
        here.ip("addr add 10.1.0.1/24 dev v0")
        here.ip("link set v0 up")
        there.ip("link set v1 up")
        if prepare:
            here.ip(prepare)
        greeting = here.python(f'core.store_greet("{address}", 29500, 5.0, 0.5)')
    assert greeting["verdict"] == verdict


@pytest.mark.parametrize("address", ["", "localhost", "[::1]"])
def test_only_numeric_addresses_are_taken(address: str) -> None:
    with pytest.raises(UsageError, match="not a numeric address"):
        _core.store_greet(address, 29500, 1.0, 1.0)


def test_a_port_out_of_range_is_named() -> None:
    with pytest.raises(UsageError, match="port 70000"):
        _core.store_greet("127.0.0.1", 70000, 1.0, 1.0)


INTERRUPT = """
import signal, sys, threading, time, os
from ptnet import _core
def send():
    time.sleep(0.3)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
sent = []
threading.Thread(target=send).start()
try:
    {call}
except KeyboardInterrupt:
    print(time.monotonic() - sent[0])
else:
    print("not interrupted")
"""


def interrupted_after(space: Netns, call: str) -> float:
    done = subprocess.run(
        space.argv(INTERRUPT.format(call=call)),
        capture_output=True,
        text=True,
        env=environment(),
        timeout=30,
        check=True,
    )
    return float(done.stdout)


def test_ctrl_c_ends_a_connection(pair: tuple[Netns, Netns]) -> None:
    here, there = pair
    rules = "flush ruleset; table inet t { chain c { type filter hook input priority 0; drop; }; }"
    subprocess.run(
        ["ip", "netns", "exec", there.name, "nft", "-f", "-"], input=rules, text=True, check=True
    )
    call = f'_core.store_greet("{V4}", 29500, 20.0, 1.0)'
    assert interrupted_after(here, call) < 0.15


def test_ctrl_c_ends_a_look_up() -> None:
    with netns() as space, deaf_name_server(space):
        assert interrupted_after(space, "_core.resolve(['some.name'], 20.0)") < 0.15
