"""Masking for other people's eyes: hosts and addresses no longer tell whose they are.

Consistently within one document: a host is the same `host1` everywhere, a domain the same
`domain1`, and two addresses that share their first n bits share them afterwards, so that the checks
find the same in the masked document. Loopback, link-local, private and multicast ranges stay what
they are; interface names, versions and sizes are kept. Secrets were masked before (ptnet.redact).
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from ipaddress import IPv4Address, IPv6Address
from typing import Any, TypeVar

from ptnet import nodelist
from ptnet.errors import UsageError

T = TypeVar("T")
Ip = IPv4Address | IPv6Address

NAMES = {
    *("Snapshot.node", "RankCard.node", "Missing.node", "Finding.nodes", "Report.nodes"),
    "Report.names",
    *("Names.hostname", "Names.fqdn", "Names.search", "HostsEntry.names"),
    *("Resolution.name", "Resolution.canonical", "Resolved.reverse"),
    *("Launch.master_addr", "Launch.local_addr", "Reach.host"),
}
"""Fields that hold names of hosts and domains."""
WHOLE = {
    "Place.boot_id": "boot",
    "RankCard.boot_id": "boot",
    "Place.cgroup": "cgroup",
    "Launch.run_id": "run",
    "Job.other_worlds": "run",
}
"""Fields that are replaced as a whole."""
KEPT = {
    *("schema", "ptnet", "id", "check", "severity", "verdict", "unit", "launcher", "backend"),
    *(
        "role",
        "outcome",
        "kind",
        "info_kind",
        "state",
        "type",
        "family",
        "scope",
        "flags",
        "action",
    ),
    *("kernel", "machine", "os_id", "os_version", "os_name", "container", "vm", "driver", "key"),
}
"""Fields whose values are words of ptnet or of the kernel."""
EVERYBODYS = {
    "localhost",
    "localdomain",
    "localhost4",
    "localhost6",
    "localdomain4",
    "localdomain6",
}
EVERYBODYS |= {
    "ip6-localhost",
    "ip6-loopback",
    "ip6-allnodes",
    "ip6-allrouters",
    "localnet",
    "none",
}

_OF_HOSTS = re.compile(r"(?i).*(?:proxy|host|addr|endpoint|node|index|url|links).*")
"""Variables whose values name hosts."""
_LISTS = re.compile(r"SLURM_.*NODELIST")
_DOTTED = re.compile(r"(?<![\w/])[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*\.[A-Za-z][\w-]+")
_RUN = re.compile(r"[\w.-]+", re.ASCII)
_MAC = re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{2}:){5,19}[0-9a-fA-F]{2}(?![\w:])")
_V4 = re.compile(r"(?<![\w.])(\d{1,3}(?:\.\d{1,3}){3})(/\d{1,2})?(?![\w.]*\w)")
_V6 = re.compile(r"(?<![\w:.])([0-9a-fA-F:]*:[0-9a-fA-F:]*:[0-9a-fA-F:.]*)(/\d{1,3})?")

_FIXED_BITS = {172: 12, 192: 16, 100: 10, 169: 16}
"""Of IPv4, by the first octet: as much as tells a private range from its neighbours."""


def share(document: T) -> T:
    """A masked copy of a Snapshot, Job or Report.

    >>> from ptnet.model import Launch
    >>> share(Launch("variables", master_addr="node0.corp.example")).master_addr
    'host1.domain1'
    """
    mask = Mask()
    for name in dict.fromkeys(_names(document)):
        mask.register(name)
    made: T = mask.apply(document)
    return made


def _names(value: Any, place: str = "") -> Iterator[str]:
    """The texts of all fields that hold names."""
    if is_dataclass(value) and not isinstance(value, type):
        for f in fields(value):
            yield from _names(getattr(value, f.name), f"{type(value).__name__}.{f.name}")
        env = getattr(value, "env", {})
        if "HOSTNAME" in env:
            yield env["HOSTNAME"]
    elif isinstance(value, list):
        for item in value:
            yield from _names(item, place)
    elif isinstance(value, str) and place in NAMES:
        yield value


class Mask:
    """What the names and addresses of one document became."""

    def __init__(self) -> None:
        self._key = os.urandom(16)
        self._given: dict[tuple[str, str], str] = {}
        self._known: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    def register(self, text: str) -> None:
        """Learn the names in a text, so that they are found in sentences too."""
        for run in _RUN.findall(text):
            if _parsed(run) is None:
                for part in (run, run.partition(".")[0]):
                    self._known.setdefault(part.lower(), self._name(part))
        self._known.pop("", None)
        self._pattern = None

    def apply(self, value: Any, place: str = "") -> Any:
        """The masked copy."""
        if is_dataclass(value) and not isinstance(value, type):
            cls = type(value).__name__
            found = {f.name: getattr(value, f.name) for f in fields(value)}
            return replace(value, **{n: self.apply(v, f"{cls}.{n}") for n, v in found.items()})
        if isinstance(value, list):
            return [self.apply(item, place) for item in value]
        if isinstance(value, dict):
            return {key: self._entry(key, item, place) for key, item in value.items()}
        if not isinstance(value, str) or place.rpartition(".")[2] in KEPT:
            return value
        if place in WHOLE:
            return self._numbered(WHOLE[place], value)
        return self.text(value)

    def text(self, text: str) -> str:
        """A sentence, or any other text."""
        text = _MAC.sub(lambda m: self._mac(m[0]), text)
        text = _V6.sub(lambda m: self._address(m[0], m[1], m[2]), text)
        text = _V4.sub(lambda m: self._address(m[0], m[1], m[2]), text)
        if self._pattern is None:
            words = sorted(map(re.escape, self._known), key=len, reverse=True)
            self._pattern = re.compile(rf"(?i)(?<![\w-])(?:{'|'.join(words) or '(?!)'})(?![\w-])")
        return self._pattern.sub(lambda m: self._known[m[0].lower()], text)

    def _entry(self, key: str, value: Any, place: str) -> Any:
        if place != "Snapshot.env" or not _OF_HOSTS.fullmatch(key):
            return self.apply(value, place)
        if _LISTS.fullmatch(key):
            try:
                return ",".join(self._name(name) for name in nodelist.expand(value))
            except UsageError:
                return "***["
        return _DOTTED.sub(lambda m: self._name(m[0]), self.text(value))

    def _name(self, name: str) -> str:
        label, dot, domain = name.lower().partition(".")
        if not label or _parsed(name) or label.isdecimal():
            return name if not domain else f"{label}{dot}{self._numbered('domain', domain)}"
        shown = label if label in EVERYBODYS else self._numbered("host", label)
        if domain and domain not in EVERYBODYS:
            domain = self._numbered("domain", domain)
        return f"{shown}{dot}{domain}"

    def _numbered(self, kind: str, value: str) -> str:
        if re.fullmatch(rf"{kind}\d+", value):
            return value  # masked before
        count = sum(k == kind for k, _ in self._given) + 1
        return self._given.setdefault((kind, value), f"{kind}{count}")

    def _bits(self, kind: bytes, value: int, width: int, fixed: int) -> int:
        """Flip each bit after the first `fixed` by a keyed function of the bits before it."""
        out = value
        for n in range(fixed, width):
            before = (value >> (width - n)).to_bytes(17, "big") + bytes([n])
            flip = hmac.digest(self._key, kind + before, "sha256")[0] & 1
            out ^= flip << (width - 1 - n)
        return out

    def _mac(self, mac: str) -> str:
        octets = [int(o, 16) for o in mac.split(":")]
        own = int.from_bytes(bytes(octets[3:]), "big")
        if not any(octets) or all(o == 255 for o in octets):
            return mac
        masked = self._bits(b"mac", own, 8 * len(octets[3:]), 0)
        tail = masked.to_bytes(len(octets) - 3, "big")
        return ":".join([*mac.split(":")[:3], *(f"{o:02x}" for o in tail)])

    def _address(self, whole: str, text: str, prefix: str | None) -> str:
        found = _parsed(text)
        port = ""
        if found is None:  # an IPv6 address with a port and no brackets
            text, _, port = text.rpartition(":")
            found = _parsed(text)
            port = f":{port}"
        if found is None:
            return whole
        masked = self._ip(found)
        if prefix and int(prefix[1:]) <= found.max_prefixlen:
            host_bits = found.max_prefixlen - int(prefix[1:])
            if not int(found) & ((1 << host_bits) - 1):  # a network stays one
                masked = type(found)(int(masked) >> host_bits << host_bits)
        return f"{masked}{port}{prefix or ''}"

    def _ip(self, address: Ip) -> Ip:
        if address.is_loopback or address.is_unspecified or address.is_multicast:
            return address
        if isinstance(address, IPv4Address):
            if int(address) == 2**32 - 1:
                return address
            fixed = _FIXED_BITS.get(int(address) >> 24, 8)
            return IPv4Address(self._bits(b"4", int(address), 32, fixed))
        if address.ipv4_mapped:
            return IPv6Address(f"::ffff:{self._ip(address.ipv4_mapped)}")
        fixed = 64 if address.is_link_local else 16
        return IPv6Address(self._bits(b"6", int(address), 128, fixed))


def _parsed(text: str) -> Ip | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
