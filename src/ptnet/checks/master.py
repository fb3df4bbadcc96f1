"""The name of the master, as it was given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ptnet.checks._facts import is_address, is_c10d, master_addresses, owns, placed
from ptnet.checks._hosts import add_line
from ptnet.checks._reached import SEEN
from ptnet.checks._words import is_loopback, listed, master_option, nodes, plural, ranks, who
from ptnet.checks.registry import check
from ptnet.errors import UsageError
from ptnet.model import Evidence, Finding, Fix, Job, Launch, Snapshot
from ptnet.nodelist import expand

ILLEGAL = re.compile(r"[^\w.:%-]", re.ASCII)
BRACKETS = re.compile(r"\[[^][]*\]")


@check("master-name-illegal", title="The master's name cannot be a name", family="F03", early=True)
def master_name_illegal(job: Job) -> Iterator[Finding]:
    """What it looks at
        The characters of MASTER_ADDR, or of the option in its place.

    Why it matters for training
        A name has letters, digits, `.`, `-` and `_`. With a blank, a carriage return, a quote or a
        slash in it nobody resolves it, and torch tries until its time-out: the value is the output
        of a command that printed more, or a line of a file written on Windows.

    Fix
        Give the name alone.

    False alarms
        None known.

    Source
        hosts(5); RFC 1123 2.1. Seen with torch 2.13: both ranks time out.
    """
    for card in job.cards:
        host = card.launch.master_addr or ""
        found = ILLEGAL.search(host)
        if found is None or BRACKETS.fullmatch(host):
            continue
        option = master_option(card.launch)
        yield Finding(
            "master-name-illegal",
            "error",
            f"{who(card)}: {option} is “{host}”, but no name has the character {found[0]!r}.",
            nodes(card),
            ranks(card),
            evidence=[Evidence(option, host, "a host name or an address", option)],
            fixes=[Fix(f"set {option} to the master's name or address, and nothing else")],
        )


@check("master-brackets", title="The master's address has brackets", family="F06", early=True)
def master_brackets(job: Job) -> Iterator[Finding]:
    """What it looks at
        Brackets around MASTER_ADDR.

    Why it matters for training
        Brackets belong around an IPv6 address in a URL or in HOST:PORT. MASTER_ADDR is passed to
        getaddrinfo as it is, which does not know them: torch tries until its time-out.

    Fix
        Take the brackets away.

    False alarms
        None known.

    Source
        getaddrinfo(3); RFC 3986 3.2.2. Seen with torch 2.13: both ranks time out.
    """
    for card in job.cards:
        host = card.launch.master_addr or ""
        if not BRACKETS.fullmatch(host):
            continue
        option = master_option(card.launch)
        yield Finding(
            "master-brackets",
            "error",
            f"{who(card)}: {option} is {host}; brackets belong in URLs, not here.",
            nodes(card),
            ranks(card),
            evidence=[Evidence(option, host, host[1:-1], option)],
            fixes=[Fix(f"set {option} to {host[1:-1]}")],
        )


@check("master-name-late", title="The master's name resolved only after a while", family="F03",
       severity="warning", needs=("reach",), early=True)  # fmt: skip
def master_name_late(job: Job) -> Iterator[Finding]:
    """What it looks at
        How long the master's name did not resolve before it did.

    Why it matters for training
        A headless service of Kubernetes has the name only when the master's pod is up. torch of
        today tries again; other programs, and torch before 1.9, end at once.

    Fix
        Wait for the name and the port before the start, for example in an init container.

    False alarms
        The start of a pod whose master comes later is always like this.

    Source
        torch/csrc/distributed/c10d/socket.cpp.
    """
    for card in job.cards:
        reach = card.reach
        if reach is None or reach.outcome == "unresolved" or reach.unresolved_s < 1:
            continue
        yield Finding(
            "master-name-late",
            "warning",
            f"{who(card)} could not resolve the master's name {reach.host} for the first "
            f"{reach.unresolved_s:.0f} s.",
            nodes(card),
            ranks(card),
            evidence=[Evidence("getaddrinfo", f"{reach.unresolved_s:.1f} s", "at once", SEEN)],
            fixes=[Fix("wait for the name and the port before the job starts")],
        )


def _is_recognised(launch: Launch, snapshot: Snapshot, addresses: list[str]) -> bool:
    """torch's rule whether the rendezvous host is this host (_matches_machine_hostname)."""
    host, own = launch.master_addr or "", snapshot.names.own if snapshot.names else None
    if launch.is_host is not None:
        return launch.is_host
    if own is None or own.error is not None:
        return True  # unknown, or torch raises: another check says so
    if is_loopback(host) or host in (own.name, own.canonical):
        return True
    return any(a.address in addresses for a in own.addresses)


@check("rendezvous-no-host", title="No node takes itself for the rendezvous host", family="F03",
       needs=("names", "links"), early=True)  # fmt: skip
