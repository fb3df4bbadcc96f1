"""What the verbs share: their parser, JSON on stdout, tables, exit codes."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from ptnet.errors import UsageError
from ptnet.masking import share
from ptnet.model import SEVERITIES, Report
from ptnet.terminal import printable

COLOURS = {
    **{"PASS": "1;32", "FAIL": "1;31", "UNKNOWN": "1;33"},
    **{"error": "1;31", "warning": "1;33", "note": "1;36", "crash": "1;35"},
}
"""SGR codes by word."""
LEAD = re.compile(
    r"(?<=\Aptnet: )(?:PASS|FAIL|UNKNOWN)|^(?:error|warning|note|crash)(?=  )", re.MULTILINE
)
"""The words that lead a report and its findings."""


class Parser(argparse.ArgumentParser):
    """Wrong usage is one line that names what was wrong."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


def parser(verb: str, text: str) -> Parser:
    """The parser of a verb, with --json."""
    made = Parser(prog=f"ptnet {verb}", description=text)
    made.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")
    return made


def add_share(made: argparse.ArgumentParser) -> None:
    """Mask hosts and addresses."""
    made.add_argument(
        "--share",
        action="store_true",
        help="mask host names and addresses, the same everywhere, to show it to others",
    )


def add_fail_on(made: argparse.ArgumentParser) -> None:
    """The severity from which a finding makes the exit code 1."""
    made.add_argument(
        "--fail-on",
        choices=SEVERITIES,
        default="error",
        help="exit with 1 when a finding is at least this severe (default: error)",
    )


def put_json(verb: str, data: dict[str, Any]) -> None:
    """One object, with the verb's schema first."""
    data = {"schema": f"ptnet/{verb}/1", **{k: v for k, v in data.items() if k != "schema"}}
    json.dump(data, sys.stdout, indent=2)
    sys.stdout.write("\n")


def put_report(verb: str, report: Report, options: argparse.Namespace) -> None:
    """A report, as JSON or for people, masked on request; in colour on a terminal, unless NO_COLOR
    is set."""
    if options.share:
        report = share(report)
    if options.json:
        put_json(verb, report.to_dict())
    else:
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        print(_coloured(str(report)) if colour else report)


def _coloured(text: str) -> str:
    """The verdict and the severities stand out."""
    return LEAD.sub(lambda m: f"\033[{COLOURS[m[0].strip()]}m{m[0]}\033[0m", text)


def exit_code(report: Report, fail_on: str) -> int:
    """The code that a report ends with."""
    worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    if any(f.severity in worst for f in report.findings):
        return 1
    return 3 if report.verdict == "unknown" else 0


def put_table(columns: Sequence[str], rows: Iterable[Sequence[str | int | None]]) -> None:
    """Aligned columns that fit 80, or the terminal; absent values are shown as -."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 80, highlight=False)
    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for row in rows:
        table.add_row(*(Text("-" if cell is None else _cell(str(cell))) for cell in row))
    console.print(table)


def _cell(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
