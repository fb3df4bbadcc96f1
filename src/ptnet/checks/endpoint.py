"""The way to the rendezvous endpoint (MASTER_ADDR:MASTER_PORT, --rdzv-endpoint)."""

from __future__ import annotations

from collections.abc import Iterator

from ptnet.checks._hosts import asked, loopback_line, without
from ptnet.checks._reached import SEEN, at, endpoint_check, finding, outcomes
from ptnet.checks._words import master_option, port_option, who
from ptnet.model import Evidence, Finding, Fix, Job


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
    "master-port-busy", title="The master's port is held by another program", family="F04"
)
def master_port_busy(job: Job) -> Iterator[Finding]:
    """What it looks at
        The listeners of the node that must serve the rendezvous store, and their owner.

    Why it matters for training
        The store cannot open its port: the master ends at once with EADDRINUSE, and all other nodes
        wait for it, or talk to the stranger.

    Fix
        Choose another port on all nodes, or end the program that holds this one.

    False alarms
        None known: a port in LISTEN on any address of this host cannot be opened again.

    Source
        bind(2), EADDRINUSE; torch/csrc/distributed/c10d/TCPStoreLibUvBackend.cpp.
    """
    for card, reach in outcomes(job, "port-busy"):
        held = reach.holder
        by = "a process that this user cannot see"
        if held and held.pid:
            by = f"{held.command or 'a process'} (pid {held.pid}, uid {held.uid})"
        option = port_option(card.launch)
        yield finding(
            "master-port-busy",
            card,
            f"{who(card)} must open port {reach.port} for the rendezvous, but it is held by {by}.",
            Evidence(
                "listener", f"{held.address if held else '?'}:{reach.port}", "free", "sock_diag"
            ),
            Fix(f"give another port with {option}, the same on all nodes"),
            Fix(f"or see who holds it on {card.node}", ["ss", "-ltnp", f"sport = :{reach.port}"]),
        )


@endpoint_check(
    "master-port-not-permitted", title="The master's port needs a privilege", family="F04"
)
def master_port_not_permitted(job: Job) -> Iterator[Finding]:
    """What it looks at
        The errno of the bind to the rendezvous port.

    Why it matters for training
        A port below net.ipv4.ip_unprivileged_port_start cannot be opened by an ordinary user: the
        store never listens.

    Fix
        Choose a port from 1024 on, such as 29500.

    False alarms
        SELinux may refuse a port above 1024 with the same errno; another port helps there too.

    Source
        bind(2), EACCES; Documentation/networking/ip-sysctl.rst.
    """
    for card, reach in outcomes(job, "not-permitted"):
        yield finding(
            "master-port-not-permitted",
            card,
            f"{who(card)} may not open port {reach.port} for the rendezvous: permission denied.",
            Evidence("bind", "EACCES", "permitted", "bind"),
            Fix(f"give a port from 1024 on with {port_option(card.launch)}, the same on all nodes"),
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
    for card, reach in outcomes(job, "loopback"):
        address = reach.resolution.addresses[0].address if reach.resolution else "loopback"
        line = loopback_line(job, card.node, reach.host)
        where = f"/etc/hosts line {line.line}" if line else master_option(card.launch)
        fixes = [Fix(f"give the master's own address with {master_option(card.launch)}")]
        if line:
            fixes.insert(0, without(reach.host, line, card.node))
        yield finding(
            "master-loopback",
            card,
            f"on {who(card)} the master {reach.host} is {address}, which is this node itself: "
            "it can never reach the master.",
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
        None known: an address that is forwarded to this host is recognised by its own store.

    Source
        torch/distributed/rendezvous.py (_create_c10d_store).
    """
    for card, reach in outcomes(job, "not-local"):
        address = reach.resolution.addresses[0].address if reach.resolution else reach.host
        yield finding(
            "master-not-local",
            card,
            f"rank 0 runs on {card.node}, but the master {reach.host} is {address}, which is not "
            f"an address of {card.node} and does not lead to its store.",
            Evidence("bind", "not a local address", "an address of this host", SEEN),
            Fix(
                f"give rank 0 to the host {reach.host}, or this host's address with "
                f"{master_option(card.launch)} on all nodes"
            ),
        )


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