def rendezvous_no_host(job: Job) -> Iterator[Finding]:
    """What it looks at
        torchrun's --rdzv-endpoint against the names and addresses of each node, by torch's rule: a
        node is the host if the endpoint is `localhost` or its host name, or shares an address with
        what its host name resolves to. Addresses of other links do not count.

    Why it matters for training
        Nobody opens the store, and all nodes wait for it: for the name of a second link (`node0i`
        for InfiniBand), and for a virtual address of a service or of NAT.

    Fix
        Give the host name of one node as the endpoint, or say which it is: --rdzv-conf is_host=1
        there and is_host=0 on the others.

    False alarms
        A store that another program serves at that address.

    Source
        torch/distributed/elastic/rendezvous/utils.py. Seen with torch 2.13 in two namespaces: both
        agents wait.
    """
    known = [(c, s, master_addresses(c, s)) for c, s in placed(job) if is_c10d(c.launch)]
    if any(_is_recognised(c.launch, s, addresses) for c, s, addresses in known):
        return
    of_nodes = {a.address for _, s, _ in known for link in s.links for a in link.addresses}
    for card, snapshot, addresses in known:
        endpoint = card.launch.master_addr or ""
        mine = [a for a in addresses if owns(snapshot, a) and not is_loopback(a)]
        nobodys = bool(addresses) and of_nodes.isdisjoint(addresses)
        if not mine and not (nobodys and job.complete and len(known) == card.launch.nnodes):
            continue
        own = snapshot.names.own if snapshot.names else None
        name = own.name if own else card.node
        theirs = listed([a.address for a in own.addresses]) if own else ""
        what = f"is {mine[0]}, an address of {card.node}" if mine else "is no address of any node"
        yield Finding(
            "rendezvous-no-host",
            "error",
            f"the rendezvous endpoint {endpoint} {what}, but torch compares it with the host name "
            f"{name} ({theirs or 'unresolved'}) only: no node will open the store.",
            nodes(card),
            ranks(card),
            evidence=[Evidence("endpoint", endpoint, name, "--rdzv-endpoint")],
            fixes=[
                Fix("give the host name of one node with --rdzv-endpoint, on all nodes"),
                Fix("or give --rdzv-conf is_host=1 on that node and is_host=0 on the others"),
            ],
        )


@check("agent-name-unresolved", title="A node cannot resolve the name that torchrun gives out",
       family="F03", early=True)  # fmt: skip
def agent_name_unresolved(job: Job) -> Iterator[Finding]:
    """What it looks at
        The name that torchrun's first agent will hand out as MASTER_ADDR (its FQDN, or
        --local-addr), looked up on every node.

    Why it matters for training
        With c10d the agents meet at the endpoint, but the ranks are told the FQDN of the first
        agent, by the order of these names: where it does not resolve, the ranks wait for it.

    Fix
        Give each node its address with --local-addr, or add the names to DNS or /etc/hosts.

    False alarms
        None known.

    Source
        torch/distributed/elastic/rendezvous/dynamic_rendezvous.py. Seen with torch 2.13 in two
        namespaces.
    """
    for card in job.cards:
        for name in card.asked:
            here = [a.address for a in name.addresses]
            itself = bool(here) and all(map(is_loopback, here))
            if name.error is None and not itself:
                continue
            seen = here[0] if itself else str(name.error)
            what = f"leads to {seen} there" if itself else f"does not resolve ({seen})"
            yield Finding(
                "agent-name-unresolved",
                "error",
                f"torchrun will tell the ranks of {card.node} to meet at {name.name}, which "
                f"{what}.",
                nodes(card),
                ranks(card),
                evidence=[Evidence("getaddrinfo", seen, "the node's address")],
                fixes=[
                    Fix("give torchrun each node's own address with --local-addr"),
                    add_line(name.name, card.node),
                ],
            )


@lru_cache(maxsize=4)
def _members(text: str) -> frozenset[str]:
    """The short names in a list of nodes; none where it is no such list."""
    try:
        return frozenset(name.split(".")[0] for name in expand(text))
    except UsageError:
        return frozenset()


@check("slurm-master-not-in-nodelist", title="The master is no node of the Slurm job", family="F07",
       severity="warning", early=True)  # fmt: skip
def slurm_master_not_in_nodelist(job: Job) -> Iterator[Finding]:
    """What it looks at
        MASTER_ADDR, where it is a name, against the expanded SLURM_JOB_NODELIST.

    Why it matters for training
        Scripts compute the first host from the list, and lists such as `node[00-01,10]` are easily
        cut wrongly: the ranks then look for the store on another host, or on none.

    Fix
        MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

    False alarms
        A second name of a node, such as that of its InfiniBand link.

    Source
        scontrol(1), show hostnames; srun(1).
    """
    for card, snapshot in placed(job):
        text = snapshot.env.get("SLURM_JOB_NODELIST", "")
        host = card.launch.master_addr
        if not host or is_address(host) or is_loopback(host):
            continue
        members = _members(text)
        if not members or host.split(".")[0] in members:
            continue
        yield Finding(
            "slurm-master-not-in-nodelist",
            "warning",
            f"{who(card)}: the master {host} is none of the {plural(len(members), 'node')} in "
            "SLURM_JOB_NODELIST.",
            nodes(card),
            ranks(card),
            evidence=[Evidence(master_option(card.launch), host, "a node of the list")],
            fixes=[Fix('MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)')],
        )
