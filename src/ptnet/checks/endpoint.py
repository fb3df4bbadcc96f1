"""The way to the rendezvous endpoint (MASTER_ADDR:MASTER_PORT, --rdzv-endpoint)."""

from __future__ import annotations

from collections.abc import Iterator

from ptnet.checks._facts import host, is_address, master_addresses, owns, placed, serves
from ptnet.checks._hosts import asked, loopback_line, without
from ptnet.checks._reached import SEEN, at, endpoint_check, finding, outcomes
from ptnet.checks._words import is_loopback, master_option, nodes, port_option, ranks, who
from ptnet.model import Evidence, Finding, Fix, Job, RankCard, Resolution


@endpoint_check("master-unresolved", title="The master's name does not resolve", family="F03")
def master_unresolved(job: Job) -> Iterator[Finding]:
    """What it looks at
        getaddrinfo of the rendezvous host on each node, repeated for 5 s (for launchers whose names
        appear late, such as Kubernetes', until the deadline).

    Why it matters for training
        torch retries a name that does not resolve until its time-out: 15 to 30 minutes of silence.

    Fix
        Correct the name, give the address instead, or add the name to DNS or /etc/hosts.

    False alarms
        A name that appears in DNS only after more than 5 s: wait for it before the start.

    Source
        torch/csrc/distributed/c10d/socket.cpp (gai errors are retried).
    """
    for card, reach in outcomes(job, "unresolved"):
        r = reach.resolution
        why = (r.error_text if r else None) or "no answer"
        option = master_option(card.launch)
        yield finding(
            "master-unresolved",
            card,
            f"{who(card)} cannot resolve the master's name {reach.host}: {why}.",
            Evidence(
                "getaddrinfo",
                (r.error if r else None) or "failed",
                "an address",
                asked(job, card.node),
            ),
            Fix(f"correct {option}, or give the master's address in its place"),
            Fix(
                f"or add a line “ADDRESS {reach.host}” to /etc/hosts on {card.node}",
                file="/etc/hosts",
                needs_root=True,
            ),
        )


@endpoint_check(
    "master-not-a-store", title="Something else answers on the master's port", family="F04"
)
def master_not_a_store(job: Job) -> Iterator[Finding]:
    """What it looks at
        The answer to the greeting of a c10d store (VALIDATE and PING) at the rendezvous endpoint.

    Why it matters for training
        torch connects, waits for an answer that never comes, and hangs without a word.

    Fix
        Find out whose server it is on the master, and choose another port on all nodes.

    False alarms
        A store that looks up the names of its peers at name servers that do not answer, as torch's
        does, while this node's own answer: where they do not either, ptnet waits 28 s more.

    Source
        torch/csrc/distributed/c10d/TCPStoreBackend.hpp (query types 0 and 13).
    """
    for card, reach in outcomes(job, "not-a-store", "silent"):
        said = next((c.said for c in reach.connects if c.said), None)
        what = f"it said “{said}”" if said else "it hung up on the greeting"
        if reach.outcome == "silent":
            what = "it accepts the connection and says nothing"
        yield finding(
            "master-not-a-store",
            card,
            f"{who(card)}: {at(reach)} answers, but is not a c10d store: {what}.",
            Evidence("greeting", said or reach.outcome, "the nonce of the PING", SEEN),
            Fix(f"give another port with {port_option(card.launch)}, the same on all nodes"),
            Fix(
                "or see whose server it is, on the master",
                ["ss", "-ltnp", f"sport = :{reach.port}"],
            ),
        )


def _to_themselves(job: Job) -> Iterator[tuple[RankCard, str, str]]:
    """The participants that are not the master, and whose master is themselves."""
    for card, reach in outcomes(job, "loopback"):
        yield card, reach.host, _first(reach.resolution, "loopback")
    alone = len({host(c) for c in job.cards}) < 2
    for card, snapshot in placed(job):
        name = card.launch.master_addr or ""
        addresses = master_addresses(card, snapshot)
        own = snapshot.names.hostname if snapshot.names else None
        literal = name == "localhost" or is_address(name)
        if card.reach is not None or card.launch.agent_store or not addresses or alone:
            continue
        if all(map(is_loopback, addresses)) and (literal or not _same(name, own)):
            yield card, name, addresses[0]


def _same(name: str, own: str | None) -> bool:
    return own is not None and name.split(".")[0].lower() == own.split(".")[0].lower()


def _named(name: str, address: str) -> str:
    return name if name == address else f"{name} ({address})"


def _first(resolution: Resolution | None, otherwise: str) -> str:
    return resolution.addresses[0].address if resolution else otherwise


