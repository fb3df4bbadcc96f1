"""Stage 2: the way to the rendezvous endpoint, as one of two roles.

`serve` must hold the port; `join` must find a c10d store there. Both end with a `Reach` that says
how it ended; whether that is a fault is judged elsewhere. A fault that this process can see itself
ends within seconds, what only another node can mend (a store that does not listen yet) is waited
for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from ptnet import _core, dist, redact
from ptnet.model import BindTry, Connect, Launch, Listener, Reach, Route
from ptnet.resolver import resolve

NAME_GRACE_S = 5.0
"""A name that does not resolve for this long will not."""
LOOPBACK_GRACE_S = 5.0
"""A refused loopback address on a node that is not the master."""
UNREACHABLE_GRACE_S = 6.5
"""Nothing but time-outs or unreachable: three connections of 2.2 s, each with a SYN resent after 1
s."""
STRANGER_GRACE_S = {"not-a-store": 1.0, "silent": 2.0}
"""Something that answers, but not as a c10d store; or says nothing, twice."""
NOT_LOCAL_GRACE_S = 6.0
"""Rank 0 on a host that is not the master's: time for the real one to open its store."""

CONNECT_S = 2.2
ANSWER_S = 2.5
SLOW_NAMES_ANSWER_S = 28.0
"""After a first silence, where name servers do not answer. torch's servers look up the name of each
peer before they serve it (2.13, strace): a healthy store is then silent for 10 s and more, and a
new greeting would only queue behind the old one."""
SLOW_NAMES_S = 2.0
RESOLVE_S = 4.0
PAUSE_S = (0.01, 0.25)

WORST = ("store", "not-a-store", "silent", "refused", "prohibited", "unreachable", "timeout")
"""Of several addresses, what the nearest to success said counts."""

Say = Callable[[Reach], None]


@dataclass
class Endpoint:
    """Where the participants meet, and who this process is there."""

    host: str
    port: int
    launch: Launch
    must_serve: bool
    """Is a port that somebody else holds an error, or does torch go on as a client."""
    deadline_s: float
    """time.monotonic()"""
    late_names: bool = False
    """May the master's name appear some time after the processes: then wait for it."""

    @property
    def several_nodes(self) -> bool:
        """Is it known that other nodes take part."""
        return (self.launch.nnodes or 1) > 1 or (self.launch.nnodes_max or 1) > 1


def is_loopback(address: str) -> bool:
    return address.startswith(("127.", "::ffff:127.")) or address == "::1"


def holder(port: int) -> Listener | None:
    """Who listens on that TCP port here, on any address."""
    return next(
        (Listener(**redact.within(row)) for row in _core.listeners() if row["port"] == port), None
    )


def serve(end: Endpoint, say: Say) -> Reach:
    """Hold the port. `outcome` is `ok` when this process serves the store on it; `join` when
    another process of the job does, and this one shall be its client."""
    reach = Reach(end.host, end.port, "serve", "ok")
    started = time.monotonic()
    _wait_for_name(end, reach, started, say)
    if reach.outcome == "unresolved" or (not _is_local(reach) and _elsewhere(end, reach, say)):
        return reach
    if not dist.serves(end.port):
        busy = holder(end.port)
        if busy is not None:
            return _busy(end, reach, busy)
        try:
            dist.serve_store(end.port)
        except (RuntimeError, OSError, ValueError) as error:
            return _not_served(reach, error)
    if not _is_local(reach) and not _leads_here(end, reach, say):
        dist.stop_serving()
        reach.outcome = "not-local"
    return reach


def _is_local(reach: Reach) -> bool:
    return any(a.local for a in reach.resolution.addresses) if reach.resolution else False


def _elsewhere(end: Endpoint, reach: Reach, say: Say) -> bool:
    """The master's address is another host's. A store that answers there belongs to a job in which
    the real rank 0 runs there: meet it, and let the board show the two."""
    _try_once(end, reach)
    if any(c.verdict == "store" for c in reach.connects):
        reach.outcome = "join"
        return True
    return False


def _leads_here(end: Endpoint, reach: Reach, say: Say) -> bool:
    """Is our own server behind the master's address after all: a service address or NAT."""
    give_up = min(time.monotonic() + NOT_LOCAL_GRACE_S, end.deadline_s)
    while True:
        _try_once(end, reach)
        for connect in reach.connects:
            if connect.verdict == "store":
                return _is_ours(end, connect)
        if time.monotonic() >= give_up:
            return False
        say(reach)
        time.sleep(PAUSE_S[1])


def _is_ours(end: Endpoint, connect: Connect) -> bool:
    """Write through the front door, read through the back."""
    key = "ptnet/front-door"
    try:
        client = dist.join_store(connect.address, connect.port)
        client.set(key, str(id(client)))
        own = dist.serve_store(end.port)
        ours = bool(own.check([key])) and own.get(key) == str(id(client)).encode()
        client.delete_key(key)
    except RuntimeError:
        return False
    return ours


def _busy(end: Endpoint, reach: Reach, busy: Listener) -> Reach:
    reach.holder = busy
    reach.outcome = "port-busy"
    if not end.must_serve:
        _try_once(end, reach)
        if any(c.verdict == "store" for c in reach.connects):
            reach.outcome = "join"
    return reach


