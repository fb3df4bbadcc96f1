"""What this node is: every question of the core asked once, each on its own.

A question that cannot be asked becomes a gap with its reason; the others are asked all the same.
"""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ptnet import _core, codec, redact
from ptnet import launch as launcher
from ptnet.errors import PtnetError, UsageError
from ptnet.model import (
    Address,
    Counters,
    Gap,
    Job,
    Launch,
    Limits,
    Link,
    LinkDetail,
    Listener,
    Neighbour,
    Place,
    PortRanges,
    RdmaDevice,
    Route,
    Rule,
    Snapshot,
    SocketCounts,
    Sysctl,
    adopt,
)
from ptnet.resolver import NAMES_TIMEOUT_S, names
from ptnet.version import VERSION

T = TypeVar("T")

SYSCTLS = (
    "net.core.somaxconn",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.rmem_default",
    "net.core.wmem_default",
    "net.core.netdev_max_backlog",
    "net.core.default_qdisc",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.optmem_max",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_allowed_congestion_control",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_base_mss",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_syn_retries",
    "net.ipv4.tcp_synack_retries",
    "net.ipv4.tcp_retries2",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_max_orphans",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_forward",
    "net.ipv4.ip_no_pmtu_disc",
    "net.ipv4.ping_group_range",
    "net.ipv4.icmp_ratelimit",
    "net.ipv4.conf.all.rp_filter",
    "net.ipv4.conf.default.rp_filter",
    "net.ipv4.conf.all.arp_ignore",
    "net.ipv4.conf.all.arp_announce",
    "net.ipv4.conf.all.arp_filter",
    "net.ipv4.neigh.default.gc_thresh1",
    "net.ipv4.neigh.default.gc_thresh2",
    "net.ipv4.neigh.default.gc_thresh3",
    "net.ipv6.conf.all.disable_ipv6",
    "net.ipv6.conf.default.disable_ipv6",
    "net.ipv6.conf.lo.disable_ipv6",
    "net.ipv6.bindv6only",
    "net.netfilter.nf_conntrack_max",
    "net.netfilter.nf_conntrack_count",
    "net.netfilter.nf_conntrack_tcp_be_liberal",
    "kernel.numa_balancing",
)


def collect(
    *,
    detail: bool = False,
    names_timeout_s: float = NAMES_TIMEOUT_S,
    environ: Mapping[str, str] = os.environ,
    launch: Launch | None = None,
) -> Snapshot:
    """Everything that this process can see of its node, in some milliseconds; nothing is changed,
    and nothing sent but the look-up of the host's own name and the master's (at most
    `names_timeout_s` seconds).

    `detail` adds rings, channels, pause, FEC and offloads of every link. Variables that matter to
    the job's network are kept with their secrets masked. `launch` is what the launcher said, where
    its command line says it; else the variables do.
    """
    launch = launch or launcher.detect(environ)
    gaps: list[Gap] = []

    def ask(fact: str, question: Callable[[], T], otherwise: T) -> T:
        try:
            return question()
        except (PtnetError, OSError) as error:
            gaps.append(Gap(fact, str(error)))
            return otherwise

    snapshot = Snapshot(
        ptnet=VERSION,
        node=_core.host_name(),
        taken_at_s=time.time(),
        place=ask("place", place, None),
        limits=ask("limits", lambda: Limits(**_core.limits()), None),
        env=redact.environment(environ),
        launch=launch,
        names=ask("names", lambda: names(names_timeout_s, gaps, launch.master_addr), None),
        links=ask("links", lambda: links(detail=detail), []),
        default_routes=ask("default_routes", lambda: _all(Route, _core.default_routes()), []),
        rules=ask("rules", lambda: _all(Rule, _core.rules()), []),
        neighbours=ask("neighbours", lambda: _all(Neighbour, _core.neighbours()), []),
        listeners=ask("listeners", listeners, []),
        socket_counts=ask("socket_counts", lambda: SocketCounts(**_core.socket_counts()), None),
        port_ranges=ask("port_ranges", lambda: PortRanges(**_core.port_ranges()), None),
        sysctls=ask("sysctls", lambda: sysctl(*SYSCTLS), []),
        rdma=ask("rdma", lambda: _all(RdmaDevice, _core.rdma()), []),
        torch=torch_version(),
    )
    snapshot.gaps = gaps
    return snapshot


