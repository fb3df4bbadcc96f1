"""No public function of the C module leaks, neither when it answers nor when it raises."""

from __future__ import annotations

import ast
import contextlib
import ctypes
import importlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from leaks.watch import leaks

from ptnet import errors

core = importlib.import_module("ptnet._core")
STUB = Path(__file__).resolve().parents[2] / "src" / "ptnet" / "_core.pyi"

# One line for each function: arguments that work, then some that do not.
CALLS: dict[str, list[tuple[Any, ...]]] = {
    "bind_try": [(0,), ("busy",), (-1,), (70000,)],
    "default_routes": [()],
    "host_name": [()],
    "is_local": [("127.0.0.1",), ("192.0.2.1",), ("no address",)],
    "limits": [()],
    "links": [(), ("lo", True), ("no-such-link",), ("x" * 300,)],
    "listeners": [()],
    "name_files": [("/",), ("/no/such/root",)],
    "neighbours": [()],
    "place": [("/",), ("/no/such/root",)],
    "port_ranges": [()],
    "rdma": [("/",), ("/no/such/root",)],
    "resolve": [
        (["localhost", "127.0.0.1"], 5.0, True, True),
        ([""], 5.0),
        ([], 5.0),
        (["a", 1], 5.0),
    ],
    "routes_to": [(["127.0.0.1", "::1", "192.0.2.1"],), (["no address"],), (["::1", 1],)],
    "rules": [()],
    "socket_counts": [()],
    "store_greet": [
        ("127.0.0.1", "closed", 2.0, 2.0),
        ("127.0.0.1", "busy", 2.0, 2.0),
        ("no address", 1, 1.0, 1.0),
        ("127.0.0.1", -1, 1.0, 1.0),
    ],
    "sysctl": [(["net.core.somaxconn", "kernel.no_such_key"],), (["../etc/passwd"],), ([1],)],
}


def stubbed() -> set[str]:
    return {n.name for n in ast.parse(STUB.read_text()).body if isinstance(n, ast.FunctionDef)}


def built() -> set[str]:
    return {name for name in vars(core) if not name.startswith("_")}


@pytest.fixture(scope="module")
def ports() -> Iterator[dict[str, int]]:
    """`busy`: something that is not a store listens and answers; `closed`: nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    peer, _ = server.accept()
                    with peer:
                        peer.sendall(b"220 not a store\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        yield {"busy": server.getsockname()[1], "closed": closed.getsockname()[1]}
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_every_function_is_watched() -> None:
    assert set(CALLS) == stubbed() | built()


@pytest.mark.parametrize(
    ("name", "args"), [(name, args) for name, rows in CALLS.items() for args in rows]
)
def test_no_leak(name: str, args: tuple[Any, ...], ports: dict[str, int]) -> None:
    function = getattr(core, name)
    real = [ports[a] if isinstance(a, str) and a in ports else a for a in args]

    def call() -> None:
        with contextlib.suppress(errors.PtnetError, TypeError, ValueError, OverflowError):
            function(*real)

    assert leaks(call) == {}


def test_a_leak_of_heap_is_seen() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    lost: list[int] = []
    assert "heap_bytes" in leaks(lambda: lost.append(libc.malloc(1)))
    for pointer in lost:
        libc.free(pointer)


def test_leaks_of_objects_files_and_threads_are_seen() -> None:
    kept: list[object] = []
    assert "objects" in leaks(lambda: kept.append(object()))
    files: list[int] = []
    assert "files" in leaks(lambda: files.append(os.open("/", os.O_PATH)))
    for number in files:
        os.close(number)
    end = threading.Event()

    def start() -> None:
        threading.Thread(target=end.wait).start()

    assert "threads" in leaks(start)
    end.set()
