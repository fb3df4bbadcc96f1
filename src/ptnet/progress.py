"""One line on a terminal while something takes longer than a second; nothing anywhere else."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

QUIET_S = 1.0
AGAIN_S = 0.2
WIDTH = 78


def _wanted() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Say what is being done, and for how long already, on a line that is rewritten in place and
    erased at the end. Only when stderr is a terminal."""
    if not _wanted():
        yield
        return
    done = threading.Event()
    shower = threading.Thread(target=_show, args=(what, done), name="ptnet-progress", daemon=True)
    shower.start()
    try:
        yield
    finally:
        done.set()
        shower.join()


def _show(what: str, done: threading.Event) -> None:
    started = time.monotonic()
    if done.wait(QUIET_S):
        return
    while True:
        seconds = time.monotonic() - started
        line = f"ptnet: {what} … {seconds:.0f} s"
        sys.stderr.write(f"\r{line[:WIDTH]:<{WIDTH}}")
        sys.stderr.flush()
        if done.wait(AGAIN_S):
            break
    sys.stderr.write(f"\r{'':<{WIDTH}}\r")
    sys.stderr.flush()
