"""The real fault for each check that looks at one node or at some snapshots, and the same host
without it: made in namespaces, seen by `ptnet check` and `ptnet snapshot` as a user runs them."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from lab import Host, Lab

PTNET = (sys.executable, "-m", "ptnet")
STRANGER = str(Path(__file__).with_name("stranger.py"))
ONE = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29500"}
JOB = {**ONE, "WORLD_SIZE": "2"}
TWO_NODES = {**JOB, "LOCAL_WORLD_SIZE": "1"}

Change = Callable[[Host], AbstractContextManager[None]]


@dataclass(frozen=True)
class Fault:
    id: str
    severity: str
    env: Mapping[str, str] = field(default_factory=dict)
    """The launcher's variables, wrong ones included."""
    without: Mapping[str, str] | None = None
    """The variables of the healthy host; None: the same."""
    change: Change = lambda host: nullcontext()
    """What is done to the host, and undone."""
    front: tuple[str, ...] = ()
    """Words before ptnet that make the fault, e.g. prlimit."""
    shell: str | None = None
    """A shell line before ptnet, in a mount namespace of its own."""


@contextmanager
def listener(host: Host, port: int) -> Iterator[None]:
    server = host.start([sys.executable, STRANGER, str(port), "silent"])
    server.wait_for("listening")
    try:
        yield
    finally:
        server.kill()


def sysctl(key: str, value: str) -> Change:
    @contextmanager
    def change(host: Host) -> Iterator[None]:
        before = host.run(["sysctl", "-n", key]).stdout.strip()
        host.sysctl(key, value)
        try:
            yield
        finally:
            host.sysctl(key, before)

    return change


def hosts(names: Mapping[str, str]) -> Change:
    @contextmanager
    def change(host: Host) -> Iterator[None]:
        host.hosts(names)
        try:
            yield
        finally:
            host.hosts({"nodea": "10.77.0.1", "nodeb": "10.77.0.2"})

    return change


@contextmanager
def tracked(host: Host) -> Iterator[None]:
    """A rule that makes the kernel track this namespace's connections."""
    host.nft(
        "table inet t {\nchain c {\ntype filter hook input priority 0;\nct state new accept\n}\n}"
    )
    try:
        yield
    finally:
        host.nft("delete table inet t")


def shm(options: str) -> str:
    return f"mount -t tmpfs -o {options} shm /dev/shm"


def torch_of(version: str) -> dict[str, str]:
    """A torch of that version, as far as it can be seen without importing it."""
    folder = Path(tempfile.gettempdir()) / f"ptnet-torch-{version}"
    (folder / "torch").mkdir(parents=True, exist_ok=True)
    (folder / "torch" / "__init__.py").touch()
    (folder / "torch" / "version.py").write_text(f"__version__ = '{version}'\n")
    return {"PYTHONPATH": f"{folder}:{Path(__file__).resolve().parents[2] / 'src'}"}


NOBODY = ("setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set", "-all")
RESTARTS = {"TORCHELASTIC_MAX_RESTARTS": "3"}

