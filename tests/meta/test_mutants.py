"""Each condition of each check is held by a case: see mutate.py."""

from __future__ import annotations

from meta import mutate


def test_no_mutant_survives_without_a_reason() -> None:
    judged: set[str] = set()
    alive = {mutant.name for mutant in mutate.survivors(judged=judged)}
    assert alive == set(mutate.EQUIVALENT)
    checks = [mutate.registry.get(id).function for id in mutate.registry.ids()]
    assert {f"{f.__module__}.{f.__name__}" for f in checks} <= judged
