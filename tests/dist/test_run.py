"""`ptnet run`: what it starts, and that it is not in the way."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from netns import environment

BIN = Path(sys.executable).parent
RUN = [sys.executable, "-m", "ptnet", "run"]
TRAP = """
import signal, sys, time
def leave(number, frame):
    print("got", number, flush=True)
    sys.exit(7)
signal.signal(signal.SIGTERM, leave); signal.signal(signal.SIGINT, leave)
print("started", sys.argv[1:], flush=True)
time.sleep(60)
"""
SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
    int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "bind");
    int port = addr->sa_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)addr)->sin6_port)
             : addr->sa_family == AF_INET ? ntohs(((struct sockaddr_in *)addr)->sin_port) : 0;
    if (port == atoi(getenv("COUNT_PORT"))) {
        FILE *f = fopen(getenv("COUNT_FILE"), "a");
        fprintf(f, "%d\\n", getpid());
        fclose(f);
    }
    return real(fd, addr, len);
}
"""


def env(**more: str) -> dict[str, str]:
    clean = {k: v for k, v in environment().items() if k not in ("RANK", "WORLD_SIZE")}
    return {**clean, "PATH": f"{BIN}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1", **more}


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def script(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def run(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *words], capture_output=True, text=True, env=env(**more), timeout=120
    )


def test_a_command_is_executed_with_its_arguments_and_code(tmp_path: Path) -> None:
    name = script(tmp_path / "a.py", "import sys; print(sys.argv[1:]); sys.exit(int(sys.argv[1]))")
    done = run("--", sys.executable, name, "5", "--wait", "x y", "--")
    assert done.returncode == 5
    assert done.stdout == "['5', '--wait', 'x y', '--']\n"


@pytest.mark.parametrize("front", [["torchrun"], [sys.executable, "-m", "torch.distributed.run"]])
def test_torchrun_ends_as_it_would_alone(front: list[str], tmp_path: Path) -> None:
    name = script(tmp_path / "a.py", "import os, sys; sys.exit(int(os.environ['RANK']) * 3)")
    words = [*front, "--standalone", "--nproc-per-node", "2", name]
    alone = subprocess.run(words, capture_output=True, text=True, env=env(), timeout=120)
    ours = run("--", *words)
    assert ours.returncode == alone.returncode == 1
    assert "exitcode  : 3" in ours.stderr
    assert "exitcode  : 3" in alone.stderr


def test_torchruns_own_usage_error_stays() -> None:
    done = run("--", "torchrun", "--no-such-option", "x.py")
    assert done.returncode == 2
    assert "usage: torchrun" in done.stderr


def test_another_pythons_torchrun_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "torchrun"
    other.write_text("#!/usr/bin/false\n")
    other.chmod(0o755)
    done = run("--", str(other), "x.py")
    assert done.returncode == 2
    assert "belongs to /usr/bin/false" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_pips_form_of_a_long_interpreter_path_is_read(tmp_path: Path) -> None:
    front = tmp_path / "torchrun"
    front.write_text(f"#!/bin/sh\n'''exec' {sys.executable} \"$0\" \"$@\"\n' '''\n")
    front.chmod(0o755)
    done = run("--", str(front), "--no-such-option", "x.py")
    assert "usage: torchrun" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("front", [[sys.executable], ["torchrun", "--standalone"]])
