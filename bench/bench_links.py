"""One inspection of this host's links (names, addresses, flags, MTU, MAC, counters, speed): ptnet
against psutil, pyroute2 and `ip`, in network namespaces made for it. Needs root.

    python bench/bench_links.py
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
from statistics import median

from rivals import ENV, again, head, in_turn, namespace, ratio, show

SIZES = (4, 100, 1000)
TARGETS = {4: (0.33, 0.05), 100: (0.20, 0.05), 1000: (0.20, 0.05)}
GROWTH = 15
GROWTH_OF_ONE = 2
ROUNDS = 7


def main() -> None:
    parser = argparse.ArgumentParser(description="Inspection of the links of a host.")
    parser.add_argument("--inside", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        (one if options.one else every)(options.inside)
        return

    print("## One inspection of all links")
    head("links", "tool", "time", "ptnet is", "target", "")
    sys.stdout.flush()
    for size in SIZES:
        with namespace(size) as name:
            again(name, "--inside", str(size))
    growth()


def every(size: int) -> None:
    import psutil
    from pyroute2 import IPRoute

    import ptnet

    def by_psutil() -> None:
        psutil.net_if_addrs()
        psutil.net_if_stats()
        psutil.net_io_counters(pernic=True)

    def by_pyroute2() -> None:
        with IPRoute() as route:
            list(route.get_links())
            list(route.get_addr())

    def by_ip() -> None:
        json.loads(subprocess.check_output(["ip", "-j", "-s", "-d", "addr"]))

    assert len(ptnet.links()) == size + 1
    sides = {
        "ptnet.links()": ptnet.links,
        "psutil, 3 calls": by_psutil,
        "pyroute2 get_links, get_addr": by_pyroute2,
        "`ip -j -s -d addr`, json": by_ip,
    }
    ours, *others = in_turn(sides, limit_s=8.0)
    print(f"| {size} | ptnet.links() | {show(ours)} | 1 | | |")
    targets = (*TARGETS[size], None)
    for tool, times, target in zip(list(sides)[1:], others, targets, strict=True):
        cells = ratio(ours, times, target)
        print(f"| {size} | {tool} | {show(times)} | {cells} |", flush=True)


def one(size: int) -> None:
    import ptnet

    def by_ip() -> None:
        json.loads(subprocess.check_output(["ip", "-j", "-s", "-d", "addr", "show", "dev", "a1"]))

    everything = in_turn({"all": ptnet.links}, limit_s=0.5)
    by_name = in_turn({"one": lambda: ptnet.links("a1"), "ip": by_ip}, limit_s=0.5)
    print(json.dumps([median(times) for times in everything + by_name]))


def growth() -> None:
    """By how much more links make one answer slower: fresh processes, the sizes in turn."""
    rounds: dict[int, list[list[float]]] = {size: [] for size in SIZES}
    with contextlib.ExitStack() as stack:
        names = {size: stack.enter_context(namespace(size)) for size in SIZES}
        for _ in range(ROUNDS):
            for size, name in names.items():
                argv = ["ip", "netns", "exec", name, sys.executable, __file__, "--one"]
                text = subprocess.check_output([*argv, "--inside", str(size)], env=ENV)
                rounds[size].append(json.loads(text))
    times = {size: [list(c) for c in zip(*rows, strict=True)] for size, rows in rounds.items()}
    print("\n## Growth with the number of links")
    head("question", "from", "to", "ratio", "target", "")
    rows = (("ptnet.links()", 0, 100, GROWTH), ('ptnet.links("a1")', 1, 4, GROWTH_OF_ONE))
    for question, which, low, limit in rows:
        less, more = times[low][which], times[1000][which]
        spent = f"{low} links: {brief(less)} | 1000 links: {brief(more)}"
        print(f"| {question} | {spent} | {ratio(more, less, limit)} |")
    ours, theirs = times[1000][1:]
    spent = f"ptnet: {brief(ours)} | `ip … show dev a1`: {brief(theirs)}"
    print(f"| one of 1000 links | {spent} | {ratio(ours, theirs)} |")


def brief(seconds: list[float]) -> str:
    return show(seconds).partition(" (")[0]


if __name__ == "__main__":
    main()