FAULTS = (
    Fault("master-port-busy", "error", ONE, change=lambda host: listener(host, 29500)),
    Fault("default-port-busy", "note", change=lambda host: listener(host, 29400)),
    Fault("master-port-not-permitted", "error", {**ONE, "MASTER_PORT": "97"}, ONE, front=NOBODY),
    Fault("master-port-ephemeral", "warning", {**ONE, "MASTER_PORT": "40000"}, ONE),
    Fault("port-planned-twice", "warning", {**ONE, "NCCL_COMM_ID": "10.77.0.1:29500"}, ONE),
    Fault(
        "elastic-stale-store",
        "note",
        {**JOB, **RESTARTS, **torch_of("2.5.1")},
        {**JOB, **RESTARTS, **torch_of("2.6.0")},
    ),
    Fault(
        "store-v6-old-torch",
        "warning",
        {**JOB, "RANK": "1", "MASTER_ADDR": "fd00::1", **torch_of("1.7.1")},
        {**JOB, "RANK": "1", "MASTER_ADDR": "fd00::1", **torch_of("1.13.0")},
    ),
    Fault("launch-invalid", "error", {**ONE, "MASTER_PORT": "29500x"}, ONE),
    Fault("launch-incomplete", "error", {"RANK": "0", "WORLD_SIZE": "2"}, ONE),
    Fault("launcher-absent", "warning", {"NODE_RANK": "0", "WORLD_SIZE": "8"}, ONE),
    Fault(
        "launcher-conflict",
        "warning",
        {**ONE, "SLURM_PROCID": "3", "SLURM_NTASKS": "4", "SLURM_STEP_ID": "0"},
        ONE,
    ),
    Fault("master-name-illegal", "error", {**JOB, "MASTER_ADDR": "nodea\r"}, JOB),
    Fault("master-brackets", "error", {**JOB, "MASTER_ADDR": "[fd00::1]"}, JOB),
    Fault(
        "slurm-master-not-in-nodelist",
        "warning",
        {**JOB, "MASTER_ADDR": "login", "SLURM_JOB_NODELIST": "node[1-2]"},
        {**JOB, "MASTER_ADDR": "nodea", "SLURM_JOB_NODELIST": "nodea,nodeb"},
    ),
    Fault(
        "address-needs-brackets",
        "error",
        {"NCCL_COMM_ID": "fd00::1:29501"},
        {"NCCL_COMM_ID": "[fd00::1]:29501"},
    ),
    Fault(
        "master-family-absent",
        "error",
        {**JOB, "RANK": "1", "MASTER_ADDR": "six"},
        change=hosts({"nodea": "10.77.0.1", "six": "fd00::1"}),
    ),
    Fault("master-not-local", "warning", {**JOB, "MASTER_ADDR": "10.77.0.2"}, JOB),
    Fault("own-name-unresolved", "note", ONE, change=hosts({"nodeb": "10.77.0.2"})),
    Fault("own-name-not-local", "note", ONE, change=hosts({"nodea": "198.51.100.7"})),
    Fault("nofile-low", "error", {**ONE, "WORLD_SIZE": "64"}, front=("prlimit", "--nofile=64")),
    Fault("shm-small", "error", ONE, shell=shm("size=4m")),
    Fault(
        "shm-denied",
        "error",
        ONE,
        shell=shm("mode=0755"),
        front=("setpriv", "--reuid", "65534", "--clear-groups"),
    ),
    Fault("shm-leftover", "note", ONE, shell=f"{shm('size=1g')} && touch /dev/shm/nccl-abc"),
    Fault(
        "listen-backlog-small",
        "warning",
        {**ONE, "WORLD_SIZE": "64"},
        change=sysctl("net.core.somaxconn", "16"),
    ),
    Fault(
        "ephemeral-exhausted",
        "warning",
        {**ONE, "WORLD_SIZE": "64"},
        change=sysctl("net.ipv4.ip_local_port_range", "32768 32800"),
    ),
)


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Lab({"nodea": "10.77.0.1/24"}) as lab:
        yield lab["nodea"]


def judged(host: Host, env: Mapping[str, str], fault: Fault | None) -> dict[str, str]:
    """Severity by id of what `ptnet check` finds there."""
    argv = [*(fault.front if fault else ()), *PTNET, "check", "--json"]
    if fault and fault.shell:
        argv = ["unshare", "-m", "sh", "-c", f'{fault.shell} && exec "$@"', "sh", *argv]
    done = host.run(argv, env)
    assert done.returncode in (0, 1), done.stderr
    return {f["id"]: f["severity"] for f in json.loads(done.stdout)["findings"]}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_real_fault_is_found_and_its_absence_is_silent(host: Host, fault: Fault) -> None:
    healthy = fault.env if fault.without is None else fault.without
    assert fault.id not in judged(host, healthy, None)
    with fault.change(host):
        assert judged(host, fault.env, fault).get(fault.id) == fault.severity


def test_strict_tracking_is_noted_in_a_container(host: Host) -> None:
    shell = "mount -t tmpfs run /run && touch /run/.containerenv"
    fault = Fault("conntrack-strict", "note", shell=shell)
    with tracked(host):
        host.sysctl("net.netfilter.nf_conntrack_tcp_be_liberal", 1)
        assert "conntrack-strict" not in judged(host, TWO_NODES, fault)
        host.sysctl("net.netfilter.nf_conntrack_tcp_be_liberal", 0)
        assert judged(host, TWO_NODES, fault)["conntrack-strict"] == "note"
        assert "conntrack-strict" not in judged(host, ONE, fault)
