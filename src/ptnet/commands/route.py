"""`ptnet route`: the way that the kernel would take."""

from __future__ import annotations

from collections.abc import Sequence

from ptnet import codec
from ptnet.collect import route_to
from ptnet.commands.output import parser, put_json, put_table
from ptnet.progress import doing

TEXT = """Show the interface, source address and gateway that the kernel would use to each target,
a name or an address. Nothing is sent to it."""


def main(argv: Sequence[str]) -> int:
    made = parser("route", TEXT)
    made.add_argument("targets", nargs="+", metavar="TARGET")
    options = made.parse_args(argv)
    with doing("looking up names and routes"):
        routes = [route_to(target) for target in options.targets]
    if options.json:
        put_json("route", {"routes": [codec.dump(route) for route in routes]})
        return 0
    put_table(
        ("target", "address", "interface", "source", "gateway", "error"),
        ((r.target, r.address, r.interface, r.source, r.gateway, r.error) for r in routes),
    )
    return 0
