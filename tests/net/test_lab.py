"""The laboratory itself: hosts reach each other, keep their things private, and leave nothing."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab import ROOT, Lab

CONNECT = """
import socket, sys
with socket.create_connection((sys.argv[1], 4000), timeout=5) as peer:
    print(peer.recv(100).decode())
"""
SERVE = """
import socket
with socket.create_server(("", 4000)) as server:
    print("listening")
    peer, address = server.accept()
    peer.sendall(f"{socket.gethostname()} sees {address[0]}".encode())
"""
GREET = "import socket; socket.create_server(('127.0.0.1', 0)); print(socket.gethostname())"
LOOK_UP = "import socket, sys; print(socket.gethostbyname(sys.argv[1]))"
LEAVE_BEHIND = """
import subprocess, sys
print(subprocess.Popen(sys.argv[1:], start_new_session=True).pid)
"""
OWN_A_LAB = """
import os
from lab import Lab
with Lab({"nodea": "10.77.0.1/24"}) as lab:
    sleeper = lab["nodea"].start(["sleep", "600"])
    print(lab["nodea"].namespace, sleeper.pid, flush=True)
    os.kill(os.getpid(), 9)
"""
WAIT = "import time; print('here'); time.sleep(600)"


@pytest.fixture(name="lab")
def two_hosts() -> Iterator[Lab]:
    with Lab({"nodea": "10.77.0.1/24", "nodeb": "10.77.0.2/24"}) as lab:
        yield lab


def python(code: str, *words: str) -> list[str]:
    return [sys.executable, "-c", code, *words]


def ended(pidfd: int) -> bool:
    return bool(select.select([pidfd], [], [], 0)[0])


def namespaces() -> str:
    return subprocess.run(["ip", "netns", "list"], text=True, capture_output=True).stdout


def test_hosts_reach_each_other_by_name(lab: Lab) -> None:
    server = lab["nodea"].start(python(SERVE))
    server.wait_for("listening")
    client = lab["nodeb"].run(python(CONNECT, "nodea"))
    assert client.stdout == "nodea sees 10.77.0.2\n"
    assert server.wait(10).returncode == 0


def test_host_name_and_loopback_are_each_hosts_own(lab: Lab) -> None:
    before = socket.gethostname()
    assert [host.run(python(GREET)).stdout for host in lab] == ["nodea\n", "nodeb\n"]
    assert socket.gethostname() == before


def test_names_are_private(lab: Lab) -> None:
    before = Path("/etc/hosts").read_text()
    lab["nodeb"].hosts({"nodea": "127.0.1.1"})
    assert lab["nodea"].run(python(LOOK_UP, "nodea")).stdout == "10.77.0.1\n"
    assert lab["nodeb"].run(python(LOOK_UP, "nodea")).stdout == "127.0.1.1\n"
    assert Path("/etc/hosts").read_text() == before


def test_unknown_name_fails_at_once(lab: Lab) -> None:
    unknown = lab["nodea"].start(python(LOOK_UP, "nosuchhost")).wait(10)
    assert "Name or service not known" in unknown.stderr
    assert unknown.seconds < 2


def test_signals_reach_the_program(lab: Lab) -> None:
    program = lab["nodea"].start(python("import os; print(os.getpid(), flush=True);" + WAIT))
    program.wait_for("here")
    assert program.stdout.split()[0] == str(program.pid)
    program.signal(signal.SIGTERM)
    assert program.wait(10).returncode == -signal.SIGTERM


def test_wait_gives_up_with_the_output(lab: Lab) -> None:
    program = lab["nodea"].start(python(WAIT))
    program.wait_for("here")
    with pytest.raises(TimeoutError, match="here"):
        program.wait(0.1)


def test_the_callers_settings_do_not_leak(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASTER_ADDR", "elsewhere")
    show = "import os; print(os.environ.get('MASTER_ADDR'), os.environ.get('RANK'))"
    assert lab["nodea"].run(python(show), env={"RANK": "3"}).stdout == "None 3\n"


def test_firewall_sysctl_and_ip_change_one_host(lab: Lab) -> None:
    server = lab["nodea"].start(python(SERVE))
    server.wait_for("listening")
    lab["nodea"].nft("add table inet t; add chain inet t in { type filter hook input priority 0; }")
    lab["nodea"].nft("add rule inet t in tcp dport 4000 reject with tcp reset")
    assert "Connection refused" in lab["nodeb"].run(python(CONNECT, "nodea")).stderr
    lab["nodeb"].sysctl("net.ipv4.ip_default_ttl", 33)
    ttl = ["cat", "/proc/sys/net/ipv4/ip_default_ttl"]
    assert [host.run(ttl).stdout for host in lab] == ["64\n", "33\n"]
    lab["nodeb"].ip("link", "set", "eth0", "mtu", "1400")
    assert "mtu 1400" in lab["nodeb"].ip("link", "show", "eth0")
    assert "mtu 1500" in lab["nodea"].ip("link", "show", "eth0")


def test_a_wrong_command_says_what_is_wrong(lab: Lab) -> None:
    with pytest.raises(RuntimeError, match="syntax error"):
        lab["nodea"].nft("nonsense")


def test_nothing_is_left_after_a_failure() -> None:
    left: dict[str, Any] = {}
    with pytest.raises(ZeroDivisionError):
        leave_by_an_error(left)
    assert ended(left["pidfd"])
    os.close(left["pidfd"])
    assert left["namespace"] not in namespaces()
    assert not left["files"].exists()


def leave_by_an_error(left: dict[str, Any]) -> None:
    with Lab({"nodea": "10.77.0.1/24"}) as lab:
        host = lab["nodea"]
        left["pidfd"] = os.pidfd_open(int(host.run(python(LEAVE_BEHIND, "sleep", "600")).stdout))
        left["namespace"] = host.namespace
        left["files"] = Path("/etc/netns", host.namespace)
        assert left["files"].is_dir()
        assert host.namespace in namespaces()
        assert not ended(left["pidfd"])
        raise ZeroDivisionError


def test_nothing_is_left_when_the_owner_is_killed() -> None:
    with subprocess.Popen(
        python(OWN_A_LAB),
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        namespace, pid = owner.stdout.readline().split()
    assert owner.returncode == -signal.SIGKILL
    limit = time.monotonic() + 20
    while namespace in namespaces() or Path("/etc/netns", namespace).exists():
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert not Path("/proc", pid, "cwd").is_dir()


def test_nothing_is_left_when_the_lab_cannot_be_built() -> None:
    with pytest.raises(RuntimeError, match="not an address"), Lab({"nodea": "not an address"}):
        pass
    mine = f"lab{os.getpid()}-"
    assert mine not in namespaces()
    assert not list(Path("/etc/netns").glob(f"{mine}*"))


def test_ipv6_hosts_reach_each_other() -> None:
    with Lab({"nodea": "fd77::1/64", "nodeb": "fd77::2/64"}) as lab:
        listen = 'socket.create_server(("::", 4000), family=socket.AF_INET6)'
        server = lab["nodea"].start(
            python(SERVE.replace('socket.create_server(("", 4000))', listen))
        )
        server.wait_for("listening")
        assert lab["nodeb"].run(python(CONNECT, "nodea")).stdout == "nodea sees fd77::2\n"
