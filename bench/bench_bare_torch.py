"""What torch does by itself in each cell of tests/net/matrix.py: does it end, when, and what does
it say? Prints a Markdown table. Needs root for the network namespaces.

    python bench/bench_bare_torch.py --limit 60
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from lab import Lab, Running
from net.matrix import ADDRESSES, BARE_CELLS, SCRIPT, Cell

ERROR = re.compile(r"\w*(Error|error|Exception)\b.*")


def main() -> None:
    parser = argparse.ArgumentParser(description="What torch alone does with each fault.")
    parser.add_argument("--limit", type=float, default=60, help="seconds to wait for each cell")
    parser.add_argument("--only", default="", help="only cells whose name contains this")
    options = parser.parse_args()

    uname = os.uname()
    print(
        f"torch {version('torch')} without ptnet, {date.today()}, {os.cpu_count()} cores, ", end=""
    )
    print(f"{uname.sysname} {uname.release.split('-')[0]}, {system_name()}.\n")
    print("| fault | door | node 0 | node 1 | all ended | trained | last words |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for cell in BARE_CELLS:
        if options.only in cell.name:
            print(row(cell, options.limit), flush=True)


def row(cell: Cell, limit: float) -> str:
    with Lab(ADDRESSES) as lab:
        cell.fault.arrange(lab)
        programs = cell.start(lab, [SCRIPT, "--bare"])
        wait_for_all(programs, limit)
        ends = [end(programs.get(name), limit) for name in ADDRESSES]
        ended = all(not program.running() for program in programs.values())
        trained = all("trained ok" in program.stdout for program in programs.values())
        words = next(filter(None, map(last_words, programs.values())), "")
    answers = ["yes" if answer else "no" for answer in (ended, trained)]
    return f"| {cell.fault.name} | {cell.door.name} | {' | '.join([*ends, *answers, words])} |"


def wait_for_all(programs: Mapping[str, Running], limit: float) -> None:
    until = time.monotonic() + limit
    for program in programs.values():
        try:
            program.wait(max(0.0, until - time.monotonic()))
        except TimeoutError:
            continue


def end(program: Running | None, limit: float) -> str:
    if program is None:
        return "not started"
    if program.running():
        return f"> {limit:.0f} s"
    result = program.wait(0)
    return f"{result.seconds:.1f} s, exit {result.returncode}"


def last_words(program: Running) -> str:
    """The last line that speaks of an error, or the last line of all."""
    output = program.stdout + program.stderr
    lines = [line for line in output.splitlines() if not line.startswith("frame #")]
    errors = [found[0] for line in lines if (found := ERROR.search(line))]
    said = [line.strip() for line in lines if line.strip()]
    return (errors or said or [""])[-1].replace("|", "\\|")[:160]


def system_name() -> str:
    """Name and version by os-release."""
    text = Path("/etc/os-release").read_text()
    facts = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    words = (facts.get(key, "").strip('"') for key in ("NAME", "VERSION_ID"))
    return " ".join(words).replace(" GNU/Linux", "")


if __name__ == "__main__":
    main()
