"""`ptnet preflight`: the pre-flight by hand, on one host or over a shared directory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack

from ptnet import codec
from ptnet.commands.output import add_fail_on, add_share, exit_code, parser, put_report
from ptnet.errors import PtnetError, UsageError
from ptnet.model import Report, Stage
from ptnet.progress import doing
from ptnet.stages import preflight, wait_seconds

TEXT = """Check this process's job: its launcher's variables, this host, and the other ranks. They
meet at MASTER_ADDR:MASTER_PORT, or with --board in a directory that all share."""


def main(argv: Sequence[str]) -> int:
    made = parser("preflight", TEXT)
    made.add_argument(
        "--board", metavar="DIR", help="meet in this shared directory (no torch needed)"
    )
    made.add_argument("--rank", type=int, metavar="N", help="in place of RANK")
    made.add_argument("--world-size", type=int, metavar="N", help="in place of WORLD_SIZE")
    made.add_argument(
        "--nproc",
        type=int,
        metavar="N",
        help="rehearse: N processes on this host, over a directory",
    )
    made.add_argument(
        "--wait", metavar="SECONDS", help="for the other ranks (PTNET_WAIT; default 300)"
    )
    add_share(made)
    add_fail_on(made)
    options = made.parse_args(argv)
    wait_s = wait_seconds(options.wait)
    if options.nproc is not None:
        if options.nproc < 1 or options.board or options.rank is not None:
            raise UsageError("--nproc takes a number from 1 on, and neither --board nor --rank")
        report = rehearse(options.nproc, wait_s)
    else:
        report = preflight(
            board=options.board,
            rank=options.rank,
            world_size=options.world_size,
            wait_s=wait_s,
        )
    put_report("preflight", report, options)
    return exit_code(report, options.fail_on)


def rehearse(nproc: int, wait_s: float) -> Report:
    """N ranks of this host meet over a temporary directory and come to one report."""
    with tempfile.TemporaryDirectory(prefix="ptnet-") as board, ExitStack() as running:
        ranks = [_start(n, nproc, board, wait_s, running) for n in range(nproc)]
        with doing(f"rehearsing with {nproc} ranks"):
            outputs = [rank.communicate()[0] for rank in ranks]
    reports = [_read(rank.returncode, text) for rank, text in zip(ranks, outputs, strict=True)]
    report = reports[0]
    if any(r.findings != report.findings for r in reports):
        raise PtnetError("the ranks of the rehearsal came to different reports: a fault of ptnet")
    seconds = max(sum(s.seconds for s in r.stages) for r in reports)
    report.stages.append(Stage("rehearsal", round(seconds, 4), "ok", f"{nproc} processes"))
    return report


def _start(
    rank: int, nproc: int, board: str, wait_s: float, running: ExitStack
) -> subprocess.Popen[str]:
    """One rank; it ends with `running` at the latest."""
    started = subprocess.Popen(
        [
            *(sys.executable, "-m", "ptnet", "preflight", "--json", "--board", board),
            *("--rank", str(rank), "--world-size", str(nproc)),
            *("--wait", str(min(wait_s, 30.0))),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    running.enter_context(started)
    running.callback(started.kill)
    return started


def _read(code: int, text: str) -> Report:
    if code not in (0, 1, 3) or not text:
        raise PtnetError(f"a rank of the rehearsal ended with exit code {code} and no report")
    return codec.load(Report, {**json.loads(text), "schema": "ptnet/report/1"})
