"""`ptnet snapshot`: what this node is, as JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ptnet import codec
from ptnet.collect import collect
from ptnet.commands.join import read
from ptnet.commands.output import parser, put_json
from ptnet.errors import UsageError
from ptnet.masking import share
from ptnet.model import Job, Snapshot
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
    made.add_argument(
        "--from",
        dest="files",
        nargs="+",
        metavar="FILE",
        help="join these snapshots into one job, instead of looking at this host",
    )
    options = made.parse_args(argv)
    if options.files and options.detail:
        raise UsageError("--detail asks this host; the files of --from are as they were written")
    taken: Snapshot | Job
    if options.files:
        with doing(f"reading {len(options.files)} files"):
            taken = read(options.files)
    else:
        with doing("looking at this host"):
            taken = collect(detail=options.detail)
    if options.redact:
        taken = share(taken)
    if options.output:
        codec.write(taken, options.output)
        print(f"ptnet: wrote {options.output}", file=sys.stderr)
    else:
        put_json("job" if options.files else "snapshot", codec.dump(taken))
    return 0
