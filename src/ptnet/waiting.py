"""What is said while waiting for other nodes: one line on stderr when something changes."""

from __future__ import annotations

import sys
import time
from itertools import islice

from ptnet.model import Job, Launch, Reach
from ptnet.terminal import printable

QUIET_S = 2.0
"""Nothing is said about a wait shorter than this."""
TRIED = {
    "unresolved": "{host} does not resolve yet",
    "refused": "{host}:{port} refuses the connection: nothing listens there yet",
    "timeout": "{host}:{port} does not answer: connecting timed out",
    "unreachable": "{host}:{port} is unreachable",
    "prohibited": "{host}:{port} is administratively prohibited",
    "not-a-store": "{host}:{port} answers, but is not a c10d store",
    "silent": "{host}:{port} accepts the connection and says nothing yet",
    "ok": "{host}:{port} does not lead to this node's own store",
}


class Waiting:
    """The lines of one pre-flight."""

    def __init__(self, launch: Launch, expected: int, wait_s: float) -> None:
        self._launch = launch
        self._expected = expected
        self._wait_s = wait_s
        self._started = time.monotonic()
        self._last = ""

    def _say(self, line: str) -> None:
        waited_s = time.monotonic() - self._started
        if line == self._last or waited_s < QUIET_S:
            return
        self._last = line
        left_s = max(0.0, self._wait_s - waited_s)
        shown = printable(line)  # names of other hosts
        print(f"ptnet: {shown} (waiting, {left_s:.0f} s left)", file=sys.stderr, flush=True)

    def reaching(self, reach: Reach) -> None:
        """On the way to the endpoint."""
        text = TRIED.get(reach.outcome, "{host}:{port} cannot be reached yet")
        self._say(text.format(host=reach.host, port=reach.port))

    def gathering(self, job: Job, here: int, left_s: float) -> None:
        """On the board."""
        unit = "node" if self._launch.unit == "node" else "rank"
        line = f"{here} of {self._expected} {unit}s are here"
        if len(job.cards) >= here:
            names = [_name(c.launch, c.node) for c in job.cards]
            if len(names) <= 8:
                line += f": {', '.join(names)}"
            line += absent(job, self._expected)
        self._say(line)


def _name(launch: Launch, node: str) -> str:
    number = launch.node_rank if launch.unit == "node" else launch.rank
    kind = "node rank" if launch.unit == "node" else "rank"
    return node if number is None else f"{node} ({kind} {number})"


def absent(job: Job, expected: int) -> str:
    """Which ranks are not here, where ranks are known beforehand."""
    node = job.cards[0].launch.unit == "node"
    seen = {c.launch.node_rank if node else c.launch.rank for c in job.cards}
    if None in seen or len(seen) >= expected:
        return ""
    missing = [str(n) for n in islice((n for n in range(expected) if n not in seen), 9)]
    kind = "node rank" if node else "rank"
    shown = ", ".join(missing[:8]) + (", …" if len(missing) > 8 else "")
    return f"; not here: {kind} {shown}"