def _all(cls: Callable[..., T], rows: list[dict[str, Any]]) -> list[T]:
    return [cls(**row) for row in rows]


def place() -> Place:
    """Where this process runs: kernel, distribution, container, virtual machine, namespaces."""
    return Place(**_core.place())


def torch_version() -> str | None:
    """The version of the torch that `import torch` would load, without importing it."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        return None
    try:
        text = Path(found.origin).with_name("version.py").read_text()
    except OSError:
        return None
    version = re.search(r"^__version__ = ['\"]([^'\"]+)", text, re.MULTILINE)
    return version[1] if version else None


def links(name: str | None = None, *, detail: bool = False) -> list[Link]:
    """The interfaces of this network namespace, or the one called `name` (an alternative name will
    do): addresses, flags, MTU in bytes, counters, speed in Mbit/s, what they are and who owns them.

    From rtnetlink, ethtool netlink (or its ioctl) and, for the device, sysfs. Needs no privilege.
    `detail` adds rings, channels, pause, FEC and offloads. Raises InconsistentRead when the table
    changed during each of five reads.

    >>> links("lo")[0].kind
    'loopback'
    """
    return [_link(row) for row in _core.links(name, detail)]


def _link(row: dict[str, Any]) -> Link:
    row["addresses"] = [adopt(Address, address) for address in row["addresses"]]
    for name, cls in ("counters", Counters), ("detail", LinkDetail):
        row[name] = row[name] and adopt(cls, row[name])
    return adopt(Link, row)


def route_to(target: str, *, timeout_s: float = NAMES_TIMEOUT_S) -> Route:
    """The route, source address and interface that the kernel would use to `target`, a name or an
    address. A name is resolved first (at most `timeout_s` seconds), and its first address counts.

    From RTM_GETROUTE: what the kernel would do now, with all its rules; nothing is sent to the
    target. A destination without a route is an answer: `error` is `unreachable`, `prohibited`,
    `blackhole` or `no-such-name`.

    >>> route_to("127.0.0.1").interface
    'lo'
    """
    address, shown = target, redact.text(target)
    if not _is_address(target):
        resolution = _core.resolve([target], timeout_s)[0]
        if resolution["error"]:
            return Route(target=shown, error=resolution["error"])
        address = resolution["addresses"][0]["address"]
    row = _core.routes_to([address])[0]
    return Route(**{**row, "target": shown, "address": address})


def _is_address(text: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, text.partition("%")[0])
        except OSError:
            continue
        return True
    return False


def listeners() -> list[Listener]:
    """The TCP sockets that listen in this network namespace, IPv4 and IPv6, with the process that
    owns each, where this user may see it.

    From sock_diag (or /proc/net/tcp) and /proc/PID/fd.
    """
    return _all(Listener, redact.within(_core.listeners()))


def sysctl(*keys: str) -> list[Sysctl]:
    """Kernel settings by name, as this namespace shows them, in the order asked for. One that is
    absent or may not be read has its errno in place of a value.

    From /proc/sys. Raises UsageError for a text that is no name of a setting.

    >>> sysctl("net.core.somaxconn")[0].type
    'int'
    """
    return [adopt(Sysctl, row) for row in _core.sysctl(keys)]


def load(path: str) -> Snapshot | Job:
    """A snapshot or a job from a JSON file, by its `schema`; `-` reads standard input. Raises
    UsageError that names the file and what is wrong with it."""
    import json
    import sys

    try:
        if path == "-":
            data = json.load(sys.stdin)
        else:
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON: {error}") from None
    kind = str(data.get("schema", "")) if isinstance(data, dict) else ""
    try:
        if kind.startswith("ptnet/snapshot/"):
            return codec.load(Snapshot, data)
        if kind.startswith("ptnet/job/"):
            return codec.load(Job, data)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    raise UsageError(
        f"{path}: neither a snapshot nor a job: its schema is “{kind}”; "
        "expected ptnet/snapshot/1 or ptnet/job/1"
    )
