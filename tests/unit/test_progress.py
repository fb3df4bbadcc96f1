"""Progress is a line on a terminal after a second, and nothing else anywhere."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest
from netns import environment

CODE = """
import sys, threading, time
from ptnet import progress
progress.QUIET_S = 0.2
with progress.doing("looking for " + "x" * 90):
    time.sleep(float(sys.argv[1]))
assert threading.active_count() == 1
"""


def shown(seconds: float, *, terminal: bool, term: str = "xterm") -> bytes:
    """What stderr gets."""
    ours, theirs = pty.openpty() if terminal else os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-c", CODE, str(seconds)],
            stderr=theirs,
            env={**environment(), "TERM": term},
            timeout=30,
        )
        assert done.returncode == 0
    finally:
        os.close(theirs)
    out = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # a terminal that nobody holds any more
            break
        if not part:
            break
        out += part
    os.close(ours)
    return out


def test_a_terminal_sees_one_line_that_is_erased() -> None:
    out = shown(0.6, terminal=True)
    assert b"ptnet: looking for xxx" in out
    assert b"\n" not in out
    lines = out.split(b"\r")
    assert all(len(line.decode()) <= 80 for line in lines)
    assert lines[-2].strip() == b""  # erased, and the cursor is at the start
    assert lines[-1] == b""


@pytest.mark.parametrize(
    ("seconds", "terminal", "term"),
    [(0.6, False, "xterm"), (0.6, True, "dumb"), (0.0, True, "xterm")],
)
def test_nobody_else_sees_anything(seconds: float, terminal: bool, term: str) -> None:
    assert shown(seconds, terminal=terminal, term=term) == b""


def test_an_interrupt_ends_it() -> None:
    code = CODE.replace("time.sleep(float(sys.argv[1]))", "raise KeyboardInterrupt")
    done = subprocess.run(
        [sys.executable, "-c", code, "0"], capture_output=True, env=environment(), timeout=30
    )
    assert b"KeyboardInterrupt" in done.stderr
    assert done.returncode != 0
