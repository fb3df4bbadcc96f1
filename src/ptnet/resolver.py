"""This host's own names, and looking others up as torch does: by getaddrinfo, with a deadline."""

from __future__ import annotations

from ptnet import _core, redact
from ptnet.model import Gap, HostsEntry, Names, Resolution, Resolved

NAMES_TIMEOUT_S = 2.0


def names(
    timeout_s: float = NAMES_TIMEOUT_S, gaps: list[Gap] | None = None, master: str | None = None
) -> Names:
    """This host's names, what its own name and the `master`'s resolve to, and the files of the
    resolver."""
    files = redact.within(_core.name_files())
    for gap in files.pop("gaps"):
        if gaps is not None:
            gaps.append(Gap(f"names.{gap['fact']}", gap["reason"]))
    hosts = [HostsEntry(**entry) for entry in files.pop("hosts")]
    hostname = _core.host_name()
    own = resolve(hostname, timeout_s, reverse=True)
    return Names(
        hostname=hostname,
        fqdn=_fqdn(hostname, own, hosts),
        own=own,
        master=resolve(master, timeout_s) if master else None,
        hosts=hosts,
        **files,
    )


def resolve(name: str, timeout_s: float, *, reverse: bool = False) -> Resolution:
    """The addresses of a name in getaddrinfo's order, with a deadline; `reverse` also asks which
    name each leads back to."""
    row = _core.resolve([name], timeout_s, reverse=reverse)[0]
    return Resolution(**{**row, "addresses": [Resolved(**a) for a in row["addresses"]]})


def _fqdn(hostname: str, own: Resolution, hosts: list[HostsEntry]) -> str:
    """socket.getfqdn() without its wait: the first with a dot of the names that the host's first
    address leads back to, else the first of them, be it `localhost`. getnameinfo gives the first;
    those behind it stand in the same line of /etc/hosts."""
    address = own.addresses[0] if own.addresses else None
    if address is None or not address.reverse:
        return hostname
    entry = next((e for e in hosts if e.address == address.address), None)
    aliases = entry.names if entry and entry.names[0] == address.reverse else []
    return next((n for n in (address.reverse, *aliases) if "." in n), address.reverse)
