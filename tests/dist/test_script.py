"""ptnet in the script: called more than once, and with ranks that meet elsewhere."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from netns import environment

AGAIN = """
import ptnet, torch, torch.distributed as dist
ptnet.require()
ptnet.require()
for _ in range(2):
    ptnet.init_process_group("gloo")
    total = torch.ones(1)
    dist.all_reduce(total)
    assert total.item() == 2
    dist.destroy_process_group()
print("twice", flush=True)
"""
ELSEWHERE = """
import os, sys, ptnet, torch.distributed as dist
ptnet.init_process_group("gloo", init_method=sys.argv[1], rank=int(os.environ["RANK"]), world_size=2)
dist.barrier()
dist.destroy_process_group()
print("met", flush=True)
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def two_ranks(code: str, *words: str, **variables: str) -> list[subprocess.CompletedProcess[str]]:
    clean = {k: v for k, v in environment().items() if k not in ("RANK", "WORLD_SIZE")}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", code, *words],
            env={**clean, **variables, "RANK": str(n), "PTNET_WAIT": "40"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(2)
    ]
    outputs = [rank.communicate(timeout=120) for rank in ranks]
    return [
        subprocess.CompletedProcess([], rank.returncode, *output)
        for rank, output in zip(ranks, outputs, strict=True)
    ]


def test_a_script_may_call_it_again() -> None:
    variables = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    for done in two_ranks(AGAIN, **variables):
        assert (done.returncode, done.stdout) == (0, "twice\n"), done.stderr


@pytest.mark.parametrize("scheme", ["file", "tcp"])
def test_ranks_that_meet_elsewhere_are_left_alone(scheme: str, tmp_path: Path) -> None:
    method = f"file://{tmp_path}/meet" if scheme == "file" else f"tcp://127.0.0.1:{free_port()}"
    for done in two_ranks(ELSEWHERE, method):
        assert (done.returncode, done.stdout) == (0, "met\n"), done.stderr


def test_every_rank_raises_the_same_text() -> None:
    code = """
import ptnet
try:
    ptnet.require()
except ptnet.PreflightError as error:
    print(error, flush=True)
    assert error.report.verdict == "fail"
    import pickle
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
else:
    raise SystemExit("passed")
"""
    port = str(free_port())
    clean = {k: v for k, v in environment().items() if k != "WORLD_SIZE"}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env={
                **clean,
                "RANK": str(n),
                "WORLD_SIZE": str(2 + n),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
                "PTNET_WAIT": "40",
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(2)
    ]
    first, second = (rank.communicate(timeout=60)[0] for rank in ranks)
    assert [rank.returncode for rank in ranks] == [0, 0]
    assert first == second
    assert "world-size-mismatch" in first
    node = os.uname().nodename
    assert f"2 on {node} but 3 on {node}" in " ".join(first.split())


FIRST_ENDS = """
import os, sys, ptnet
report = ptnet.preflight(wait_s=40)
print(report.verdict, flush=True)
os._exit(0)
"""


def test_a_rank_that_ends_after_the_verdict_takes_it_from_nobody() -> None:
    """Rank 0 serves the store; the others look for the verdict every 0.2 s."""
    variables = {"WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}

    def start(rank: int) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", FIRST_ENDS],
            env={**environment(), **variables, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    ranks = [start(0), start(1)]
    for rank in ranks:
        assert rank.stderr
        assert any("2 of 3 ranks are here" in line for line in rank.stderr)
    ranks.append(start(2))
    assert [rank.communicate(timeout=60)[0] for rank in ranks] == ["pass\n"] * 3
