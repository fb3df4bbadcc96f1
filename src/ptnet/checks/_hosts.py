"""What a node asks for names: /etc/hosts, the line that leads a name astray, the name servers."""

from __future__ import annotations

import re

from ptnet.checks._facts import names_of
from ptnet.checks._words import is_loopback
from ptnet.model import Fix, HostsEntry, Job

MOUNT = "in a container /etc/hosts is a mount: change it where the container is started"


def asked(job: Job, node: str) -> str:
    """Where that node looks names up."""
    names = names_of(job, node)
    servers = ", ".join(names.nameservers) if names else ""
    return f"/etc/hosts; name servers {servers}" if servers else "/etc/hosts; no name server known"


def loopback_line(job: Job, node: str, name: str) -> HostsEntry | None:
    """The line that gives a loopback address to `name` on that node."""
    names = names_of(job, node)
    entries = names.hosts if names else []
    wanted = name.lower()
    return next(
        (
            entry
            for entry in entries
            if is_loopback(entry.address) and wanted in (n.lower() for n in entry.names)
        ),
        None,
    )


def add_line(name: str, node: str) -> Fix:
    """Give a name an address on that node."""
    text = f"add a line “ADDRESS {name}” to /etc/hosts on {node}"
    return Fix(text, file="/etc/hosts", needs_root=True)


def without(name: str, entry: HostsEntry, node: str) -> Fix:
    """Take one name out of the line, and leave those that only begin or end like it; a line that
    has no other name becomes a comment."""
    word = re.sub(r"([][.^$*+?(){}|\\/])", r"\\\1", name)
    script = rf"{entry.line}s/[[:space:]]{word}([[:space:]#]|$)/\1/Ig"
    if len({n.lower() for n in entry.names}) == 1:
        script = rf"{entry.line}s/^.*[[:space:]]{word}([[:space:]#]|$)/# &/I"
    return Fix(
        f"take {name} out of line {entry.line} of /etc/hosts on {node}",
        ["sed", "-E", "-i.bak", script, "/etc/hosts"],
        "/etc/hosts",
        needs_root=True,
        undo=["mv", "/etc/hosts.bak", "/etc/hosts"],
        risk=MOUNT,
    )
