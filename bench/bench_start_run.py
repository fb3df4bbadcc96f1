"""What `ptnet run` in front of torchrun adds to the start of a job on two hosts.

Measured is the time from the start of the first node's launcher to the end of the first training
step on the last rank. The hosts are network namespaces, which needs root. torchrun alone and
`ptnet run` take turns. Prints a Markdown table.

    python bench/bench_start_run.py --runs 5
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from lab import Lab
from net.matrix import (
    ADDRESSES,
    FAULTS,
    RUN_C10D,
    RUN_STATIC,
    TORCHRUN_C10D,
    TORCHRUN_STATIC,
    Cell,
    Door,
)

PAIRS = {"static": (TORCHRUN_STATIC, RUN_STATIC), "c10d": (TORCHRUN_C10D, RUN_C10D)}
LIMIT_S = 120.0


def main() -> None:
    parser = argparse.ArgumentParser(description="Start of a job: torchrun against ptnet run.")
    parser.add_argument("--runs", type=int, default=5, help="runs of each side")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        train_one_step()
        return

    print(
        f"First training step on {os.cpu_count()} cores, medians (and range) of {options.runs}.\n"
    )
    print("| rendezvous | torchrun | ptnet run -- torchrun | ratio |")
    print("| --- | --- | --- | --- |")
    with Lab(ADDRESSES) as lab:
        for kind, pair in PAIRS.items():
            seconds: dict[Door, list[float]] = {door: [] for door in pair}
            for run in range(options.runs):
                for door in pair if run % 2 == 0 else pair[::-1]:
                    seconds[door].append(start(lab, door))
            ratio = median(seconds[pair[1]]) / median(seconds[pair[0]])
            bare, ours = (spread(seconds[door]) for door in pair)
            print(f"| {kind} | {bare} | {ours} | {ratio:.3f} |", flush=True)


def start(lab: Lab, door: Door) -> float:
    """Seconds from the start of the first launcher to the last rank's first step."""
    began = time.monotonic()
    programs = Cell(door, FAULTS[0]).start(lab, [os.path.abspath(__file__), "--worker"])
    steps = []
    for name, program in programs.items():
        result = program.wait(LIMIT_S)
        if result.returncode:
            sys.exit(f"{door.name} on {name}: exit {result.returncode}\n{result.output}")
        steps += [float(line[5:]) for line in result.stdout.splitlines() if line[:5] == "step "]
    return max(steps) - began


def spread(seconds: list[float]) -> str:
    return f"{median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


def train_one_step() -> None:
    import torch
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(1)
    model = torch.nn.Linear(16, 1)
    # Before init_process_group, for the reason that examples/train_ddp.py gives.
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.distributed.init_process_group("gloo")
    DistributedDataParallel(model)(torch.randn(32, 16)).square().mean().backward()
    optimizer.step()
    print("step", time.monotonic(), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
