"""How findings name ranks, nodes and options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ptnet.model import Launch, RankCard


def number(launch: Launch) -> int | None:
    """The rank, or the node rank in front of a launcher."""
    return launch.node_rank if launch.unit == "node" else launch.rank


def kind(launch: Launch) -> str:
    """`rank` or `node rank`."""
    return "node rank" if launch.unit == "node" else "rank"


def who(card: RankCard) -> str:
    """`nodeb (rank 1)`, or `nodeb`."""
    n = number(card.launch)
    return card.node if n is None else f"{card.node} ({kind(card.launch)} {n})"


def is_loopback(host: str) -> bool:
    """Is the host this host on every host."""
    return host in ("localhost", "::1") or host.startswith("127.")


def ranks(*cards: RankCard) -> list[int]:
    """The ranks of a finding."""
    return sorted({n for n in (number(c.launch) for c in cards) if n is not None})


def nodes(*cards: RankCard) -> list[str]:
    """The nodes of a finding."""
    return sorted({c.node for c in cards})


def master_option(launch: Launch) -> str:
    """Where the master's address is given."""
    return launch.sources.get("master_addr", "MASTER_ADDR")


def port_option(launch: Launch) -> str:
    """Where the master's port is given."""
    if launch.unit == "node" and launch.launcher == "torchrun":
        return "--master-port" if launch.backend == "static" else "--rdzv-endpoint"
    return "MASTER_PORT"


def rank_option(launch: Launch) -> str:
    """Where the rank is given."""
    field = "node_rank" if launch.unit == "node" else "rank"
    fallback = "--node-rank" if launch.unit == "node" else "RANK"
    return launch.sources.get(field, fallback)


def spans(numbers: Iterable[int]) -> str:
    """`1-3, 7`: numbers by their runs, at most eight of these."""
    runs: list[list[int]] = []
    for n in sorted(set(numbers)):
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return listed([f"{a}" if a == b else f"{a}-{b}" for a, b in runs])


def listed(words: Sequence[str], most: int = 8) -> str:
    """`a, b, c and 61 more`."""
    rest = len(words) - most
    return ", ".join(words[:most]) + (f" and {rest} more" if rest > 0 else "")


def plural(n: int, noun: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
