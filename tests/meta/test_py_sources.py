"""Layers and sizes of src/ptnet/."""

from __future__ import annotations

from pathlib import Path

import pytest
from meta.source import imports, module_name, py_files, relative

# A module may import what stands before it, and its own line.
ORDER = [
    ["errors", "redact", "version"],
    ["model"],
    ["codec", "json_schema", "progress", "terminal"],
    ["launchers", "resolver"],
    ["collect", "launch", "masking", "nodelist"],
    ["checks"],
    ["board", "dist", "gather", "probes", "reach", "stages", "tune", "waiting", "wire"],
    ["group", "run"],
    ["cli", "commands", "report", "advise", "__main__"],
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}

# Methods of the report that load what prints it when they are called.
UPWARD = {("ptnet.model", "ptnet.codec"), ("ptnet.model", "ptnet.report")}
ASK_THE_KERNEL = {"collect", "reach", "resolver", "probes", "tune"}
LONGER = {"src/ptnet/model.py": 700}  # one list of fields


def part(module: str) -> str:
    """`checks` for ptnet.checks.ports; empty for ptnet itself."""
    return [*module.split("."), ""][1]


def ptnet_imports(path: Path) -> set[str]:
    found = imports(path)
    return {name for name in found.at_top | found.inside if name.split(".")[0] == "ptnet"}


@pytest.mark.parametrize("path", py_files(), ids=relative)
def test_layers(path: Path) -> None:
    module = module_name(path)
    if module == "ptnet":
        assert not ptnet_imports(path) & {"ptnet._core"}
        return
    assert part(module) in RANK, f"{module} has no place in ORDER"
    for name in ptnet_imports(path):
        if name == "ptnet._core":
            assert part(module) in ASK_THE_KERNEL
        elif part(name) and (module, ".".join(name.split(".")[:2])) not in UPWARD:
            assert RANK[part(name)] <= RANK[part(module)], f"{module} imports {name}"


@pytest.mark.parametrize("path", py_files(), ids=relative)
def test_torch_stays_outside(path: Path) -> None:
    found = imports(path)
    assert not any(name.split(".")[0] == "torch" for name in found.at_top)
    if module_name(path) != "ptnet.dist":
        assert not any(name.split(".")[0] == "torch" for name in found.inside)


def test_checks_do_not_know_each_other() -> None:
    families = {
        module_name(path)
        for path in py_files()
        if part(module_name(path)) == "checks" and path.name != "__init__.py"
    }
    for path in py_files():
        if module_name(path) in families:
            others = ptnet_imports(path) & families - {module_name(path)}
            shared = {name for name in others if name.rpartition(".")[2].startswith("_")}
            assert not others - shared - {"ptnet.checks.registry"}, relative(path)


def test_no_circles() -> None:
    above: dict[str, set[str]] = {
        module_name(path): {name for name in imports(path).at_top if name.startswith("ptnet.")}
        for path in py_files()
    }
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join([*trail, module])
        if module not in done:
            for name in above.get(module, set()):
                visit(name, (*trail, module))
            done.add(module)

    for module in above:
        visit(module, ())


@pytest.mark.parametrize("path", py_files(), ids=relative)
def test_size(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LONGER.get(relative(path), 300)
