"""Secrets planted in all that ptnet reads: none of them is in anything that it writes."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import Host, Lab

from ptnet import redact

PTNET = (sys.executable, "-m", "ptnet")


class Plants:
    """Gives out secrets, and remembers where each stands."""

    def __init__(self) -> None:
        self.where: dict[str, str] = {}

    def new(self, where: str) -> str:
        secret = f"S3cr3t{len(self.where):03d}x"
        self.where[secret] = where
        return secret

    def leaks(self, output: str) -> list[str]:
        return [where for secret, where in self.where.items() if secret in output]


def variables(plants: Plants) -> dict[str, str]:
    """A secret in every variable that ptnet reads, in each of the forms that people write."""
    user = "http://ann:{}@proxy.example:3128"
    env = {}
    for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy", "ftp_proxy"):
        env[name] = user.format(plants.new(name))
    env["no_proxy"] = f"localhost,bob:{plants.new('no_proxy')}@node0"
    for name in (
        "PIP_INDEX_URL",
        "PIP_EXTRA_INDEX_URL",
        "PIP_FIND_LINKS",
        "UV_INDEX",
        "HF_ENDPOINT",
    ):
        env[name] = f"https://u:{plants.new(name)}@index.example/simple?token={plants.new(name)}"
    env["PIP_PROXY"] = user.format(plants.new("PIP_PROXY"))
    for name in ("NCCL_API_KEY", "TORCH_TOKEN", "MASTER_PASSWORD", "SLURM_JWT_TOKEN", "PET_SECRET"):
        env[name] = plants.new(name)
    env["NCCL_DEBUG_FILE"] = f"/tmp/x?password={plants.new('NCCL_DEBUG_FILE')}"
    env["TORCH_EXTRA"] = f"Authorization: Bearer {plants.new('bearer')}"
    env["KUBERNETES_TOKEN"] = plants.new("KUBERNETES_TOKEN")
    env["UCX_LOG"] = f"--password {plants.new('UCX_LOG')}"
    env["RAY_ADDRESS"] = f"ray://u:{plants.new('RAY_ADDRESS')}@head:10001"
    env["PET_RDZV_ENDPOINT"] = f"u:{plants.new('PET_RDZV_ENDPOINT')}@node0:29400"
    env["PET_RDZV_CONF"] = f"etcd_password={plants.new('PET_RDZV_CONF')}"
    env["PET_LOCAL_ADDR"] = f"u:{plants.new('PET_LOCAL_ADDR')}@node0"
    env["MASTER_ADDR"] = f"http://u:{plants.new('MASTER_ADDR')}@node0"
    env["MASTER_PORT"] = f"token={plants.new('MASTER_PORT')}"
    env["RANK"] = f"password={plants.new('RANK')}"
    env["WORLD_SIZE"] = f"secret={plants.new('WORLD_SIZE')}"
    env["SM_HOSTS"] = f'["token={plants.new("SM_HOSTS")}"]'
    for name in (
        "HF_TOKEN",
        "WANDB_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "MY_PASSWORD",
    ):
        env[name] = plants.new(name)
    return env


@pytest.fixture(scope="module")
def plants() -> Plants:
    return Plants()


@pytest.fixture(scope="module")
def env(plants: Plants) -> dict[str, str]:
    return variables(plants)


@pytest.fixture(scope="module")
def host(plants: Plants) -> Iterator[Host]:
    with Lab({"nodea": "10.77.0.1/24"}) as lab:
        one = lab["nodea"]
        text = f"127.0.0.1 localhost # password={plants.new('/etc/hosts')}\n10.77.0.1 nodea\n"
        one.etc("hosts", text)
        one.etc("resolv.conf", f"# token={plants.new('/etc/resolv.conf')}\nnameserver 10.77.0.9\n")
        code = (
            "import socket,time; s=socket.create_server(('', 29777)); print('up'); time.sleep(60)"
        )
        argument = f"--token={plants.new('command line of a listener')}"
        server = one.start([sys.executable, "-c", code, argument])
        server.wait_for("up")
        yield one


def said(host: Host, env: dict[str, str], *words: str) -> str:
    done = host.run([*PTNET, *words], {**env, "PTNET_WAIT": "1"})
    assert "Traceback" not in done.stderr
    assert done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("snapshot",),
        ("snapshot", "--redact", "--detail"),
        ("check",),
        ("check", "--json"),
        ("check", "--share"),
        ("preflight",),
        ("preflight", "--json"),
        ("ports",),
        ("ports", "--json"),
        ("links", "--json"),
        ("run", "--", "true"),
        ("run", "--", "torchrun", "--nnodes", "2", "train.py"),
    ],
    ids=" ".join,
)
def test_no_verb_writes_a_secret(
    host: Host, env: dict[str, str], plants: Plants, words: tuple[str, ...]
) -> None:
    """Only what the launcher itself prints of its own arguments is not ours."""
    assert plants.leaks(said(host, env, *words)) == []


def test_no_file_and_no_python_object_has_a_secret(
    host: Host, env: dict[str, str], plants: Plants, tmp_path: Path
) -> None:
    file, report = tmp_path / "snapshot.json", tmp_path / "report.json"
    said(host, env, "snapshot", "-o", str(file))
    said(host, env, "run", "--report", str(report), "--", "true")
    code = """
