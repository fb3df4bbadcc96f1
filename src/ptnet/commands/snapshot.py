"""`ptnet snapshot`: what this node is, as JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ptnet import codec
from ptnet.collect import collect, save
from ptnet.commands.output import parser, put_json
from ptnet.masking import share
from ptnet.progress import doing

TEXT = """Write what this node is as JSON, for ptnet check --from. Passwords, tokens and keys in
variables are masked as they are read."""


def main(argv: Sequence[str]) -> int:
    made = parser("snapshot", TEXT)
    made.add_argument("-o", "--output", metavar="FILE", help="write it there (default: stdout)")
    made.add_argument("--detail", action="store_true", help="also rings, channels, pause, offloads")
    made.add_argument(
        "--redact",
        action="store_true",
        help="also mask host names and addresses, the same everywhere, to show it to others",
    )
    options = made.parse_args(argv)
    with doing("looking at this host"):
        snapshot = collect(detail=options.detail)
    if options.redact:
        snapshot = share(snapshot)
    if options.output:
        save(snapshot, options.output)
        print(f"ptnet: wrote {options.output}", file=sys.stderr)
    else:
        put_json("snapshot", codec.dump(snapshot))
    return 0