@endpoint_check(
    "master-loopback", title="The master's name leads to this host itself", family="F03"
)
def master_loopback(job: Job) -> Iterator[Finding]:
    """What it looks at
        The addresses of the rendezvous host on every node that is not the master.

    Why it matters for training
        With 127.0.0.1 or 127.0.1.1 the node talks to itself: it is refused, or waits for ever, and
        the master never hears of it.

    Fix
        Give the master's name or address as the other nodes see it; take a wrong line out of
        /etc/hosts. Debian and Ubuntu map a host's own name to 127.0.1.1: harmless on that host,
        fatal in a copy of its file.

    False alarms
        Several agents on one host that meet on loopback and start more than 5 s apart.

    Source
        torch/csrc/distributed/c10d/socket.cpp; hosts(5).
    """
    for card, name, address in _to_themselves(job):
        line = loopback_line(job, card.node, name)
        where = f"/etc/hosts line {line.line}" if line else master_option(card.launch)
        fixes = [Fix(f"give the master's own address with {master_option(card.launch)}")]
        if line:
            fixes.insert(0, without(name, line, card.node))
        yield finding(
            "master-loopback",
            card,
            f"on {who(card)} the master {_named(name, address)} is this node itself: it can never "
            "reach the master.",
            Evidence("getaddrinfo", address, "the master's address", where),
            *fixes,
        )


@endpoint_check("master-not-local", title="Rank 0 does not run on the master", family="F07")
def master_not_local(job: Job) -> Iterator[Finding]:
    """What it looks at
        Whether the master's address belongs to the host of rank 0, or leads to its store.

    Why it matters for training
        Rank 0 serves the store on its own host, everybody else looks for it at the master's
        address: they never meet.

    Fix
        Give rank 0 to the host that the master's address names, or the address of this host to all.

    False alarms
        None known: an address that is forwarded to this host is recognised by its own store. Before
        that was tried, and where no other node has the address, it is a warning.

    Source
        torch/distributed/rendezvous.py (_create_c10d_store).
    """
    for card, name, address, owner in _elsewhere(job):
        whose = f"an address of {owner}" if owner else f"not an address of {card.node}"
        severity = "error" if owner or card.reach else "warning"
        also = " and does not lead to its store" if card.reach else ""
        yield Finding(
            "master-not-local",
            severity,
            f"rank 0 runs on {card.node}, but the master {_named(name, address)} is {whose}{also}.",
            nodes(card),
            ranks(card),
            evidence=[Evidence("bind", "not a local address", "an address of this host", SEEN)],
            fixes=[
                Fix(
                    f"give rank 0 to the host {name}, or this host's address with "
                    f"{master_option(card.launch)} on all nodes"
                )
            ],
        )


def _elsewhere(job: Job) -> Iterator[tuple[RankCard, str, str, str | None]]:
    """Rank 0 where the master's address is not: the master, its address and its owner."""
    for card, reach in outcomes(job, "not-local"):
        yield card, reach.host, _first(reach.resolution, reach.host), None
    for card, snapshot in placed(job):
        addresses = master_addresses(card, snapshot)
        if card.reach is not None or not serves(card) or not addresses or not snapshot.links:
            continue
        if any(is_loopback(a) or owns(snapshot, a) for a in addresses):
            continue
        owner = next((s.node for s in job.snapshots if owns(s, addresses[0])), None)
        yield card, card.launch.master_addr or "", addresses[0], owner


@endpoint_check(
    "master-without-rank-0", title="The master's host was given another rank", family="F07"
)
def master_without_rank_0(job: Job) -> Iterator[Finding]:
    """What it looks at
        The rank of the process on the host that the master's address names, when nothing listens
        there.

    Why it matters for training
        Only rank 0 opens the store. If no process of the master's host has rank 0, all wait.

    Fix
        Give rank 0 to the master's host; each rank once.

    False alarms
        Two agents on one host of which rank 0 starts more than 6 s later.

    Source
        torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py.
    """
    for card, reach in outcomes(job, "no-rank-0"):
        yield finding(
            "master-without-rank-0",
            card,
            f"{card.node} is the master {reach.host}, but was started as {who(card)}, and nothing "
            f"listens on port {reach.port}: rank 0 must run here.",
            Evidence("rank", who(card), "rank 0", master_option(card.launch)),
            Fix("give rank 0 to the master's host, and each rank once"),
        )


@endpoint_check("store-failed", title="torch could not open or join the store", family="F07")
def store_failed(job: Job) -> Iterator[Finding]:
    """What it looks at
        What torch's TCPStore said when neither the name nor the connection was at fault.

    Why it matters for training
        The same call is the first thing that the job does.

    Fix
        Depends on the message.

    False alarms
        None known.

    Source
        torch.distributed.TCPStore.
    """
    for card, reach in outcomes(job, "failed"):
        what, asked_of = f"the store at {at(reach)}", "TCPStore"
        code = f"import socket; socket.create_connection(({reach.host!r}, {reach.port}), 5)"
        fix = Fix("connect by hand", ["python", "-c", code])
        if not reach.port:  # a directory that all share
            what, asked_of = f"the board in {reach.host}", "directory"
            fix = Fix(f"look at the directory on {card.node}", ["ls", "-la", reach.host])
        yield finding(
            "store-failed",
            card,
            f"{who(card)} could not use {what}: {reach.detail or 'unknown'}.",
            Evidence(asked_of, reach.detail or "failed", "a board that all share"),
            fix,
        )
