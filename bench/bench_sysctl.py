"""Sixty kernel settings: ptnet.sysctl() against Python's open() and against sysctl(8).

python bench/bench_sysctl.py
"""

from __future__ import annotations

import subprocess
import sys

from rivals import SOURCE, head, in_turn, ratio, show

sys.path.insert(0, str(SOURCE))

import ptnet
from ptnet.collect import SYSCTLS

KEYS = 60


def main() -> None:
    keys = [row.key for row in ptnet.sysctl(*SYSCTLS) if row.value is not None][:KEYS]
    paths = [f"/proc/sys/{key.replace('.', '/')}" for key in keys]

    def by_open() -> None:
        for path in paths:
            with open(path) as file:
                file.read()

    def by_sysctl() -> None:
        subprocess.run(["sysctl", *keys], check=True, capture_output=True)

    sides = {
        "ptnet.sysctl()": lambda: ptnet.sysctl(*keys),
        "`open(path).read()`": by_open,
        "`sysctl KEY…`": by_sysctl,
    }
    ours, *others = in_turn(sides)
    print(f"## {len(keys)} kernel settings")
    head("tool", "time", "ptnet is", "target", "")
    print(f"| ptnet.sysctl() | {show(ours)} | 1 | | |")
    for tool, times, target in zip(list(sides)[1:], others, (0.33, None), strict=True):
        print(f"| {tool} | {show(times)} | {ratio(ours, times, target)} |")


if __name__ == "__main__":
    main()
