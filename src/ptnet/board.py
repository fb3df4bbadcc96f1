"""The board: a small shared memory on which the participants of a job meet.

Two kinds: a c10d store (`StoreBoard`, over a store that `ptnet.dist` opened) and a shared directory
(`DirectoryBoard`), which needs neither torch nor TCP between the nodes. Keys are short texts with
`/`; values are bytes and are never changed once written, except by `put`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar

from ptnet.errors import PtnetError, UsageError

P = ParamSpec("P")
T = TypeVar("T")

SLOTS = "slots"
"""Counts the participants of a meeting; participant n owns the key `card/n`."""

VERDICT = "verdict"
"""The key of a meeting's result."""

WORLDS = "ptnet/worlds"
"""Counts the meetings of all runs on one store; `ptnet/worlds/n` is the run id of the n-th."""

ANSWER_S = 20.0
"""A store that answered the greeting and then says nothing for this long is lost."""


class BoardLost(PtnetError):
    """The board can no longer be read or written."""


class Board(Protocol):
    """What a meeting needs."""

    def add(self, key: str) -> int:
        """Count up by one and return the new number; never the same number twice."""

    def count(self, key: str) -> int:
        """The number that `add` returned last; 0 before the first."""

    def put(self, key: str, value: bytes) -> None:
        """Write a value that one participant owns."""

    def put_once(self, key: str, value: bytes) -> bytes:
        """Write the value unless there is one; return the one that stands."""

    def get(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values, None where there is none yet."""

    def announce(self) -> None:
        """Leave this meeting's run id where those of other runs see it."""

    def others(self) -> list[str]:
        """Run ids that others announced on the same store or directory."""

    def alive(self, key: str) -> bool:
        """Is the participant that owns this key still there, as far as the board can tell."""

    def close(self, last: bool) -> None:
        """Leave; the `last` participant takes the meeting's traces away where they would stay."""


class StoreBoard:
    """A board on a c10d store, under a prefix of its own.

    Every request runs in one daemon thread: a store call cannot be interrupted, and neither Ctrl-C
    nor a path that swallows packets may hang the caller.
    """

    def __init__(self, store: Any, prefix: str) -> None:
        self._store = store
        self._prefix = prefix
        self._run = prefix.split("/")[1]
        self._requests: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="ptnet-board", daemon=True).start()

    def _serve(self) -> None:
        while (request := self._requests.get()) is not None:
            request()

    def _ask(self, what: str, call: Callable[[], T]) -> T:
        done: queue.SimpleQueue[tuple[T | None, Exception | None]] = queue.SimpleQueue()

        def run() -> None:
            try:
                done.put((call(), None))
            except Exception as error:
                done.put((None, error))

        self._requests.put(run)
        try:
            result, error = done.get(timeout=ANSWER_S)
        except queue.Empty:
            raise BoardLost(
                f"the store answered the greeting, but not `{what}` within {ANSWER_S:.0f} s: "
                "large packets may be lost on the path"
            ) from None
        if error is not None:
            raise BoardLost(f"the store went away during `{what}`: {error}") from error
        return result  # type: ignore[return-value]

    def _key(self, key: str) -> str:
        return f"{self._prefix}/{key}"

    def add(self, key: str) -> int:
        return self._ask("add", lambda: int(self._store.add(self._key(key), 1)))

    def count(self, key: str) -> int:
        return self._ask("add", lambda: int(self._store.add(self._key(key), 0)))

    def put(self, key: str, value: bytes) -> None:
        self._ask("set", lambda: self._store.set(self._key(key), value))

    def put_once(self, key: str, value: bytes) -> bytes:
        return self._ask(
            "compare_set", lambda: bytes(self._store.compare_set(self._key(key), "", value))
        )

    def get(self, keys: Sequence[str]) -> list[bytes | None]:
        names = [self._key(key) for key in keys]
        return self._ask("get", lambda: self._read(names))

    def _read(self, names: list[str]) -> list[bytes | None]:
        if not names:
            return []
        if self._store.check(names):
            return [bytes(value) for value in self._store.multi_get(names)]
        if len(names) == 1:
            return [None]
        there = [name for name in names if self._store.check([name])]
        values = self._store.multi_get(there) if there else []
        found = dict(zip(there, values, strict=True))
        return [bytes(found[name]) if name in found else None for name in names]

    def announce(self) -> None:
        number = self._ask("add", lambda: int(self._store.add(WORLDS, 1)))
        self._ask("set", lambda: self._store.set(f"{WORLDS}/{number}", self._run))

    def others(self) -> list[str]:
        count = self._ask("add", lambda: int(self._store.add(WORLDS, 0)))
        names = [f"{WORLDS}/{n}" for n in range(1, count + 1)]
        runs = self._ask("get", lambda: self._read(names))
        return sorted({run.decode(errors="replace") for run in runs if run} - {self._run})

    def alive(self, key: str) -> bool:
        return True

    def close(self, last: bool) -> None:
        """End the thread and the connection. The keys stay: the store ends with the job."""
        self._requests.put(None)
        self._store = None


