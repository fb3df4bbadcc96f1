"""What is called an error breaks a real job: torch alone does not train with it, ptnet says so
beforehand, and on the twin beside it both agree that nothing is wrong."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab import Lab, Running
from net.matrix import SCRIPT

BARE = str(Path(__file__).with_name("bare.py"))
RUN = (sys.executable, "-m", "ptnet", "run", "--wait", "10", "--")
TEN = {"nodea": "10.77.0.1/24", "nodeb": "10.77.0.2/24"}
HOME = {"nodea": "192.168.7.1/24", "nodeb": "192.168.7.2/24"}
LIMIT_S = 15
"""A job that does not train within this time, of which six are torch's, is broken."""

Arrange = Callable[[Lab], None]


def nothing(lab: Lab) -> None:
    """A healthy lab."""


def own_name(node: str, address: str | None) -> Arrange:
    """What a node's own name is on that node; the other node's is right."""

    def arrange(lab: Lab) -> None:
        names = {h.name: h.address for h in lab if h.name != node}
        lab[node].hosts(names | ({node: address} if address else {}))

    return arrange


def loopback_on_both(lab: Lab) -> None:
    for node in ("nodea", "nodeb"):
        own_name(node, "127.0.1.1")(lab)


def two_families(lab: Lab) -> None:
    for n, host in enumerate(lab, 1):
        host.ip("addr", "add", f"fd00::{n}/64", "dev", "eth0", "nodad")
    own_name("nodeb", "fd00::2")(lab)


def six_on_the_master(lab: Lab) -> None:
    lab["nodea"].ip("addr", "add", "fd00::1/64", "dev", "eth0", "nodad")
    for host in lab:
        host.hosts({h.name: h.address for h in lab} | {"six": "fd00::1"})


def second_link(lab: Lab) -> None:
    for n, host in enumerate(lab, 1):
        host.ip("addr", "add", f"10.78.0.{n}/24", "dev", "eth0")
        host.hosts({h.name: h.address for h in lab} | {"nodeai": "10.78.0.1"})


def fqdn_of_one(lab: Lab) -> None:
    a, b = lab["nodea"].address, lab["nodeb"].address
    text = f"127.0.0.1 localhost\n{a} nodea.cluster.example nodea\n{b} nodeb\n"
    lab["nodea"].etc("hosts", text)


@dataclass(frozen=True)
class Break:
    name: str
    id: str
    arrange: Arrange
    addresses: Mapping[str, str]
    master: str
    """MASTER_ADDR, or the host of the c10d endpoint."""
    c10d: bool = False
    options: tuple[str, ...] = ()
    trains: bool = False


BREAKS = (
    Break("loopback-in-10", "", own_name("nodea", "127.0.1.1"), TEN, "nodea", trains=True),
    Break("loopback-in-192", "hostname-loopback", own_name("nodeb", "127.0.1.1"), HOME, "nodea"),
    Break("loopback-on-both", "hostname-loopback", loopback_on_both, TEN, "10.77.0.1"),
    Break("name-unresolved", "own-name-unresolved", own_name("nodeb", None), HOME, "nodea"),
    Break("name-not-local", "own-name-not-local", own_name("nodeb", "198.51.100.7"), HOME, "nodea"),
    Break("two-families", "gloo-family-mixed", two_families, TEN, "nodea"),
    Break("family-absent", "master-family-absent", six_on_the_master, TEN, "six"),
    Break("brackets", "master-brackets", nothing, TEN, "[10.77.0.1]"),
    Break("blank", "master-name-illegal", nothing, TEN, "nodea "),
    Break("second-link", "rendezvous-no-host", second_link, TEN, "nodeai", c10d=True),
    Break("fqdn", "agent-name-unresolved", fqdn_of_one, TEN, "10.77.0.1", c10d=True),
)


def start(lab: Lab, one: Break, bare: bool) -> list[Running]:
    """The job on both nodes; those with and without ptnet have ports of their own."""
    port = 29600 if bare else 29500
    jobs = []
    for n, host in enumerate(lab):
        script = [sys.executable, BARE] if bare else [sys.executable, SCRIPT]
        env = {
            "RANK": str(n),
            "WORLD_SIZE": "2",
            "MASTER_ADDR": one.master,
            "MASTER_PORT": f"{port}",
        }
        if one.c10d:
            torchrun = [
                "torchrun",
                "--nnodes",
                "2",
                "--nproc-per-node",
                "1",
                "--rdzv-id",
                str(port),
            ]
            torchrun += ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"{one.master}:{port}"]
            torchrun += ["--rdzv-conf", "join_timeout=12,timeout=12", *one.options]
            script = [*([] if bare else RUN), *torchrun, script[1]]
            env = {}
        jobs.append(host.start(script, env | {"PTNET_WAIT": "10"}))
    return jobs


def trained(jobs: Sequence[Running], started: float) -> bool:
    """Do all ranks end well within the limit; one that failed is enough to know."""
    until = started + LIMIT_S
    while any(job.running() for job in jobs) and time.monotonic() < until:
        ended = [job.wait(0) for job in jobs if not job.running()]
        if any(result.returncode != 0 for result in ended):
            return False
        time.sleep(0.1)
    if any(job.running() for job in jobs):
        return False
    results = [job.wait(0) for job in jobs]
    return all(r.returncode == 0 and "trained ok" in r.output for r in results)


