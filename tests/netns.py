"""One network namespace of a test's own, for questions about links, routes and ports."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ptnet

_numbers = itertools.count()


def environment() -> dict[str, str]:
    """Of a child Python that shall import the very ptnet that is under test here."""
    home = Path(ptnet.__file__).parents[1]
    return {**os.environ, "PYTHONPATH": str(home)}


class Netns:
    """A namespace with loopback up."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, *argv: str, check: bool = True) -> str:
        # Other people's tools run without the sanitizers of ours.
        clean = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        words = ["ip", "netns", "exec", self.name, *argv]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=clean)
        if check and done.returncode != 0:
            raise AssertionError(f"{argv}: {done.stderr}")
        return done.stdout

    def ip(self, line: str) -> None:
        """`ip` with the words of a line."""
        self.run("ip", *line.split())

    def json(self, line: str) -> Any:
        """What a command prints as JSON; nothing is an empty list."""
        return json.loads(self.run(*line.split()) or "[]")

    def argv(self, code: str) -> list[str]:
        """The command that runs Python code here."""
        return ["ip", "netns", "exec", self.name, sys.executable, "-c", code]

    def python(self, expression: str, *, prelude: str = "") -> Any:
        """The value of an expression over `core` (ptnet._core), evaluated here."""
        code = f"import json; from ptnet import _core as core; {prelude}\n"
        code += f"print(json.dumps({expression}))"
        done = subprocess.run(
            self.argv(code), capture_output=True, text=True, env=environment(), timeout=60
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@contextlib.contextmanager
def netns() -> Iterator[Netns]:
    """A fresh namespace, taken away at the end."""
    name = f"ptn{os.getpid()}n{next(_numbers)}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        space = Netns(name)
        space.ip("link set lo up")
        yield space
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


@contextlib.contextmanager
def deaf_name_server(space: Netns) -> Iterator[None]:
    """The space's name server takes every question and answers none; 2 s are waited for it."""
    etc = Path(f"/etc/netns/{space.name}")
    etc.mkdir(parents=True)
    (etc / "hosts").write_text("127.0.0.1 localhost\n")
    (etc / "nsswitch.conf").write_text("hosts: files dns\n")
    (etc / "resolv.conf").write_text("nameserver 127.0.0.9\noptions timeout:2 attempts:1\n")
    code = (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        "s.bind(('127.0.0.9', 53)); print('ready', flush=True); input()"
    )
    try:
        with subprocess.Popen(
            space.argv(code), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout
            assert server.stdout.readline() == "ready\n"
            yield
            server.communicate("\n")
    finally:
        shutil.rmtree(etc)
