"""What `import ptnet` adds to the start of a Python process, against psutil and pyroute2.

python bench/bench_import.py
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from statistics import median

from rivals import ENV, children_cpu, head, in_turn, ratio, show

CODES = {
    "nothing": "pass",
    "`import ptnet`": "import ptnet",
    "`import psutil`": "import psutil",
    "`import pyroute2`": "import pyroute2",
    "… and `ptnet.links()`": "import ptnet; ptnet.links()",
    "… and psutil's 3 calls": (
        "import psutil; psutil.net_if_addrs(); psutil.net_if_stats(); "
        "psutil.net_io_counters(pernic=True)"
    ),
    "… and `IPRoute`": (
        "import pyroute2\nwith pyroute2.IPRoute() as r: list(r.get_links()); list(r.get_addr())"
    ),
}
AFTER = """
import os
loaded = len(sys.modules) - before
threads = len(os.listdir("/proc/self/task")) - 1
files = [entry.path for entry in os.scandir("/proc/self/fd")]
sockets = sum(os.readlink(file).startswith("socket") for file in files if os.path.lexists(file))
print(loaded, threads, sockets, sep=" | ")
"""
LINES = (
    ("`import ptnet`", "`import psutil`", 0.10),
    ("`import ptnet`", "`import pyroute2`", 0.02),
    ("… and `ptnet.links()`", "… and psutil's 3 calls", None),
    ("… and `ptnet.links()`", "… and `IPRoute`", None),
)


def main() -> None:
    times = dict(
        zip(
            CODES, in_turn({n: start(c) for n, c in CODES.items()}, 20.0, children_cpu), strict=True
        )
    )
    bare = times["nothing"]
    added = {
        name: [with_it - without for with_it, without in zip(spent, bare, strict=True)]
        for name, spent in times.items()
    }
    print("## Import")
    print(f"\nCPU of a bare process: {show(bare)}. Added to the one that ran just before:")
    head("code", "added", "modules", "threads", "sockets")
    for name, code in list(CODES.items())[1:]:
        print(f"| {name} | {show(added[name])} | {look(code)} |")
    head("ours", "theirs", "ptnet is", "target", "")
    for ours, theirs, target in LINES:
        cells = ratio([median(added[ours])], [median(added[theirs])], target)
        print(f"| {ours} | {theirs} | {cells} |")


def start(code: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, "-c", code], check=True, env=ENV)


def look(code: str) -> str:
    """Cells `modules | threads | sockets` after the code."""
    text = f"import sys; before = len(sys.modules)\n{code}\n{AFTER}"
    argv = [sys.executable, "-c", text]
    return subprocess.check_output(argv, text=True, env=ENV).strip()


if __name__ == "__main__":
    main()