import ptnet, traceback
print(ptnet.snapshot(), ptnet.preflight(), ptnet.listeners())
try: ptnet.require()
except Exception as error: traceback.print_exc(); print(repr(error), error.report)
try: ptnet.init_process_group("gloo")
except Exception as error: traceback.print_exc(); print(error, vars(error))
"""
    done = host.run([sys.executable, "-c", code], {**env, "PTNET_WAIT": "1"})
    assert "PreflightError" in done.stderr
    for text in (file.read_text(), report.read_text(), done.stdout, done.stderr):
        assert text
        assert plants.leaks(text) == []


def test_arguments_are_told_without_their_secrets(host: Host, tmp_path: Path) -> None:
    """A value that is refused is shown, so that it can be mended; what is secret in it is not."""
    plants = Plants()

    def url(where: str) -> str:
        return f"http://u:{plants.new(where)}@host"

    for words in (
        ("route", url("route")),
        ("links", url("links")),
        ("check", "--from", url("check --from")),
        ("preflight", "--board", url("preflight --board"), "--rank", "0", "--world-size", "2"),
        ("preflight", "--wait", f"token={plants.new('--wait')}"),
        ("snapshot", "-o", f"/no/such/password={plants.new('-o')}/x"),
        ("explain", f"token={plants.new('explain')}"),
        ("run", f"--token={plants.new('run option')}"),
        ("run", "--", url("run launcher")),
        ("run", "--report", f"/no/such/token={plants.new('--report')}/x", "--", "true"),
        ("run", "--", "torchrun", "--rdzv-endpoint", url("endpoint"), "--nnodes", "2", "x.py"),
    ):
        assert plants.leaks(said(host, {}, *words)) == [], words


def test_what_a_stranger_says_is_told_without_its_secrets() -> None:
    plants = Plants()
    secret = plants.new("a stranger's greeting")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for _ in range(8):
                peer, _ = server.accept()
                with peer:
                    peer.recv(64)
                    peer.sendall(f"HTTP/1.1 302\r\nLocation: /?token={secret}\r\n".encode())

        threading.Thread(target=serve, daemon=True).start()
        env = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
        env |= {"MASTER_PORT": str(server.getsockname()[1]), "PTNET_WAIT": "4"}
        import os

        done = subprocess.run(
            [*PTNET, "preflight", "--json"],
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert "master-not-a-store" in {f["id"] for f in json.loads(done.stdout)["findings"]}
    assert plants.leaks(done.stdout + done.stderr) == []


def test_every_variable_that_is_kept_has_a_plant(env: dict[str, str]) -> None:
    """One for each line of the list of variables that matter."""
    kept = {name for name in env if redact.matters(name)}
    for start in ("NCCL_", "TORCH_", "PET_", "MASTER_", "SLURM_", "PIP_", "UV_", "RAY_", "SM_"):
        assert any(name.startswith(start) for name in kept), start
