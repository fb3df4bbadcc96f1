"""What ptnet's pre-flight between the ranks adds to the start of a job.

Measured is the time from the start of the first process to the end of the last rank's
init_process_group("gloo"), all ranks on this machine's loopback. torch alone and ptnet take turns,
so that both see the same load. Prints a Markdown table.

    python bench/bench_start_ranks.py --runs 5 --ranks 2 4 8
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

SOURCE = Path(__file__).resolve().parent.parent / "src"
LATE_S = 0.3
LIMIT_S = 120.0
SIDES = ("torch.distributed", "ptnet")

RANK = """
import importlib, sys, time, torch
torch.set_num_threads(1)
importlib.import_module(sys.argv[1]).init_process_group("gloo")
print(time.monotonic(), flush=True)
torch.distributed.destroy_process_group()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Start of a job: torch alone against ptnet.")
    parser.add_argument("--runs", type=int, default=5, help="runs of each side")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8])
    options = parser.parse_args()

    print(f"Start of a job on {os.cpu_count()} cores, medians (and range) of {options.runs}.\n")
    print("| ranks | rank 0 | torch alone | with ptnet | ratio |")
    print("| --- | --- | --- | --- | --- |")
    for ranks in options.ranks:
        for late_s in (0.0, LATE_S):
            seconds: dict[str, list[float]] = {side: [] for side in SIDES}
            for run in range(options.runs):
                for side in SIDES if run % 2 == 0 else SIDES[::-1]:
                    seconds[side].append(start(side, ranks, late_s))
            ratio = median(seconds["ptnet"]) / median(seconds["torch.distributed"])
            bare, ours = (spread(seconds[side]) for side in SIDES)
            when = f"{late_s} s later" if late_s else "with the others"
            print(
                f"| {ranks} | {when} | {bare} | {ours} | {ratio:.3f} |",
                flush=True,
            )


def start(module: str, ranks: int, late_s: float) -> float:
    """Seconds from the start of the first process until every rank has its process group."""
    env = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    env |= {"WORLD_SIZE": str(ranks), "OMP_NUM_THREADS": "1"}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(SOURCE), env.get("PYTHONPATH")]))
    order = [*range(1, ranks), 0] if late_s else list(range(ranks))
    processes: list[subprocess.Popen[str]] = []
    began = time.monotonic()
    try:
        for rank in order:
            if rank == 0:
                time.sleep(late_s)
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-c", RANK, module],
                    env=env | {"RANK": str(rank)},
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
        outputs = [process.communicate(timeout=LIMIT_S)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    failed = [process.returncode for process in processes if process.returncode]
    if failed:
        sys.exit(f"{module} with {ranks} ranks: exit codes {failed}")
    return max(float(output.split()[-1]) for output in outputs) - began


def spread(seconds: list[float]) -> str:
    return f"{median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


def free_port() -> int:
    """A free port below the usual ephemeral range, so that no outgoing connection takes it."""
    for port in range(20000 + os.getpid() % 5000, 32768):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    sys.exit("no free port below 32768")


if __name__ == "__main__":
    main()
