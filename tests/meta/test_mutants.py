"""Each condition of each check is held by a case: see mutate.py."""

from __future__ import annotations

from meta import mutate


def test_no_mutant_survives_without_a_reason() -> None:
    alive = {mutant.name for mutant in mutate.survivors()}
    assert alive == set(mutate.EQUIVALENT)


def test_every_check_has_mutants() -> None:
    registry = mutate.registry
    made = {(m.module, m.function) for name in registry.MODULES for m in mutate.mutants(name)}
    checks = [registry.get(id).function for id in registry.ids()]
    assert {(f.__module__.rpartition(".")[2], f.__name__) for f in checks} <= made
