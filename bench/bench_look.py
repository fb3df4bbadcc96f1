"""The pre-flight's first stage, one snapshot of this host, against `import torch`.

python bench/bench_look.py --runs 7
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from rivals import ENV, head, ratio, show

CHILD = """
import json, time
started = time.perf_counter()
import torch
torch_s = time.perf_counter() - started
started = time.perf_counter()
import ptnet
from ptnet import collect
load_s = time.perf_counter() - started
def look():
    started = time.perf_counter()
    assert ptnet.snapshot().links
    return time.perf_counter() - started
print(json.dumps([torch_s, load_s, look(), look()]))
"""
TARGET = 0.02


def main() -> None:
    parser = argparse.ArgumentParser(description="A snapshot of this host against import torch.")
    parser.add_argument("--runs", type=int, default=7, help="processes, after one that warms up")
    options = parser.parse_args()
    rows = [child() for _ in range(options.runs + 1)][1:]
    torch, load, first, second = ([row[n] for row in rows] for n in range(4))

    print("## The stage `look`")
    head("step", "time", "of `import torch`", "target", "")
    print(f"| `import torch` | {show(torch)} | 1 | | |")
    print(f"| ptnet's own modules | {show(load)} | {ratio(load, torch)} |")
    for name, times in (("first `snapshot()`", first), ("the next", second)):
        print(f"| {name} | {show(times)} | {ratio(times, torch, TARGET)} |")


def child() -> list[float]:
    result: list[float] = json.loads(
        subprocess.check_output([sys.executable, "-c", CHILD], env=ENV)
    )
    return result


if __name__ == "__main__":
    main()
