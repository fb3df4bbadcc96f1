"""`ptnet ports`: who listens on which TCP port."""

from __future__ import annotations

from collections.abc import Sequence

from ptnet import codec
from ptnet.collect import listeners
from ptnet.commands.output import parser, put_json, put_table

TEXT = "Show the TCP sockets that listen in this network namespace, and who owns them."


def main(argv: Sequence[str]) -> int:
    options = parser("ports", TEXT).parse_args(argv)
    found = sorted(listeners(), key=lambda s: (s.port, s.family, s.address))
    if options.json:
        put_json("ports", {"listeners": [codec.dump(one) for one in found]})
        return 0
    put_table(
        ("port", "address", "pid", "command", "uid"),
        ((s.port, s.address, s.pid, s.command, s.uid) for s in found),
    )
    return 0
