"""Hosts in network namespaces: a cluster on one machine, for tests and benchmarks. Needs root.

    with Lab({"nodea": "10.77.0.1/24", "nodeb": "10.77.0.2/24"}) as lab:
        server = lab["nodea"].start(["torchrun", …])
        lab["nodeb"].hosts({"nodea": "127.0.1.1"})
        result = server.wait(timeout=60)

Each host has its own network (`lo` and `eth0`), host name, /etc/hosts and /etc/nsswitch.conf. The
`eth0`s meet on a bridge in one more namespace. Leaving the block ends every process that runs in
these namespaces and removes all of it; a janitor process does that, also when we are killed.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
ETC = Path("/etc/netns")

_numbers = itertools.count()
_NAME_AND_EXEC = 'hostname "$1" && shift && exec "$@"'


@dataclass(frozen=True)
class Result:
    """How a program ended; `seconds` is from its start to its end."""

    returncode: int
    seconds: float
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


class Running:
    """A program on a host. Its output goes to files, so it never waits for a reader."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], folder: Path) -> None:
        self._out, self._err = folder / "stdout", folder / "stderr"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._started = time.monotonic()
            self._process = subprocess.Popen(
                argv,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self._ended = 0.0
        self._done = threading.Event()
        threading.Thread(target=self._reap, daemon=True).start()

    def _reap(self) -> None:
        self._process.wait()
        self._ended = time.monotonic()
        self._done.set()

    @property
    def pid(self) -> int:
        """Of the program itself: what stands in front of it replaces itself by exec."""
        return self._process.pid

    @property
    def stdout(self) -> str:
        return self._out.read_text(errors="replace")

    @property
    def stderr(self) -> str:
        return self._err.read_text(errors="replace")

    def running(self) -> bool:
        return not self._done.is_set()

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def wait(self, timeout: float) -> Result:
        """The result; TimeoutError with the end of the output when it is still running."""
        if not self._done.wait(timeout):
            tail = (self.stdout + self.stderr)[-2000:]
            raise TimeoutError(f"still running after {timeout} s; its output ends with:\n{tail}")
        return Result(
            self._process.returncode, self._ended - self._started, self.stdout, self.stderr
        )

    def wait_for(self, text: str, timeout: float = 30) -> None:
        """Until the output contains `text`; an error when the program ends without it."""
        limit = time.monotonic() + timeout
        while True:
            ended = self._done.is_set()
            output = self.stdout + self.stderr
            if text in output:
                return
            if ended or time.monotonic() > limit:
                how = "ended" if ended else f"ran for {timeout} s"
                raise AssertionError(f"the program {how} without {text!r}:\n{output[-2000:]}")
            self._done.wait(0.02)

    def kill(self) -> None:
        """SIGKILL to the program and its process group."""
        if self.running():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        self._done.wait(10)


class Host:
    """One network namespace with a host name and files of its own in /etc."""

    def __init__(self, name: str, namespace: str, address: str, folder: Path) -> None:
        self.name = name
        self.namespace = namespace
        self.address = address.partition("/")[0]
        self._folder = folder
        self._commands = itertools.count()

    def etc(self, name: str, text: str) -> None:
        """Replace /etc/`name` on this host; a new name is seen by programs started afterwards."""
        (ETC / self.namespace / name).write_text(text)

    def hosts(self, names: Mapping[str, str]) -> None:
        """Replace /etc/hosts by localhost and these names."""
        lines = ["127.0.0.1 localhost", "::1 localhost"]
        lines += [f"{address} {name}" for name, address in names.items()]
        self.etc("hosts", "\n".join(lines) + "\n")

    def environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """What a program gets: little of ours, so that the caller's settings cannot matter."""
        folder = os.path.dirname(sys.executable)
        return {
            "PATH": f"{folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(self._folder),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(SOURCE),
            "PYTHONUNBUFFERED": "1",
            **(env or {}),
        }

    def start(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> Running:
        folder = self._folder / str(next(self._commands))
        folder.mkdir()
        return Running(self._enter(argv), self.environment(env), folder)

    def run(
        self, argv: Sequence[str], env: Mapping[str, str] | None = None, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        program = self.start(argv, env)
        try:
            result = program.wait(timeout)
        finally:
            program.kill()
        return subprocess.CompletedProcess(
            list(argv), result.returncode, result.stdout, result.stderr
        )

    def ip(self, *words: str) -> str:
        """`ip` in this namespace."""
        return _ip("-n", self.namespace, *words)

    def nft(self, rules: str) -> None:
        """Load nftables rules into this namespace."""
        _check(["ip", "netns", "exec", self.namespace, "nft", "-f", "-"], rules)

    def sysctl(self, key: str, value: str | int) -> None:
        """Set a kernel setting of this namespace."""
        _check(["ip", "netns", "exec", self.namespace, "sysctl", "-qw", f"{key}={value}"])

    def _enter(self, argv: Sequence[str]) -> list[str]:
        enter = ["ip", "netns", "exec", self.namespace, "unshare", "--uts"]
        return [*enter, "sh", "-c", _NAME_AND_EXEC, "sh", self.name, *argv]


class Lab:
    """Hosts by name, each with one address on a common link."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._addresses = dict(addresses)
        self._prefix = f"lab{os.getpid()}-{next(_numbers)}."
        self._hosts: dict[str, Host] = {}

    def __enter__(self) -> Lab:
        folder = Path(tempfile.mkdtemp(prefix=self._prefix))
        self._janitor = subprocess.Popen(
            [sys.executable, __file__, self._prefix, str(folder)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            self._build(folder)
        except BaseException:
            self._clean()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self._clean()

    def __getitem__(self, name: str) -> Host:
        return self._hosts[name]

    def __iter__(self) -> Iterator[Host]:
        return iter(self._hosts.values())

    def _build(self, folder: Path) -> None:
        switch = f"{self._prefix}switch"
        _add_namespace(switch)
        _ip("-n", switch, "link", "add", "br0", "up", "type", "bridge")
        for number, (name, address) in enumerate(self._addresses.items()):
            self._hosts[name] = self._add_host(folder / name, name, address)
            self._plug(self._hosts[name], address, switch, f"port{number}")
        for host in self:
            host.hosts({other.name: other.address for other in self})

    def _clean(self) -> None:
        """The end of its input is what the janitor waits for."""
        _, errors = self._janitor.communicate(timeout=60)
        if self._janitor.returncode:
            raise RuntimeError(f"the lab was not removed: {errors}")

    def _add_host(self, folder: Path, name: str, address: str) -> Host:
        host = Host(name, self._prefix + name, address, folder)
        folder.mkdir()
        (ETC / host.namespace).mkdir(parents=True)
        # Without `dns` an unknown name is "no such name" at once, instead of a look-up at
        # 127.0.0.1, which is what an empty resolv.conf means to glibc.
        host.etc("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")
        host.etc("resolv.conf", "")
        _add_namespace(host.namespace)
        return host

    def _plug(self, host: Host, address: str, switch: str, port: str) -> None:
        end = ["peer", "name", port, "netns", switch]
        _ip("link", "add", "eth0", "netns", host.namespace, "type", "veth", *end)
        _ip("-n", switch, "link", "set", port, "master", "br0", "up")
        host.ip("addr", "add", address, "dev", "eth0", *(["nodad"] if ":" in address else []))
        host.ip("link", "set", "eth0", "up")


def _check(argv: Sequence[str], text: str = "") -> str:
    done = subprocess.run(argv, input=text, text=True, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip()}")
    return done.stdout


def _ip(*words: str) -> str:
    return _check(["ip", *words])


def _add_namespace(namespace: str) -> None:
    _ip("netns", "add", namespace)
    _ip("-n", namespace, "link", "set", "lo", "up")


def _pids(namespace: str) -> set[int]:
    return {int(pid) for pid in _ip("netns", "pids", namespace).split()}


def _end_all(namespace: str) -> None:
    """SIGKILL to what runs in the namespace, until nothing does: the lab started all of it."""
    limit = time.monotonic() + 10
    while pids := _pids(namespace):
        if time.monotonic() > limit:
            raise RuntimeError(f"processes {sorted(pids)} in {namespace} do not end")
        with contextlib.ExitStack() as stack:
            handles: dict[int, int] = {}
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    handles[pid] = os.pidfd_open(pid)
                    stack.callback(os.close, handles[pid])
            # Listed again after opening: a number that was reused meanwhile is not in here.
            for pid in handles.keys() & _pids(namespace):
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handles[pid], signal.SIGKILL)
                select.select([handles[pid]], [], [], 1.0)


def _remove(prefix: str, folder: Path) -> None:
    """All of a lab: processes, namespaces, files."""
    for line in _ip("netns", "list").splitlines():
        namespace = line.split()[0]
        if namespace.startswith(prefix):
            _end_all(namespace)
            _ip("netns", "del", namespace)
    for files in (*ETC.glob(f"{prefix}*"), folder):
        shutil.rmtree(files)


if __name__ == "__main__":
    sys.stdin.read()
    _remove(sys.argv[1], Path(sys.argv[2]))
