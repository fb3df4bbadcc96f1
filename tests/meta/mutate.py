"""Mutation of the checks: each condition of each check is removed, inverted or cut in half, each
outcome that it looks for becomes another, each check is silenced, and at least one case has to
notice.

    python tests/meta/mutate.py            all survivors, with the reasons that are written here
    python tests/meta/mutate.py limits     those of one module

The corpus is every file under tests/cases and the jobs of tests/unit/jobs.py. A job notices a
mutant when its findings change, or a check raises.
"""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from unit.cases import CASES
from unit.jobs import FAULTS, HEALTHY

from ptnet.checks import registry
from ptnet.model import Job

FOLDER = Path(registry.__file__).parent
MODULES = (*registry.MODULES, "_facts", "_gloo")

SILENCE = ast.parse("def f():\n    return\n    yield").body[0].body

EQUIVALENT: dict[str, str] = {}
"""Survivors that no job can tell from the check, and why."""


@dataclass(frozen=True)
class Mutant:
    module: str
    function: str
    line: int
    before: str
    after: str
    tree: ast.Module

    @property
    def name(self) -> str:
        return f"{self.module}.{self.function}: {self.before} -> {self.after}"


def _spots(function: ast.FunctionDef) -> Iterator[tuple[Any, str, int | None]]:
    """Where a condition stands: its owner, the field, and the place in a list."""
    yield function, "body", None
    for node in ast.walk(function):
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            yield node, "test", None
        elif isinstance(node, ast.comprehension):
            for n in range(len(node.ifs)):
                yield node, "ifs", n
        elif isinstance(node, ast.Return) and isinstance(node.value, (ast.BoolOp, ast.Compare)):
            yield node, "value", None
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "outcomes":
            for n in range(1, len(node.args)):
                yield node, "args", n


def _variants(test: Any) -> Iterator[Any]:
    if isinstance(test, list):
        yield SILENCE
        return
    if isinstance(test, ast.Constant):
        yield ast.Constant("ok")
        return
    yield ast.Constant(True)
    yield ast.Constant(False)
    yield ast.UnaryOp(ast.Not(), test)
    if isinstance(test, ast.BoolOp):
        for n in range(len(test.values)):
            rest = [v for m, v in enumerate(test.values) if m != n]
            yield ast.BoolOp(test.op, rest) if len(rest) > 1 else rest[0]


def mutants(module: str) -> Iterator[Mutant]:
    """All mutants of one module of checks."""
    tree = ast.parse((FOLDER / f"{module}.py").read_text())
    for f, function in enumerate(tree.body):
        if not isinstance(function, ast.FunctionDef):
            continue
        for s, (owner, field, n) in enumerate(_spots(function)):
            place = getattr(owner, field)
            test = place if n is None else place[n]
            for variant in _variants(test):
                changed = copy.deepcopy(tree)
                target = changed.body[f]
                assert isinstance(target, ast.FunctionDef)
                into, _, _ = list(_spots(target))[s]
                if n is None:
                    setattr(into, field, variant)
                else:
                    getattr(into, field)[n] = variant
                ast.fix_missing_locations(changed)
                yield Mutant(
                    module,
                    function.name,
                    function.lineno if isinstance(test, list) else test.lineno,
                    "all" if isinstance(test, list) else ast.unparse(test),
                    "nothing" if isinstance(test, list) else ast.unparse(variant),
                    changed,
                )


def _registered(run: Callable[[], object]) -> dict[str, registry.Check]:
    """The checks that are registered while `run` runs."""
    kept = registry._checks
    registry._checks = {}
    try:
        run()
        return registry._checks
    finally:
        registry._checks = kept


def _execute(name: str, tree: ast.Module) -> ModuleType:
    made = ModuleType(name)
    sys.modules[name], before = made, sys.modules.get(name)
    try:
        exec(compile(tree, name, "exec"), made.__dict__)
    finally:
        if before is not None:
            sys.modules[name] = before
    return made


def load(mutant: Mutant) -> dict[str, registry.Check]:
    """The checks as they are with a mutant: those of its module, or of all that use it."""
    name = f"ptnet.checks.{mutant.module}"
    if not mutant.module.startswith("_"):
        return _registered(lambda: _execute(name, mutant.tree))
    package = sys.modules["ptnet.checks"]
    original = sys.modules[name]
    changed = _execute(name, mutant.tree)
    names = [f"ptnet.checks.{m}" for m in (*_helpers_above(mutant.module), *registry.MODULES)]
    kept = {n: sys.modules[n] for n in names}
    sys.modules[name] = changed
    setattr(package, mutant.module, changed)
    try:
        return _registered(lambda: [_again(n) for n in names])
    finally:
        sys.modules.update(kept)
        sys.modules[name] = original
        setattr(package, mutant.module, original)
        for n, module in kept.items():
            setattr(package, n.rpartition(".")[2], module)


def _helpers_above(module: str) -> tuple[str, ...]:
    return {"_facts": ("_gloo", "_hosts", "_reached"), "_gloo": ()}[module]


def _again(name: str) -> None:
    made = ModuleType(name)
    sys.modules[name] = made
    exec(compile(_source(name.rpartition(".")[2]), name, "exec"), made.__dict__)
    setattr(sys.modules["ptnet.checks"], name.rpartition(".")[2], made)


@cache
def _source(module: str) -> ast.Module:
    return ast.parse((FOLDER / f"{module}.py").read_text())


@cache
def corpus() -> tuple[Job, ...]:
    """All jobs that may notice."""
    made = [make() for make in (*FAULTS.values(), *HEALTHY.values())]
    return (*(case.job() for case in CASES), *made)


def verdicts(check: registry.Check) -> list[object]:
    """What a check says of each job of the corpus."""
    found: list[object] = []
    for job in corpus():
        try:
            found.append(list(check.function(job)))
        except Exception as error:
            found.append(type(error))
    return found


def survivors(modules: tuple[str, ...] = MODULES, judged: set[str] | None = None) -> list[Mutant]:
    """The mutants that no job notices; `judged` gets the names of the functions that had some."""
    registry.ids()
    before = {id: verdicts(registry.get(id)) for id in registry.ids()}
    alive = []
    for module in modules:
        for mutant in mutants(module):
            if judged is not None:
                judged.add(f"ptnet.checks.{module}.{mutant.function}")
            checks = load(mutant)
            if all(verdicts(check) == before[id] for id, check in checks.items()):
                alive.append(mutant)
    return alive


def main() -> int:
    alive = survivors(tuple(sys.argv[1:]) or MODULES)
    for mutant in alive:
        reason = EQUIVALENT.get(mutant.name)
        print(f"{mutant.module}.py:{mutant.line}: {mutant.name}\n    {reason or 'NO REASON'}")
    return 1 if any(m.name not in EQUIVALENT for m in alive) else 0


if __name__ == "__main__":
    sys.exit(main())
