"""`ptnet explain`: the page of a check."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby

from ptnet import checks
from ptnet.commands.output import parser, put_json, put_table

TEXT = (
    "Print what a check looks at, why it matters and how to mend it; without ID, list all checks."
)


def main(argv: Sequence[str]) -> int:
    made = parser("explain", TEXT)
    made.add_argument("id", nargs="?", metavar="ID")
    options = made.parse_args(argv)
    if options.json:
        wanted = [options.id] if options.id else checks.ids()
        pages = [{"id": i, "title": checks.title(i), "page": checks.page(i)} for i in wanted]
        put_json("explain", {"checks": pages})
    elif options.id:
        print(f"{options.id}: {checks.title(options.id)}\n\n{_page(checks.page(options.id))}")
    else:
        put_table(("id", "problem"), ((i, checks.title(i)) for i in checks.ids()))
    return 0


def _page(page: str) -> str:
    """The page in lines of at most 80 columns."""
    lines: list[str] = []
    for text, block in groupby(page.splitlines(), lambda line: line.startswith(" ")):
        if text:
            joined = " ".join(line.strip() for line in block)
            lines += textwrap.wrap(
                joined, 80, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
            )
        else:
            lines += block
    return "\n".join(lines)
