"""`ptnet links`: the interfaces of this network namespace."""

from __future__ import annotations

from collections.abc import Sequence

from ptnet import codec
from ptnet.collect import links
from ptnet.commands.output import parser, put_json, put_table
from ptnet.errors import UsageError
from ptnet.model import Link

TEXT = "Show the interfaces of this network namespace, or those named."


def main(argv: Sequence[str]) -> int:
    made = parser("links", TEXT)
    made.add_argument("names", nargs="*", metavar="NAME", help="a name or an alternative name")
    made.add_argument("--detail", action="store_true", help="also rings, channels, pause, offloads")
    options = made.parse_args(argv)
    found = _find(options.names, options.detail)
    if options.json:
        put_json("links", {"links": [codec.dump(link) for link in found]})
        return 0
    put_table(("name", "kind", "state", "mtu", "speed", "addresses"), map(_row, found))
    for link in found if options.detail else []:
        print(f"{link.name}: {_detail(link)}")
    return 0


def _find(names: Sequence[str], detail: bool) -> list[Link]:
    if not names:
        return links(detail=detail)
    found = []
    for name in names:
        one = links(name, detail=detail)
        if not one:
            have = ", ".join(link.name for link in links())
            raise UsageError(f"there is no link {name}; there are: {have}")
        found += one
    return found


def _row(link: Link) -> tuple[str | int | None, ...]:
    state = link.state
    if link.carrier is False and "up" in link.flags:
        state = "no carrier"
    name = link.name if link.master is None else f"{link.name} ({link.master})"
    speed = f"{link.speed_mbps} Mb/s" if link.speed_mbps else None
    addresses = "\n".join(f"{a.address}/{a.prefix}" for a in link.addresses)
    return name, link.kind, state, link.mtu, speed, addresses or None


def _detail(link: Link) -> str:
    detail = codec.dump(link.detail) if link.detail else {}
    told = {k: v for k, v in detail.items() if v not in (None, [])}
    return ", ".join(
        f"{k} {' '.join(v) if isinstance(v, list) else v}" for k, v in told.items()
    ) or "the driver says nothing"  # fmt: skip
