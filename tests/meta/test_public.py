"""The public names of ptnet, and the stub of the C module against the built one."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from types import ModuleType

import pytest
from meta.source import PACKAGE, ROOT

import ptnet

core = importlib.import_module("ptnet._core")


def stubbed() -> set[str]:
    tree = ast.parse((PACKAGE / "_core.pyi").read_text())
    nodes = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in tree.body if isinstance(node, nodes)}


def built() -> set[str]:
    return {name for name in vars(core) if not name.startswith("_")}


def test_names_are_sorted_and_all_there() -> None:
    assert ptnet.__all__ == sorted(set(ptnet.__all__))
    for name in ptnet.__all__:
        assert getattr(ptnet, name) is not None


def test_nothing_else_is_public() -> None:
    others = {
        name
        for name in dir(ptnet)
        if not name.startswith("_")
        and name not in ptnet.__all__
        and not isinstance(getattr(ptnet, name), ModuleType)
    }
    assert others <= {"annotations", "TYPE_CHECKING"}


def test_public_names_have_a_docstring() -> None:
    objects = {name: getattr(ptnet, name) for name in ptnet.__all__ if name != "__version__"}
    described = {name: item for name, item in objects.items() if callable(item)}
    assert not [name for name, item in described.items() if not inspect.getdoc(item)]


def test_import_loads_nothing() -> None:
    """`import ptnet` is paid by every training script: neither torch, rich nor the C module."""
    code = (
        "import sys, ptnet; print(*sorted(m for m in sys.modules"
        " if m.split('.')[0] in ('torch', 'rich', 'asyncio', 'argparse') or m == 'ptnet._core'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_stub_names_what_is_built() -> None:
    assert stubbed() == built()


@pytest.mark.parametrize("name", sorted(built()))
def test_c_docstring_is_one_sentence(name: str) -> None:
    item = getattr(core, name)
    text = inspect.getdoc(item)
    assert text
    assert "\n" not in text.strip()
    assert text.rstrip().endswith(".")
    inspect.signature(item)


def test_stubtest() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "ptnet._core"],
        cwd=ROOT,
        env=_environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _environment() -> dict[str, str]:
    import os

    source = str(ROOT / "src")
    return {**os.environ, "MYPYPATH": source, "PYTHONPATH": source}
