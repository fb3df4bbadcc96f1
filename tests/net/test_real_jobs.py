"""The real fault for each check that compares nodes or ranks, from snapshots and meetings as a user
makes them, and the same without it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from lab import Host, Lab, Running

PTNET = (sys.executable, "-m", "ptnet")
JOB = {"WORLD_SIZE": "2", "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29500"}
SETS_NAME = ("sh", "-c", 'hostname "$0" && exec "$@"')
DEV = (
    "mount -t tmpfs dev /dev && mkdir /dev/shm && chmod 1777 /dev/shm && "
    "mknod -m 666 /dev/null c 1 3"
)
GPU = f"{DEV} && touch /dev/nvidia0"
INFINIBAND = (
    "mount -t tmpfs class /sys/class && "
    "mkdir -p /sys/class/infiniband/mlx5_0/device/infiniband_verbs/uverbs0 && "
    f"{DEV} && mkdir /dev/infiniband && touch /dev/infiniband/uverbs0"
)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab({"nodea": "10.77.0.1/24", "nodeb": "10.77.0.2/24"}) as made:
        yield made


def ids(text: str) -> dict[str, str]:
    return {f["id"]: f["severity"] for f in json.loads(text)["findings"]}


def together(
    lab: Lab,
    folder: Path,
    *envs: Mapping[str, str],
    fronts: tuple[tuple[str, ...], ...] = ((), ()),
) -> dict[str, str]:
    """What `ptnet check --from` finds in the snapshots of both nodes, each with its variables."""
    files = []
    for n, (host, env, front) in enumerate(zip(lab, envs, fronts, strict=True)):
        files.append(str(folder / f"{n}.json"))
        done = host.run([*front, *PTNET, "snapshot", "-o", files[-1]], env)
        assert done.returncode == 0, done.stderr
    return ids(lab["nodea"].run([*PTNET, "check", "--json", "--from", *files]).stdout)


def in_mounts(script: str) -> tuple[str, ...]:
    return ("unshare", "-m", "sh", "-c", f'{script} && exec "$@"', "sh")


RANKS = ({**JOB, "RANK": "0"}, {**JOB, "RANK": "1"})


def test_a_healthy_pair_is_silent(lab: Lab, tmp_path: Path) -> None:
    found = together(lab, tmp_path, *RANKS)
    assert set(found.values()) <= {"note"}


@pytest.mark.parametrize(
    ("id", "severity", "first", "second"),
    [
        ("rank-duplicate", "error", {"RANK": "0"}, {"RANK": "0"}),
        ("rank-duplicate", "error", {"NODE_RANK": "0"}, {"NODE_RANK": "0"}),
        ("world-size-mismatch", "error", {"RANK": "0"}, {"RANK": "1", "WORLD_SIZE": "3"}),
        ("master-mismatch", "error", {"RANK": "0"}, {"RANK": "1", "MASTER_PORT": "29501"}),
        ("master-mismatch", "warning", {"RANK": "0"}, {"RANK": "1", "MASTER_ADDR": "nodea"}),
        (
            *("master-loopback", "error"),
            *({"RANK": str(n), "MASTER_ADDR": "127.0.0.1"} for n in range(2)),
        ),
        ("master-not-local", "error", {"RANK": "1"}, {"RANK": "0"}),
        (
            *("socket-ifname-not-everywhere", "warning"),
            *({"RANK": "0", "NCCL_SOCKET_IFNAME": "eth0"}, {"RANK": "1"}),
        ),
    ],
)
def test_variables_of_two_nodes(
    lab: Lab,
    tmp_path: Path,
    id: str,
    severity: str,
    first: Mapping[str, str],
    second: Mapping[str, str],
) -> None:
    assert together(lab, tmp_path, JOB | first, JOB | second).get(id) == severity


def test_two_hosts_with_one_name(lab: Lab, tmp_path: Path) -> None:
    same = ((*SETS_NAME, "twin"), (*SETS_NAME, "twin"))
    assert together(lab, tmp_path, *RANKS, fronts=same)["hostname-duplicate"] == "warning"


def test_one_host_id_on_two_kernels(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "boot_id").write_text("11111111-2222-3333-4444-555555555555\n")
    other = in_mounts(f"mount --bind {tmp_path}/boot_id /proc/sys/kernel/random/boot_id")
    envs = tuple({**env, "NCCL_HOSTID": "x"} for env in RANKS)
    assert "host-identity-collision" not in together(lab, tmp_path, *envs)
    found = together(lab, tmp_path, *envs, fronts=((), other))
    assert found["host-identity-collision"] == "warning"


def test_a_prompt_that_is_one_of_two_ranks(lab: Lab) -> None:
    prompt = "import sys; {}from ptnet import cli; cli.main(['check', '--json'])"
    env = {**JOB, "RANK": "0"}
    for setting, there in (("sys.ps1 = '>>> '; ", True), ("", False)):
        said = lab["nodea"].run([sys.executable, "-c", prompt.format(setting)], env).stdout
        assert ("notebook-alone" in ids(said)) is there


def meeting(host: Host, board: Path, envs: list[Mapping[str, str]], front: tuple[str, ...]) -> str:
    """What all ranks of a host say after they have met in a directory."""
    board.mkdir()
    ranks: list[Running] = []
    for n, env in enumerate(envs):
        words = ["preflight", "--json", "--board", str(board), "--wait", "20"]
        numbers = {"RANK": str(n), "WORLD_SIZE": str(len(envs))}
        numbers |= {"MASTER_ADDR": host.address, "MASTER_PORT": "29500"}
        ranks.append(host.start([*front, *PTNET, *words], {**env, **numbers}))
    said = [rank.wait(40).stdout for rank in ranks]
    assert len({json.dumps(ids(text)) for text in said}) == 1
    return said[0]


def test_two_ranks_with_one_gpu(lab: Lab, tmp_path: Path) -> None:
    gpu = in_mounts(GPU)
    same = [{"LOCAL_RANK": "0", "CUDA_VISIBLE_DEVICES": "0"}] * 2
    own = [{"LOCAL_RANK": str(n), "CUDA_VISIBLE_DEVICES": "0,1"} for n in range(2)]
    for name, envs, there in (("same", same, True), ("own", own, False)):
        said = meeting(lab["nodea"], tmp_path / name, [*envs], gpu)
        assert ("local-rank-duplicate" in ids(said)) is there, said


def test_rdma_that_may_not_lock_its_memory(lab: Lab) -> None:
    front = (*in_mounts(INFINIBAND), "prlimit", "--memlock=65536:65536")
    for env, there in (({}, True), ({"NCCL_IB_DISABLE": "1"}, False)):
        said = lab["nodea"].run([*front, *PTNET, "check", "--json"], env).stdout
        assert ("memlock-low" in ids(said)) is there


def test_a_name_that_comes_late() -> None:
    with Lab({"nodea": "10.77.0.1/24", "nodeb": "10.77.0.2/24"}) as lab:
        env = {**JOB, "RANK": "1", "MASTER_ADDR": "late"}
        waiting = lab["nodeb"].start([*PTNET, "preflight", "--json", "--wait", "9"], env)
        time.sleep(4)  # the look takes part of it
        lab["nodeb"].hosts({"nodeb": "10.77.0.2", "late": "10.77.0.1"})
        found = ids(waiting.wait(30).stdout)
    assert found["master-name-late"] == "warning"
    assert found["master-refused"] == "error"