def _asking(method: Callable[P, T]) -> Callable[P, T]:
    """A directory that cannot be read or written is a board that is lost."""

    @functools.wraps(method)
    def ask(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except OSError as error:
            raise BoardLost(f"{error.filename}: {error.strerror}") from error

    return ask


class DirectoryBoard:
    """A board in a directory that all participants share.

    A key is a file, written beside and linked or renamed into place, so that a reader never sees
    half a value; `link` decides who is first, also on NFS.
    """

    STALE_S = 15.0
    """A participant touches its files while it waits; untouched for this long, it is gone."""

    def __init__(self, directory: str | os.PathLike[str], prefix: str) -> None:
        root = Path(directory)
        if not os.path.isdir(root):
            raise UsageError(f"--board {root}: no such directory; give one that all nodes share")
        self._top = root / "ptnet"
        self._mine: list[Path] = []
        self._token = os.urandom(8).hex()  # two containers may share host name and pid
        name = prefix.removeprefix("ptnet/").replace("/", "+")
        self._root = self._top / name
        generation = 1
        try:
            while self._ended():
                generation += 1
                self._root = self._top / f"{name}+{generation}"
            self._root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--board {root}: cannot write there: {error.strerror}") from error
        except BoardLost as error:
            raise UsageError(f"--board {root}: {error}") from error

    def _ended(self) -> bool:
        """Was there a meeting that came to a verdict, whose participants are gone: an earlier run
        that was killed before it could clear up."""
        if not self._path(VERDICT).exists():
            return False
        return not any(self.alive(f"card/{n}") for n in range(1, self.count(SLOTS) + 1))

    def _path(self, key: str) -> Path:
        return self._root / key.replace("/", "+")

    def _written(self, path: Path, value: bytes) -> Path:
        beside = path.with_name(f".{path.name}.{self._token}")
        self._root.mkdir(parents=True, exist_ok=True)  # who met here before may have cleared up
        beside.write_bytes(value)
        return beside

    def _link(self, path: Path, value: bytes) -> bool:
        """Write unless it is there."""
        beside = self._written(path, value)
        try:
            os.link(beside, path)
        except FileExistsError:
            return False
        finally:
            beside.unlink()
        return True

    @_asking
    def add(self, key: str) -> int:
        number = self.count(key) + 1
        while not self._link(self._path(f"{key}.{number}"), b""):
            number += 1
        return number

    @_asking
    def count(self, key: str) -> int:
        stem = f"{self._path(key).name}."
        numbers = [p.name.removeprefix(stem) for p in self._root.glob(f"{stem}*")]
        return max((int(n) for n in numbers if n.isdigit()), default=0)

    @_asking
    def put(self, key: str, value: bytes) -> None:
        path = self._path(key)
        os.replace(self._written(path, value), path)
        self._mine.append(path)

    @_asking
    def put_once(self, key: str, value: bytes) -> bytes:
        path = self._path(key)
        return value if self._link(path, value) else path.read_bytes()

    @_asking
    def get(self, keys: Sequence[str]) -> list[bytes | None]:
        for path in self._mine:
            with contextlib.suppress(FileNotFoundError):
                os.utime(path)
        return [self._value(self._path(key)) for key in keys]

    @staticmethod
    def _value(path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None

    def announce(self) -> None:
        """The directory's name says it."""

    @_asking
    def others(self) -> list[str]:
        runs = {path.name.partition("+")[0] for path in self._top.iterdir()}
        return sorted(runs - {self._root.name.partition("+")[0]})

    @_asking
    def alive(self, key: str) -> bool:
        # Both times come from the server of the directory, whatever the hosts' clocks say.
        now = self._root / f".now.{self._token}"
        try:
            now.touch()
            age_s = now.stat().st_mtime - self._path(key).stat().st_mtime
            now.unlink()
        except FileNotFoundError:
            return False
        return age_s < self.STALE_S

    def close(self, last: bool) -> None:
        for path in self._mine:  # the next run must not take this one for waiting
            with contextlib.suppress(OSError):
                path.unlink()
        if last:
            shutil.rmtree(self._root, ignore_errors=True)
            with contextlib.suppress(OSError):  # others meet there, or have taken it away
                self._top.rmdir()
