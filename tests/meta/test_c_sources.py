"""Layers, sizes and banned calls of csrc/."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from meta.source import CSRC, ROOT, c_code, c_files, c_functions, c_includes, relative

MAY_INCLUDE = {
    "base": {"base"},
    "sys": {"base", "sys"},
    "probe": {"base", "sys", "probe"},
    "gpu": {"base", "gpu"},
    "py": {"base", "sys", "probe", "gpu", "py"},
}
NETLINK_HEADER = re.compile(
    r"netlink/|linux/(netlink|rtnetlink|genetlink|sock_diag|inet_diag|ethtool_netlink|neighbour"
    r"|fib_rules|if_link|if_addr|netfilter/)"
)
BANNED = re.compile(
    r"v?sprintf|strcpy|strcat|ato[il]|strtok|gethostbyname|system|popen|select|exit|assert"
)
TEST_C = sorted((ROOT / "tests").glob("c/**/*.[ch]")) + sorted((ROOT / "tests/fuzz").glob("*.c"))


def layer(path: Path) -> str:
    return path.relative_to(CSRC).parts[0]


@pytest.mark.parametrize("path", c_files(), ids=relative)
def test_layers(path: Path) -> None:
    for name in c_includes(path):
        folder = name.partition("/")[0]
        if (CSRC / name).is_file():
            assert folder in MAY_INCLUDE[layer(path)], f"{relative(path)} includes {name}"
        if name == "Python.h":
            assert layer(path) == "py"
        if NETLINK_HEADER.match(name):
            assert layer(path) == "sys", f"{relative(path)} includes {name}"


@pytest.mark.parametrize("path", c_files(), ids=relative)
def test_calls(path: Path) -> None:
    code = c_code(path.read_text())
    called = set(re.findall(r"\b([A-Za-z_]\w*)\s*\(", code))
    assert not [name for name in called if BANNED.fullmatch(name)]
    if relative(path) != "csrc/gpu/dl.c":
        assert not called & {"dlopen", "dlsym", "dlmopen"}


@pytest.mark.parametrize("path", c_files() + TEST_C, ids=relative)
def test_form(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert lines[0] == "/* SPDX-License-Identifier: MIT */"
    assert lines[1].startswith("/* "), "the second line says what question the file answers"
    assert len(lines) <= 400
    long = {name: n for name, n in c_functions(path) if n > 60}
    assert not long, "functions of more than 60 lines"


def test_the_reader_of_c() -> None:
    code = c_code('a(); /* b();\n c(); */ d("e()"); // f()\ng(\'"\'); h();')
    assert re.findall(r"(\w)\(", code) == ["a", "d", "g", "h"]
    assert code.count("\n") == 2
    assert ("ptn_err_errno", 10) in c_functions(CSRC / "base" / "err.c")