@pytest.mark.parametrize("one", BREAKS, ids=lambda one: one.name)
def test_an_error_breaks_a_real_job(one: Break) -> None:
    with Lab(one.addresses) as lab:
        one.arrange(lab)
        started = time.monotonic()
        with_ptnet, bare = start(lab, one, bare=False), start(lab, one, bare=True)
        said = [job.wait(LIMIT_S + 15) for job in with_ptnet]
        assert trained(bare, started) is one.trains
    assert any(one.id in result.output for result in said), said
    assert all((result.returncode == 0) is one.trains for result in said), said


def test_a_standalone_job_hangs_without_its_own_name() -> None:
    with Lab({"nodea": "10.77.0.1/24"}) as lab:
        lab["nodea"].hosts({})
        torchrun = ["torchrun", "--standalone", "--nproc-per-node", "2"]
        started = time.monotonic()
        bare = lab["nodea"].start([*torchrun, BARE])
        said = lab["nodea"].run([*RUN, *torchrun, SCRIPT])
        assert not trained([bare], started)
    assert said.returncode == 1
    assert "own-name-unresolved" in said.stderr


def test_ranks_with_two_ports_wait_for_each_other(tmp_path: Path) -> None:
    with Lab(TEN) as lab:
        files, jobs = [], []
        started = time.monotonic()
        for n, host in enumerate(lab):
            env = {"RANK": str(n), "WORLD_SIZE": "2", "MASTER_ADDR": "10.77.0.1"}
            env["MASTER_PORT"] = str(29500 + n)
            jobs.append(host.start([sys.executable, BARE], env))
            files.append(str(tmp_path / host.name))
            ptnet = [sys.executable, "-m", "ptnet", "snapshot", "-o", files[-1]]
            assert host.run(ptnet, env).returncode == 0
        said = lab["nodea"].run([sys.executable, "-m", "ptnet", "check", "--from", *files])
        assert not trained(jobs, started)
    assert said.returncode == 1
    assert "error  master-mismatch" in said.stdout


def test_two_torchruns_want_one_port(tmp_path: Path) -> None:
    with Lab({"nodea": "10.77.0.1/24"}) as lab:
        host = lab["nodea"]
        torchrun = ["torchrun", "--nnodes", "1", "--node-rank", "0", "--master-port", "29600"]
        torchrun += ["--nproc-per-node", "1", "--master-addr", "10.77.0.1"]
        first = host.start([*torchrun, "--no-python", "sleep", "20"])
        while ":29600" not in host.run(["ss", "-ltn"]).stdout:
            assert first.running()
        second = host.run([*torchrun, "--no-python", "true"])
        first.kill()
    assert second.returncode != 0
    assert "EADDRINUSE" in second.stderr


GLOO = """
import os, sys, torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
"""
LOADER = """
import torch
from torch.utils.data import DataLoader, TensorDataset
for batch in DataLoader(TensorDataset(torch.randn(4096, 3, 32, 32)), 512, num_workers=2): pass
print("loaded")
"""


def test_gloo_ends_where_files_are_too_few() -> None:
    """The first group of two ranks needs ten; what torch needs before it is not limited."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({0}, {0}))\n"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    torchrun += ["--nproc-per-node", "2", "--no-python", sys.executable, "-c"]
    for files, works in ((9, False), (64, True)):
        code = GLOO.replace("dist.init", limit.format(files) + "dist.init")
        done = subprocess.run([*torchrun, code], capture_output=True, text=True, timeout=120)
        assert (done.returncode == 0) is works, done.stderr[-2000:]


@pytest.mark.parametrize(
    ("options", "user", "works"),
    [("size=64m", 0, True), ("size=4m", 0, False), ("mode=0755", 65534, False)],
)
def test_a_data_loader_ends_where_shared_memory_is_short(
    options: str, user: int, works: bool
) -> None:
    mount = f'mount -t tmpfs -o {options} shm /dev/shm && exec setpriv --reuid {user} "$@"'
    words = ["unshare", "-m", "sh", "-c", mount, "sh", sys.executable, "-c", LOADER]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert ("loaded" in done.stdout) is works, done.stderr[-2000:]


UNIQUE_ID = """
import ctypes, importlib.util, pathlib
folder = importlib.util.find_spec("nvidia.nccl").submodule_search_locations[0]
nccl = ctypes.CDLL(str(pathlib.Path(folder, "lib", "libnccl.so.2")))
print("result", nccl.ncclGetUniqueId(ctypes.create_string_buffer(128)))
"""


def test_nccl_refuses_an_ipv6_address_without_brackets() -> None:
    with Lab({"nodea": "10.77.0.1/24"}) as lab:
        host = lab["nodea"]
        host.ip("addr", "add", "fd00::1/64", "dev", "eth0", "nodad")
        for value, works in (("[fd00::1]:29501", True), ("fd00::1:29501", False)):
            env = {"NCCL_COMM_ID": value}
            said = host.run([sys.executable, "-c", UNIQUE_ID], env).stdout
            assert ("result 0" in said) is works, said
            found = host.run([sys.executable, "-m", "ptnet", "check"], env).stdout
            assert ("address-needs-brackets" in found) is not works
