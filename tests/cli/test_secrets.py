"""Passwords, tokens and keys planted wherever ptnet reads, each with a mark of its own: none comes
out anywhere."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from netns import Netns, environment, netns

import ptnet
from ptnet import codec, launch, nodelist, redact
from ptnet.launchers import LAUNCHERS
from ptnet.model import Snapshot

_numbers = itertools.count()
FORMS = [
    "http://user:{}@proxy:3128",
    "http://user:pa/ss?{}@proxy:3128/",
    "user:{}@proxy:3128",
    "//user:{}@proxy",
    "https://{}@index/simple",
    "https://index/simple?token={}&x=1",
    "socks5h://user:{}@proxy:1,http://other:{}@proxy:2",
    "name=https://user:{}@index/simple",
    "http://user:{}",
    "token={}",
    "--token {}",
    "--password={}",
    "x --api-key '{}'",
    "Authorization: Bearer {}",
    "proxy-authorization: basic {}",
    "password: {}",
    '{{"auth_token": "{}"}}',
    "AWS_SECRET_ACCESS_KEY={}",
    "hf_{}",
    "ghp_{}",
]
VARIABLES = [
    *("MASTER_ADDR", "MASTER_PORT", "PET_MASTER_ADDR", "PET_MASTER_PORT", "PET_RDZV_ENDPOINT"),
    *("PET_RDZV_ID", "PET_NNODES", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "SM_HOSTS"),
    *("SM_CURRENT_HOST", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_JOB_NODELIST", "SLURM_JOB_NAME"),
    *("SLURM_STEP_TASKS_PER_NODE", "SLURM_NTASKS", "PMIX_NAMESPACE", "LSB_JOBID", "LSB_HOSTS"),
    *("OMPI_MCA_btl_tcp_if_include", "NCCL_COMM_ID", "NCCL_DEBUG_FILE"),
    *("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TORCH_NCCL_X", "TP_SOCKET_IFNAME", "HOSTNAME"),
    *("http_proxy", "HTTPS_PROXY", "all_proxy", "no_proxy", "NO_PROXY", "PIP_INDEX_URL"),
    *("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_TRUSTED_HOST", "PIP_PROXY", "UV_INDEX_URL"),
    *("UV_INDEX", "UV_DEFAULT_INDEX", "HF_ENDPOINT", "LD_PRELOAD", "RAY_ADDRESS", "HOSTALIASES"),
    *("KUBERNETES_PORT", "PYTORCHJOB_REPLICA_TYPE", "I_MPI_X", "HYDRA_X", "UCX_NET_DEVICES"),
]
NAMED = [
    *("NCCL_API_KEY", "SLURM_JWT", "SLURM_JWT_TOKEN", "MASTER_PASSWORD", "TORCH_SECRET"),
    *("UV_INDEX_CORP_PASSWORD", "UV_INDEX_CORP_USERNAME", "KUBERNETES_TOKEN", "PMI_AUTH_COOKIE"),
]


def mark() -> str:
    """A new secret."""
    return f"Zq{next(_numbers):06d}QuinceTree"


def test_the_marks_are_seen_where_nothing_hides_them() -> None:
    secret = mark()
    kept = codec.dump(Snapshot("0", "n", 1.0, env={"MASTER_ADDR": f"http://u:{secret}@h"}))
    assert secret in json.dumps(kept)


@pytest.mark.parametrize("form", FORMS)
def test_every_variable_that_is_kept(form: str) -> None:
    for name in VARIABLES:
        secret = mark()
        value = form.format(secret, secret)
        assert secret not in str(redact.environment({name: value})), name


def test_every_variable_that_is_called_secret() -> None:
    for name in NAMED:
        secret = mark()
        assert secret not in str(redact.environment({name: secret})), name


@pytest.mark.parametrize("kind", LAUNCHERS, ids=lambda kind: "-".join([kind.name, *kind.markers]))
def test_every_variable_of_every_launcher(kind: launch.Launcher) -> None:
    names = {n for names in kind.variables.values() for n in names}
    names |= {*kind.markers, *VARIABLES, "OMPI_MCA_ess_base_jobid"}
    for form, without in itertools.product(FORMS, ("", "MASTER_ADDR")):
        secret = mark()
        value = form.format(secret, secret)
        environ = {name: value for name in names if name != without}
        if kind.unit == "rank":
            environ |= {"RANK": value, "WORLD_SIZE": value, "LOCAL_RANK": value}
        if kind.name == "openmpi":
            environ["OMPI_MCA_orte_default_hostfile"] = value
        found = launch.detect(environ)
        assert secret not in json.dumps(codec.dump(found))


def test_what_a_cut_text_shows() -> None:
    """The end that tells a URL's password from a port may be cut off."""
    secret = mark()
    long = f"http://user:{secret}{'x' * 60}@host"
    for raises in (
        lambda: nodelist.expand(long),
        lambda: codec.load(Snapshot, {"schema": long}),
        lambda: ptnet.sysctl(long),
        lambda: ptnet.preflight(wait_s=long),  # type: ignore[arg-type]
        lambda: ptnet.preflight(board=long, rank=0, world_size=2),
        lambda: ptnet.links(long),
    ):
        shown: object = None
        try:
            shown = raises()
        except ptnet.PtnetError as error:
            shown = (error, error.args, error.__cause__)
        assert secret not in repr(shown)
        assert secret not in str(shown)
    assert secret not in repr(ptnet.route_to(long, timeout_s=0.1))


