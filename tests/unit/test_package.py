"""`import ptnet` does next to nothing, and its names work in any order."""

from __future__ import annotations

import subprocess
import sys

import pytest
from netns import environment


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_no_module_but_its_own() -> None:
    code = (
        "import sys; before = set(sys.modules); import ptnet; "
        "print(sorted(set(sys.modules) - before))"
    )
    assert set(eval(python(code))) <= {"ptnet", "typing", "collections.abc", "__future__"}


def test_import_starts_no_thread_and_opens_nothing() -> None:
    code = (
        "import os; before = sorted(os.listdir('/proc/self/fd')); import ptnet; "
        "assert sorted(os.listdir('/proc/self/fd')) == before; "
        "assert len(os.listdir('/proc/self/task')) == 1"
    )
    python(code)


def test_import_maps_no_library() -> None:
    code = (
        "mapped = lambda: {line.split()[-1] for line in open('/proc/self/maps') if '/' in line}; "
        "before = mapped(); import ptnet; print(sorted(mapped() - before))"
    )
    assert python(code).strip() == "[]"


@pytest.mark.parametrize("first", ["ptnet.collect", "ptnet.stages", "ptnet.dist", "ptnet.launch"])
def test_the_public_names_are_callable_in_any_order(first: str) -> None:
    code = (
        f"import {first}; import ptnet; "
        "assert all(callable(getattr(ptnet, n)) for n in ptnet.__all__); "
        "assert ptnet.snapshot().node and ptnet.preflight.__name__ == 'preflight'"
    )
    python(code)


def test_the_version_is_the_packages() -> None:
    assert python("import ptnet; print(ptnet.__version__)").strip() == "0.1.0"
