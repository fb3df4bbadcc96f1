"""Jobs for the checks: two healthy nodes, and ways to break them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ptnet.model import (
    BindTry,
    Conflict,
    Connect,
    HostsEntry,
    InvalidValue,
    Job,
    Launch,
    Listener,
    Names,
    RankCard,
    Reach,
    Resolution,
    Resolved,
    Route,
    Snapshot,
)

ADDRESSES = {"nodea": "10.77.0.1", "nodeb": "10.77.0.2"}


def rank(n: int, node: str, **fields: object) -> Launch:
    """A rank by plain variables."""
    launch = Launch(
        "variables",
        rank=n,
        world_size=2,
        master_addr="nodea",
        master_port=29500,
        sources={"rank": "RANK", "world_size": "WORLD_SIZE", "master_addr": "MASTER_ADDR"},
    )
    return replace(launch, **fields)


def agent(n: int | None, **fields: object) -> Launch:
    """A node in front of torchrun."""
    launch = Launch(
        "torchrun",
        unit="node",
        node_rank=n,
        nnodes=2,
        master_addr="nodea",
        master_port=29500,
        backend="static",
        sources={"master_addr": "--master-addr"},
    )
    return replace(launch, **fields)


def resolution(*addresses: str, error: str | None = None) -> Resolution:
    found = [Resolved(a, "inet6" if ":" in a else "inet", local=False) for a in addresses]
    return Resolution("nodea", found, error=error, error_text=error and "Name or service not known")


def reach(outcome: str, role: str = "join", **fields: object) -> Reach:
    made = Reach("nodea", 29500, role, outcome, resolution=resolution("10.77.0.1"), waited_s=20.0)
    return replace(made, **fields)


def connect(verdict: str, said: str | None = None) -> Connect:
    return Connect("10.77.0.1", 29500, "inet", verdict, said=said)


def names(node: str, own: Resolution | None = None, *entries: HostsEntry) -> Names:
    return Names(
        node, node, own or resolution(ADDRESSES.get(node, "10.77.0.9")), hosts=list(entries)
    )


def snapshot(node: str, launch: Launch, **fields: object) -> Snapshot:
    made = Snapshot("0.1.0", node, 1.0, launch=launch, names=names(node))
    return replace(made, **fields)


def job(*cards: RankCard, **fields: object) -> Job:
    made = Job(
        cards=list(cards),
        snapshots=[snapshot(card.node, card.launch) for card in cards],
        expected=2,
    )
    return replace(made, **fields)


def card(launch: Launch, node: str, **fields: object) -> RankCard:
    return replace(RankCard(node, 100, launch), **fields)


def ranks(*, of_b: Launch | None = None, reach_of_b: Reach | None = None) -> Job:
    """Two ranks, one on each node."""
    return job(
        card(rank(0, "nodea"), "nodea", reach=reach("ok", "serve")),
        card(of_b or rank(1, "nodeb"), "nodeb", reach=reach_of_b or reach("ok")),
    )


def agents(*, of_b: Launch | None = None) -> Job:
    """Two nodes in front of torchrun."""
    return job(
        card(agent(0), "nodea", reach=reach("ok", "serve")),
        card(of_b or agent(1), "nodeb", reach=reach("ok")),
    )


def alone() -> Job:
    """One process without a launcher."""
    return job(card(Launch("none"), "nodea"), expected=None)


HEALTHY: dict[str, Callable[[], Job]] = {"ranks": ranks, "agents": agents, "alone": alone}


def _b(outcome: str, **fields: object) -> Callable[[], Job]:
    return lambda: ranks(reach_of_b=reach(outcome, **fields))


def _serve(outcome: str, **fields: object) -> Callable[[], Job]:
    def make() -> Job:
        made = ranks()
        made.cards[0].reach = reach(outcome, "serve", **fields)
        return made

    return make


def _held() -> Listener:
    return Listener("::", 29500, "inet6", False, None, 1000, 7, 5, pid=4711, command="nginx")


def _loopback() -> Job:
    made = ranks(reach_of_b=reach("loopback", resolution=resolution("127.0.1.1")))
    entry = HostsEntry("127.0.1.1", ["nodea"], 3)
    made.snapshots[1].names = names("nodeb", None, entry)
    return made


def _missing() -> Job:
    made = ranks()
    return replace(made, cards=made.cards[:1], complete=False, waited_s=20.0)


def _left() -> Job:
    made = ranks()
    made.cards[1].left = "interrupted"
    return made


def _nameless() -> Job:
    made = agents()
    for one in made.snapshots:
        one.launch = agent(None, backend="c10d", master_addr="10.77.0.1")
        one.names = names(one.node, resolution(error="no-such-name"))
    return made


def _loopback_names() -> Job:
    made = ranks()
    made.snapshots[0].names = names("nodea", Resolution("nodea", [Resolved("127.0.1.1", "inet")]))
    return made


FAULTS: dict[str, Callable[[], Job]] = {
    "master-unresolved": _b("unresolved", resolution=resolution(error="no-such-name")),
    "master-port-busy": _serve("port-busy", holder=_held()),
    "master-port-not-permitted": _serve("not-permitted", bind=BindTry(97, "::", False, 13)),
    "master-not-a-store": _b("not-a-store", connects=[connect("not-a-store", "HTTP/1.1 400")]),
    "master-loopback": _loopback,
    "master-refused": _b("refused", connects=[connect("refused")]),
    "master-unreachable": _b(
        "unreachable", connects=[connect("unreachable")], route=Route("nodea", error="unreachable")
    ),
    "master-prohibited": _b("prohibited", connects=[connect("prohibited")]),
    "master-timeout": _b("timeout", connects=[connect("timeout")]),
    "master-not-local": _serve("not-local"),
    "master-without-rank-0": _b("no-rank-0", connects=[connect("refused")]),
    "store-failed": _b("failed", detail="Broken pipe"),
    "rank-duplicate": lambda: ranks(of_b=rank(0, "nodeb")),
    "world-size-mismatch": lambda: agents(of_b=agent(1, nnodes=3)),
    "master-mismatch": lambda: ranks(of_b=rank(1, "nodeb", master_port=29501)),
    "ranks-missing": _missing,
    "participant-left": _left,
    "launch-invalid": lambda: ranks(
        of_b=rank(1, "nodeb", invalid=[InvalidValue("MASTER_PORT", "70000", "1 to 65535")])
    ),
    "launch-incomplete": lambda: ranks(of_b=rank(1, "nodeb", master_addr=None)),
    "launcher-conflict": lambda: ranks(
        of_b=rank(
            1, "nodeb", conflicts=[Conflict("world_size", {"WORLD_SIZE": "2", "SLURM_NTASKS": "4"})]
        )
    ),
    "own-name-unresolved": _nameless,
    "hostname-loopback": _loopback_names,
}
"""For every check a job that has its fault."""

WORDS = {
    "master-unresolved": ("nodea", "nodeb"),
    "master-port-busy": ("29500", "nginx", "4711", "1000"),
    "master-not-a-store": ("answers, but is not a c10d store", "HTTP/1.1 400"),
    "master-loopback": ("127.0.1.1", "nodeb"),
    "master-timeout": ("timed out, not refused",),
    "rank-duplicate": ("nodea", "nodeb", "rank 0"),
    "world-size-mismatch": ("2 on nodea", "3 on nodeb"),
    "ranks-missing": ("rank 1", "nodea", "20 s"),
    "launch-invalid": ("MASTER_PORT", "70000", "1 to 65535"),
    "launch-incomplete": ("MASTER_ADDR",),
    "launcher-conflict": ("WORLD_SIZE=2", "SLURM_NTASKS=4"),
    "own-name-unresolved": ("c10d rendezvous will raise",),
    "hostname-loopback": ("127.0.1.1 on nodea", "Gloo"),
}
"""What the sentence must contain."""