def run(*words: str, stdin: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ptnet", *words],
        input=stdin,
        capture_output=True,
        text=True,
        env={**environment(), **variables},
        timeout=60,
    )


URL = "http://user:{}@host:1/x"


@pytest.mark.parametrize(
    "words",
    [
        [URL],
        ["route", URL],
        ["route", "--json", URL],
        ["route", "user:{}@host"],
        ["links", URL],
        ["links", "--token={}"],
        ["ports", "--token", "{}"],
        ["explain", URL],
        ["explain", "--json", URL],
        ["check", "--from", URL],
        ["check", "--from", "/nowhere/?token={}"],
        ["check", "--fail-on", URL],
        ["snapshot", "-o", "/nowhere/" + URL],
        ["snapshot", "--password={}"],
        ["preflight", "--board", URL, "--rank", "0", "--world-size", "2"],
        ["preflight", "--rank", URL],
        ["preflight", "--wait", URL],
        ["preflight", "--nproc", "--token={}"],
        ["run", "--token={}", "x"],
        ["run", "--", URL],
        ["run", "--wait", URL, "--", "true"],
        ["run", "--report", "/nowhere/?token={}", "--", "true"],
        ["run", "--", "torchrun", "--nnodes", URL, "train.py"],
        ["run", "--", "torchrun", "--rdzv-conf", URL, "--nnodes", "2", "train.py"],
        ["run", "--wait", "1", "--", "torchrun", "--nnodes", "2", "--rdzv-id", URL,
         "--rdzv-backend", "c10d", "--rdzv-endpoint", URL, "train.py", "--token", "{}"],
        ["run", "--wait", "1", "--", "torchrun", "--nnodes", "2", "--node-rank", "1",
         "--master-addr", "user:{}@host", "train.py"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_arguments(words: list[str]) -> None:
    secret = mark()
    done = run(*(word.format(secret) for word in words))
    assert done.stdout + done.stderr
    assert secret not in done.stdout
    assert secret not in done.stderr


def test_arguments_of_the_command_that_is_started(tmp_path: Path) -> None:
    secret, report = mark(), tmp_path / "report.json"
    words = [
        "run",
        "--report",
        str(report),
        "--",
        "true",
        "--token",
        secret,
        f"http://u:{secret}@h",
    ]
    done = run(*words)
    assert done.returncode == 0
    assert secret not in done.stdout + done.stderr + report.read_text()


def test_a_file_that_does_not_fit() -> None:
    secret = mark()
    good = codec.dump(Snapshot("0.1.0", "nodea", 1.0))
    for field in good:
        bad = json.dumps({**good, field: f"http://u:{secret}{'x' * 80}@host"})
        done = run("check", "--from", "-", stdin=bad)
        assert secret not in done.stdout + done.stderr


# ---------------------------------------------------------------- a host full of secrets

LISTENER = """
import ctypes, socket, sys
ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0)
s = socket.create_server(("127.0.0.1", 29777))
print("ready", flush=True)
while True:
    peer = s.accept()[0]
    peer.recv(100)
    peer.sendall(sys.argv[2].encode())
    peer.close()
"""
SAID = {
    "HTTP/1.0 407 no\r\nProxy-Authorization: Basic {}\r\n",
    "220 http://user:{}@host/",
    "-ERR token={}\r\n",
    "http://user:{}" + "x" * 300 + "@host",
}


@contextlib.contextmanager
def etc(space: Netns, **files: str) -> Iterator[None]:
    folder = Path(f"/etc/netns/{space.name}")
    folder.mkdir(parents=True)
    try:
        for name, text in files.items():
            (folder / name.replace("_", ".", 1)).write_text(text)
        yield
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def listening(space: Netns, name: str, said: str, *argv: str) -> Iterator[None]:
    words = [*space.argv(LISTENER), name, said, *argv]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            assert server.stdout.readline() == "ready\n"
            yield
        finally:
            server.kill()


def inside(space: Netns, *words: str, **variables: str) -> str:
    """All that a command says there."""
    done = subprocess.run(
        ["ip", "netns", "exec", space.name, sys.executable, *words],
        capture_output=True,
        text=True,
        env={**environment(), **variables},
        timeout=60,
    )
    return done.stdout + done.stderr


def test_files_and_processes() -> None:
    secrets = [mark() for _ in range(8)]
    short = "Zq7"
    hosts = (
        f"127.0.0.1 localhost # token={secrets[0]}\n# http://u:{secrets[1]}@h\n"
        f"10.0.0.1 http://u:{secrets[2]}@h u:{secrets[3]}@h\n"
    )
    resolv = (
        f"# token={secrets[0]}\nsearch u:{secrets[4]}@h http://u:{secrets[5]}@h\n"
        f"options token:{secrets[6]}\nnameserver 127.0.0.9 # {secrets[0]}\n"
    )
    nsswitch = f"hosts: files # token={secrets[7]}\n"
    with (
        netns() as space,
        etc(space, hosts=hosts, resolv_conf=resolv, nsswitch_conf=nsswitch),
        listening(space, f"s --token {short}", "", "--token", secrets[0]),
    ):
        outputs = {
            " ".join(words): inside(space, "-m", "ptnet", *words)
            for words in (
                ["snapshot"],
                ["check"],
                ["check", "--json"],
                ["ports"],
                ["ports", "--json"],
                ["preflight"],
                ["preflight", "--json"],
                ["preflight", "--nproc", "2", "--json"],
            )
        }
    assert "29777" in outputs["snapshot"]
    assert "s --token ***" in outputs["ports"]
    assert '"10.0.0.1"' in outputs["snapshot"]
    for command, shown in outputs.items():
        for secret in (*secrets, short):
            assert not re.search(rf"\b{secret}\b", shown), command


@pytest.mark.parametrize("said", SAID)
def test_what_a_stranger_says(said: str) -> None:
    secret = mark()
    variables = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29777"}
    with netns() as space, listening(space, "server", said.format(secret)):
        shown = inside(space, "-m", "ptnet", "preflight", "--json", **variables)
        raised = inside(space, "-c", "import ptnet; ptnet.require()", **variables)
    assert "it said" in shown
    assert "PreflightError" in raised
    assert secret not in shown
    assert secret not in raised


@pytest.mark.parametrize("form", ["http://user:{}@host", "user:{}@no-such-host"])
def test_waiting_lines_reports_and_the_board(form: str, tmp_path: Path) -> None:
    planted = {name: mark() for name in VARIABLES}
    variables = {name: form.format(secret) for name, secret in planted.items()}
    del variables["LD_PRELOAD"]  # the loader itself says it
    plain = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_PORT": "29777"}
    outputs = {}
    with (
        netns() as space,
        etc(space, nsswitch_conf="hosts: files\n", hosts="127.0.0.1 localhost\n"),
    ):
        environ = {**variables, **plain}
        del environ["SM_HOSTS"], environ["TORCHELASTIC_RUN_ID"], environ["PYTORCHJOB_REPLICA_TYPE"]
        for words in (["snapshot"], ["check"], ["preflight", "--json"]):
            outputs[" ".join(words)] = inside(space, "-m", "ptnet", *words, **environ)
        outputs["script"] = inside(space, "-c", "import ptnet; ptnet.require()", **environ)
        environ = {**variables, **plain}
        outputs["torchrun"] = inside(space, "-m", "ptnet", "preflight", "--wait", "1", **environ)
    if form.startswith("user"):
        assert "does not resolve yet (waiting" in outputs["preflight --json"]
        assert "PreflightError" in outputs["script"]
    unfit = ("PET_", "SLURM_", "SM_", "PYTORCHJOB_", "TORCHELASTIC_RESTART", "MASTER_")
    fit = {name: value for name, value in variables.items() if not name.startswith(unfit)}
    outputs["board"] = on_the_board(tmp_path, {**fit, **plain, "MASTER_ADDR": "::1"})
    assert '"http_proxy": "' in outputs["board"]
    for command, shown in outputs.items():
        for name, secret in planted.items():
            assert secret not in shown, (command, name)


def on_the_board(folder: Path, environ: dict[str, str]) -> str:
    """What a participant puts there, its name included, and what it says."""
    words = ["preflight", "--board", str(folder), "--rank", "0", "--world-size", "2"]
    with subprocess.Popen(
        [sys.executable, "-m", "ptnet", *words],
        env={**environment(), **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as waiting:
        assert waiting.stderr
        said = waiting.stderr.readline()
        assert "1 of 2 ranks are here" in said
        for path in folder.rglob("*"):
            said += f"{path.name}\n"
            if path.is_file() and (data := path.read_bytes()):
                said += zlib.decompress(data).decode()
        os.kill(waiting.pid, signal.SIGINT)
        out, err = waiting.communicate(timeout=30)
    return said + out + err
