"""The network's way to the rendezvous endpoint."""

from __future__ import annotations

from collections.abc import Iterator

from ptnet.checks._reached import SEEN, at, endpoint_check, finding, outcomes
from ptnet.checks._words import master_option, who
from ptnet.model import Evidence, Finding, Fix, Job


@endpoint_check("master-refused", title="Nothing listens on the master's port", family="F07")
def master_refused(job: Job) -> Iterator[Finding]:
    """What it looks at
        Connections to the rendezvous endpoint that were refused until the deadline.

    Why it matters for training
        The host is there, and no store listens: the master's process never started, ended, or uses
        another port.

    Fix
        Start node rank 0, look at its own output, and compare address and port.

    False alarms
        A firewall that rejects with a TCP reset looks the same.

    Source
        tcp(7), ECONNREFUSED.
    """
    for card, reach in outcomes(job, "refused"):
        here = any(a.local for a in reach.resolution.addresses) if reach.resolution else False
        own = f" {card.node} is the master itself: rank 0 has to run here." if here else ""
        yield finding(
            "master-refused",
            card,
            f"{who(card)} was refused by {at(reach)} for {reach.waited_s:.0f} s: "
            f"no store listens there.{own}",
            Evidence("connect", "refused", "a c10d store", SEEN),
            Fix("start rank 0 on the master, and look at what it printed"),
            Fix("see what listens on the master", ["ss", "-ltnp", f"sport = :{reach.port}"]),
        )


@endpoint_check("master-unreachable", title="The network has no way to the master", family="F05")
def master_unreachable(job: Job) -> Iterator[Finding]:
    """What it looks at
        Connections to the rendezvous endpoint that ended with “no route to host” or “network
        unreachable”, and the kernel's route to it.

    Why it matters for training
        torch gives up on that address or waits; no rank can join.

    Fix
        Give an address that is routed from this node, add the route, or open the firewall that
        rejects.

    False alarms
        A host that is still booting.

    Source
        connect(2), EHOSTUNREACH and ENETUNREACH; RTM_GETROUTE.
    """
    for card, reach in outcomes(job, "unreachable"):
        route = reach.route
        way = "its route is unknown"
        if route and route.error:
            way = f"the kernel's answer for the route is “{route.error}”"
        elif route:
            way = f"its route goes through {route.interface}, where no host answers or a firewall "
            way += "rejects"
        target = reach.connects[0].address if reach.connects else reach.host
        yield finding(
            "master-unreachable",
            card,
            f"{who(card)} cannot reach {at(reach)}: {way}.",
            Evidence("connect", "unreachable", "a connection", SEEN),
            Fix("look at the route", ["ip", "route", "get", target]),
            Fix(
                f"give an address that is reachable from {card.node} with "
                f"{master_option(card.launch)}"
            ),
        )


@endpoint_check("master-prohibited", title="A filter forbids the way to the master", family="F05")
def master_prohibited(job: Job) -> Iterator[Finding]:
    """What it looks at
        Connections to the rendezvous endpoint that a filter answered: ICMP “administratively
        prohibited”, or EACCES and EPERM of this host's own rules.

    Why it matters for training
        No rank behind that filter can join.

    Fix
        Open the port between the nodes in that firewall.

    False alarms
        None known.

    Source
        RFC 1812 5.2.7.1; ip(7), IP_RECVERR.
    """
    for card, reach in outcomes(job, "prohibited"):
        yield finding(
            "master-prohibited",
            card,
            f"{who(card)} is forbidden by a firewall to reach {at(reach)}.",
            Evidence("connect", "prohibited", "a connection", SEEN),
            Fix(f"open TCP port {reach.port} between the nodes in the firewall"),
        )


@endpoint_check("master-timeout", title="Packets to the master are dropped", family="F05")
def master_timeout(job: Job) -> Iterator[Finding]:
    """What it looks at
        Connections to the rendezvous endpoint that timed out three times, 2.2 s each.

    Why it matters for training
        A closed port would have answered: somebody drops the packets. Each of torch's tries lasts
        two minutes, and it tries again and again.

    Fix
        Open the port in the firewall or security group between the nodes; check that the address is
        the master's.

    False alarms
        A host that is still booting and has no neighbour entry yet.

    Source
        tcp(7), tcp_syn_retries.
    """
    for card, reach in outcomes(job, "timeout"):
        yield finding(
            "master-timeout",
            card,
            f"{who(card)} gets no answer from {at(reach)}: timed out, not refused. Packets are "
            "dropped on the way, by a firewall or security group, or the address is nobody's.",
            Evidence("connect", "timed out", "a connection", SEEN),
            Fix(f"open TCP port {reach.port} from {card.node} to the master"),
            Fix("see the rules on the master", ["nft", "list", "ruleset"], needs_root=True),
        )
