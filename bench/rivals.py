"""Rivals in turn, so that all of them see the same load; their medians as a Markdown table."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median

SOURCE = Path(__file__).resolve().parent.parent / "src"
ENV = {**os.environ, "PYTHONPATH": str(SOURCE)}
ENV.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed has its bytecode

LEAST, MOST = 7, 201
SAMPLE_S = 0.005

Sides = Mapping[str, Callable[[], object]]


def wall(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def children_cpu(work: Callable[[], object]) -> float:
    """Seconds of CPU of the processes that it starts and waits for: other load adds little."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def in_turn(
    sides: Sides,
    limit_s: float = 8.0,
    cost: Callable[[Callable[[], object]], float] = wall,
) -> list[list[float]]:
    """The cost of a call of each side, one list a side. Every other round goes backwards, and what
    is short is called several times: nobody always follows the one that empties the caches."""

    def repeated(work: Callable[[], object], times: int) -> Callable[[], object]:
        return lambda: [work() for _ in range(times)]

    for work in sides.values():
        work()
    times = [max(1, round(SAMPLE_S / wall(work))) for work in sides.values()]
    works = [repeated(work, n) for work, n in zip(sides.values(), times, strict=True)]
    gc.collect()
    gc.freeze()
    spent: list[list[float]] = [[] for _ in works]
    until = time.perf_counter() + limit_s
    while len(spent[0]) < LEAST or (len(spent[0]) < MOST and time.perf_counter() < until):
        forwards = len(spent[0]) % 2 == 0
        for side in range(len(works)) if forwards else reversed(range(len(works))):
            gc.collect()  # nobody pays for another's garbage
            spent[side].append(cost(works[side]) / times[side])
    return spent


def show(times: list[float]) -> str:
    """Median and range in a unit that suits."""
    middle = median(times)
    unit, factor = ("s", 1) if middle >= 1 else ("ms", 1e3) if middle >= 1e-3 else ("µs", 1e6)
    figures = (value * factor for value in (middle, *span(times)))
    texts = [f"{x:.0f}" if x >= 100 else f"{x:.3g}" for x in figures]
    return f"{texts[0]} {unit} ({texts[1]} to {texts[2]})"


def span(times: list[float]) -> tuple[float, float]:
    """The middle nine tenths."""
    ordered = sorted(times)
    cut = len(ordered) // 20
    return ordered[cut], ordered[-1 - cut]


def ratio(ours: list[float], theirs: list[float], target: float | None = None) -> str:
    """Cells `ratio | target | met`: the median of the ratios in each round, for a machine that
    others use too changes its speed between rounds."""
    value = median(a / b for a, b in zip(ours, theirs, strict=True))
    if target is None:
        return f"{value:.3f} | | "
    return f"{value:.3f} | ≤ {target} | {'met' if value <= target else '**missed**'}"


def head(*cells: str) -> None:
    print(f"\n| {' | '.join(cells)} |")
    print("|" + " --- |" * len(cells))


@contextlib.contextmanager
def namespace(links: int) -> Iterator[str]:
    """A network namespace with so many links beside `lo`: pairs of veth, all up, each with one
    IPv4 and two IPv6 addresses."""
    name = f"bench{os.getpid()}n{links}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        # Else the kernel changes the addresses while they are read.
        quiet = "net.ipv6.conf.default.accept_dad=0"
        subprocess.run(["ip", "netns", "exec", name, "sysctl", "-qw", quiet], check=True)
        lines = ["link set lo up"]
        for n in range(links // 2):
            lines.append(f"link add a{n} type veth peer name b{n}")
            for end, (v4, v6) in {"a": (10, "fd00"), "b": (11, "fd01")}.items():
                lines.append(f"link set {end}{n} up")
                lines.append(f"addr add {v4}.{n // 250}.{n % 250}.1/24 dev {end}{n}")
                lines.append(f"addr add {v6}:{n + 1:x}::1/64 dev {end}{n} nodad")
        batch = ["ip", "-n", name, "-batch", "-"]
        subprocess.run(batch, input="\n".join(lines), text=True, check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def again(name: str, *words: str) -> None:
    """This very script in a namespace."""
    argv = ["ip", "netns", "exec", name, sys.executable, sys.argv[0], *words]
    subprocess.run(argv, check=True, env=ENV)