def test_signals_reach_the_training(
    number: signal.Signals, front: list[str], tmp_path: Path
) -> None:
    name = script(tmp_path / "a.py", TRAP)
    with subprocess.Popen(
        [*RUN, "--", *front, name, "--x"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, env=env(),
    ) as started:  # fmt: skip
        assert started.stdout
        assert "started ['--x']" in started.stdout.readline()
        started.send_signal(number)
        assert f"got {int(number)}" in started.stdout.read()
    if front == [sys.executable]:
        assert started.returncode == 7
    else:
        assert started.returncode != 0


@pytest.fixture
def counted(tmp_path: Path, port: int) -> Iterator[dict[str, str]]:
    """Variables with which every bind to the port leaves its pid in a file."""
    source = tmp_path / "shim.c"
    source.write_text(SHIM)
    library = str(tmp_path / "shim.so")
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", library, "-ldl"], check=True)
    yield {
        "LD_PRELOAD": library,
        "COUNT_PORT": str(port),
        "COUNT_FILE": str(tmp_path / "binds"),
    }


MEET = """
import os, ptnet, torch.distributed as dist
ptnet.init_process_group("gloo")
store = dist.distributed_c10d._get_default_store()
dist.barrier()
print("rank", dist.get_rank(), "pid", os.getpid(), flush=True)
dist.destroy_process_group()
"""


def test_the_port_is_bound_once_for_both_and_never_by_a_worker(
    tmp_path: Path, port: int, counted: dict[str, str]
) -> None:
    name = script(tmp_path / "meet.py", MEET)
    report = tmp_path / "report.json"
    nodes = [
        subprocess.Popen(
            [*RUN, "--wait", "40", "--report", f"{report}.{n}", "--", "torchrun", "--nnodes", "2"]
            + ["--node-rank", str(n), "--master-addr", "127.0.0.1", "--master-port", str(port), name],
            env=env(**counted), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for n in range(2)
    ]  # fmt: skip
    outputs = [node.communicate(timeout=120) for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], outputs
    binders = Path(counted["COUNT_FILE"]).read_text().split()
    assert binders == [str(nodes[0].pid)]
    for n in range(2):
        data = json.loads(Path(f"{report}.{n}").read_text())
        assert (data["schema"], data["verdict"]) == ("ptnet/report/1", "pass")
        assert [s["name"] for s in data["stages"]] == ["look", "self", "reach", "gather"]


def test_inside_a_worker_nothing_is_bound(
    tmp_path: Path, port: int, counted: dict[str, str]
) -> None:
    """Bare torchrun, ptnet in the script: the agent alone binds the port."""
    name = script(tmp_path / "meet.py", MEET)
    words = ["torchrun", "--nnodes", "1", "--nproc-per-node", "2", "--master-port", str(port), name]
    with subprocess.Popen(
        words, env=env(**counted), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as agent:
        out, err = agent.communicate(timeout=120)
    assert agent.returncode == 0, err
    assert out.count("rank") == 2
    assert Path(counted["COUNT_FILE"]).read_text().split() == [str(agent.pid)]


KEYS = """
import ptnet, torch.distributed as dist
from ptnet import dist as ours
report = ptnet.require()
store = next(iter(ours._servers.values()))
keys = store.list_keys() if hasattr(store, "list_keys") else None
count = store.num_keys()
inside = sum(store.check([f"ptnet/none/0/ranks/{k}"]) for k in
             ("slots", "acks", "verdict", "card/1", "snapshot/1"))
print(report.verdict, count, inside, keys, flush=True)
"""


def test_a_healthy_rank_leaves_keys_of_its_prefix_only(tmp_path: Path, port: int) -> None:
    name = script(tmp_path / "keys.py", KEYS)
    variables = {
        "RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    two = {**variables, "WORLD_SIZE": "2"}
    ranks = [
        subprocess.Popen(
            [sys.executable, name if n == 0 else script(tmp_path / "b.py", "import ptnet; ptnet.require()")],
            env=env(**{**two, "RANK": str(n)}),
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(2)
    ]
    out = ranks[0].communicate(timeout=60)[0]
    ranks[1].communicate(timeout=60)
    assert [r.returncode for r in ranks] == [0, 0]
    words = out.split()
    assert words[0] == "pass"
    ours = int(words[2])
    assert ours == 5
    # two cards and two snapshots, slots, acks, verdict, three of `ptnet/worlds`; torch's server
    # counts one key of its own
    assert int(words[1]) - 10 <= 1


def test_a_script_under_plain_variables_meets_and_is_executed(tmp_path: Path, port: int) -> None:
    """In front of a script the board is closed before the script opens the same port."""
    name = script(tmp_path / "meet.py", MEET)
    ranks = [
        subprocess.Popen(
            [*RUN, "--wait", "40", "--", sys.executable, name],
            env=env(RANK=str(n), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(2)
    ]
    outputs = [rank.communicate(timeout=120) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], outputs
    assert f"rank 0 pid {ranks[0].pid}" in outputs[0][0]
    assert f"rank 1 pid {ranks[1].pid}" in outputs[1][0]


@pytest.mark.parametrize("stopped", [0, 1])  # node 0 serves the store on which they meet
def test_sigterm_while_waiting_tells_the_others(tmp_path: Path, port: int, stopped: int) -> None:
    words = ["torchrun", "--nnodes", "3", "--master-addr", "127.0.0.1", "--master-port", str(port)]
    nodes = [
        subprocess.Popen(
            [*RUN, "--wait", "60", "--", *words, "--node-rank", str(n), "x.py"],
            env=env(), stderr=subprocess.PIPE, text=True,
        )
        for n in range(2)
    ]  # fmt: skip
    for node in nodes:
        assert node.stderr
        for line in node.stderr:
            if "2 of 3 nodes are here" in line:
                break
    nodes[stopped].terminate()
    errors = [node.communicate(timeout=30)[1] for node in nodes]
    assert nodes[stopped].returncode == 128 + signal.SIGTERM
    assert nodes[1 - stopped].returncode == 1
    assert "participant-left" in errors[1 - stopped]


ELASTIC = "import os; print('attempt', os.environ['TORCHELASTIC_RESTART_COUNT'])"


def test_an_elastic_job_starts_with_the_least_number_of_nodes(tmp_path: Path, port: int) -> None:
    name = script(tmp_path / "a.py", ELASTIC)
    done = run(
        *("--wait", "40", "--", "torchrun", "--nnodes", "1:2", "--rdzv-backend", "c10d"),
        *("--rdzv-conf", "last_call_timeout=1", "--rdzv-endpoint", f"localhost:{port}", name),
    )
    assert done.returncode == 0, done.stderr
    assert "attempt 0" in done.stdout


def test_ctrl_c_while_waiting_is_130_without_a_traceback(port: int) -> None:
    words = ["torchrun", "--nnodes", "2", "--master-addr", "127.0.0.1", "--master-port", str(port)]
    with subprocess.Popen(
        [*RUN, "--wait", "60", "--", *words, "x.py"], env=env(), stderr=subprocess.PIPE, text=True
    ) as node:
        assert node.stderr
        assert any("1 of 2 nodes are here" in line for line in node.stderr)
        node.send_signal(signal.SIGINT)
        rest = node.stderr.read()
    assert (node.returncode, rest) == (130, "ptnet run: interrupted\n")


@pytest.mark.parametrize("path", ["no/such/folder/report.json", "."])
def test_a_report_that_cannot_be_written_is_said_before_the_nodes_meet(
    tmp_path: Path, path: str
) -> None:
    done = run(
        *("--report", f"{tmp_path}/{path}", "--board", str(tmp_path), "--", "true"),
        RANK="0",
        WORLD_SIZE="2",
    )
    assert done.returncode == 2
    assert done.stderr == f"ptnet run: --report {tmp_path}/{path}: cannot be written\n"
