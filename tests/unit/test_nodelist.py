"""Slurm's host lists."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptnet import nodelist
from ptnet.errors import UsageError


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n1", ["n1"]),
        ("n[01-03,7]", ["n01", "n02", "n03", "n7"]),
        ("n[1-2]x,m3", ["n1x", "n2x", "m3"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
    ],
)
def test_a_list_is_expanded(text: str, hosts: list[str]) -> None:
    assert nodelist.expand(text) == hosts


@pytest.mark.parametrize("text", ["n[1-", "n[2-1]", "n[a-b]", "n]1", "n[0-99999999]"])
def test_a_broken_list_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        nodelist.expand(text)


@pytest.mark.parametrize(("text", "counts"), [("2(x3),1", [2, 2, 2, 1]), ("8", [8])])
def test_tasks_per_node(text: str, counts: list[int]) -> None:
    assert nodelist.tasks_per_node(text) == counts


@given(st.text(max_size=20))
def test_no_text_does_worse_than_refuse(text: str) -> None:
    for read in (nodelist.expand, nodelist.tasks_per_node):
        with contextlib.suppress(UsageError):
            read(text)