def _not_served(reach: Reach, error: Exception) -> Reach:
    """torch could not open the port: ask the kernel why."""
    reach.bind = BindTry(**_core.bind_try(reach.port))
    outcomes = {"in-use": "port-busy", "not-permitted": "not-permitted"}
    reach.outcome = outcomes.get(reach.bind.error or "", "failed")
    reach.detail = redact.text(str(error).splitlines()[0])
    reach.holder = holder(reach.port)
    return reach


def join(end: Endpoint, say: Say) -> Reach:
    """Find a c10d store at the endpoint, whose host may come up later than this process."""
    reach = Reach(end.host, end.port, "join", "ok")
    started = time.monotonic()
    last, since, pause = "", started, PAUSE_S[0]
    while True:
        _wait_for_name(end, reach, started, say)
        if reach.outcome == "unresolved":
            return reach
        _try_once(end, reach)
        now = time.monotonic()
        reach.waited_s = now - started
        outcome = _nearest(reach.connects)
        if outcome == "store":
            return reach
        if outcome != last:
            last, since = outcome, now
        reach.outcome = outcome
        if now >= end.deadline_s or _is_final(end, reach, now - since):
            return _explain(end, reach)
        say(reach)
        time.sleep(max(0.0, min(pause, end.deadline_s - now)))
        pause = min(pause * 1.5, PAUSE_S[1])


def _wait_for_name(end: Endpoint, reach: Reach, started: float, say: Say) -> None:
    give_up = end.deadline_s if end.late_names else min(started + NAME_GRACE_S, end.deadline_s)
    while True:
        reach.resolution = resolve(end.host, RESOLVE_S)
        reach.waited_s = time.monotonic() - started
        if not reach.resolution.error:
            reach.outcome = "ok"
            return
        reach.unresolved_s = reach.waited_s
        reach.outcome = "unresolved"
        reach.tries += 1
        if time.monotonic() >= give_up:
            return
        say(reach)
        time.sleep(PAUSE_S[1])


def _try_once(end: Endpoint, reach: Reach) -> None:
    reach.tries += 1
    was_silent = any(c.verdict == "silent" for c in reach.connects)
    answer_s = SLOW_NAMES_ANSWER_S if was_silent and _names_are_slow() else ANSWER_S
    reach.connects = []
    for resolved in reach.resolution.addresses if reach.resolution else []:
        left_s = max(0.1, end.deadline_s - time.monotonic())
        row = _core.store_greet(
            resolved.address, end.port, min(CONNECT_S, left_s), min(answer_s, left_s)
        )
        reach.connects.append(Connect(**redact.within(row)))
        if row["verdict"] == "store":
            return


def _names_are_slow() -> bool:
    """Do the name servers leave a question unanswered; asked for a name that no file has."""
    name = f"ptnet-{os.getpid()}.invalid"  # RFC 6761: there is no such name
    return resolve(name, SLOW_NAMES_S).error == "timeout"


def _nearest(connects: list[Connect]) -> str:
    verdicts = {c.verdict for c in connects}
    return next((v for v in WORST if v in verdicts), "failed")


def _is_final(end: Endpoint, reach: Reach, for_s: float) -> bool:
    """Will waiting not mend it; `for_s` is how long it has been so."""
    if reach.outcome in STRANGER_GRACE_S:
        return for_s >= STRANGER_GRACE_S[reach.outcome]
    if reach.outcome == "refused":
        if points_at_itself(end, reach):
            return reach.waited_s >= LOOPBACK_GRACE_S
        return _lacks_rank_0(end, reach) and reach.waited_s >= NOT_LOCAL_GRACE_S
    return for_s >= UNREACHABLE_GRACE_S - CONNECT_S


def points_at_itself(end: Endpoint, reach: Reach) -> bool:
    """Does the master's name lead to loopback on a host that is not the master."""
    addresses = reach.resolution.addresses if reach.resolution else []
    if not addresses or not all(is_loopback(a.address) for a in addresses):
        return False
    own = _core.host_name()
    literal = end.host == "localhost" or is_loopback(end.host)
    return end.several_nodes if literal else end.host.split(".")[0] != own.split(".")[0]


def _lacks_rank_0(end: Endpoint, reach: Reach) -> bool:
    """Is this the master's host, and the only process on it that could be rank 0 is another
    rank."""
    launch = end.launch
    number = launch.node_rank if launch.unit == "node" else launch.rank
    first = launch.unit == "node" or launch.local_rank == 0
    return bool(number) and first and not launch.agent_store and _is_local(reach)


def _explain(end: Endpoint, reach: Reach) -> Reach:
    if reach.outcome == "refused" and points_at_itself(end, reach):
        reach.outcome = "loopback"
    elif reach.outcome == "refused" and _lacks_rank_0(end, reach):
        reach.outcome = "no-rank-0"
    elif reach.outcome == "failed" and reach.connects:
        reach.detail = os.strerror(reach.connects[-1].errno or 0)
    if reach.outcome in ("unreachable", "prohibited", "timeout") and reach.connects:
        row = _core.routes_to([reach.connects[0].address])[0]
        reach.route = Route(**{**row, "target": end.host, "address": reach.connects[0].address})
    return reach
