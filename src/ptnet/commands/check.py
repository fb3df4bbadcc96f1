"""`ptnet check`: judge this host, or what was collected on others."""

from __future__ import annotations

from collections.abc import Sequence

from ptnet import checks, codec, redact
from ptnet.collect import collect
from ptnet.commands.join import join, read
from ptnet.commands.output import add_fail_on, add_share, exit_code, parser, put_report
from ptnet.model import Report
from ptnet.progress import doing

TEXT = """Judge this host, or snapshots and jobs from JSON files (ptnet snapshot writes them; - is
standard input): several snapshots are judged as the nodes of one job."""


def main(argv: Sequence[str]) -> int:
    made = parser("check", TEXT)
    made.add_argument("--from", dest="files", nargs="+", metavar="FILE", default=[])
    add_share(made)
    add_fail_on(made)
    options = made.parse_args(argv)
    count = len(options.files)
    with doing(f"reading {count} files" if count else "looking at this host"):
        whole = read(options.files) if count else join([collect()])
    with doing("judging"):
        found = checks.judge(whole)
    # A file may have been written by hand: what it says is shown without its secrets.
    report = codec.load(Report, redact.within(codec.dump(found)))
    put_report("check", report, options)
    return exit_code(report, options.fail_on)
