"""What the checks of the endpoint share: cards by how their way to it ended."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ptnet.checks._words import nodes, ranks
from ptnet.checks.registry import check
from ptnet.model import Evidence, Finding, Fix, Job, RankCard, Reach

SEEN = "connect to the endpoint"

endpoint_check = partial(check, needs=("reach",), early=True)
"""Register a check of how participants got to the endpoint."""


def outcomes(job: Job, *wanted: str) -> Iterator[tuple[RankCard, Reach]]:
    """The cards whose way ended so."""
    for card in job.cards:
        if card.reach is not None and card.reach.outcome in wanted:
            yield card, card.reach


def finding(id: str, card: RankCard, message: str, seen: Evidence, *fixes: Fix) -> Finding:
    """An error of one participant."""
    return Finding(id, "error", message, nodes(card), ranks(card), [], [seen], list(fixes))


def at(reach: Reach) -> str:
    """`nodea:29500 (10.0.0.1)`."""
    addresses = [c.address for c in reach.connects]
    shown = f" ({', '.join(addresses)})" if addresses and addresses != [reach.host] else ""
    return f"{reach.host}:{reach.port}{shown}"
