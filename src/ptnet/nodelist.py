"""Slurm's short forms: host lists, `n[01-03,7],m[1-2]x`, and counts of tasks, `2(x3),1`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from ptnet import redact
from ptnet.errors import UsageError

MAX_ITEMS = 65536
"""More than Slurm runs; a text that says more is no list of nodes."""

_NUMBER = r"[0-9]{1,18}"
_PART = re.compile(r"(?:[\w.-]|\[[0-9,-]*\])+")
_LIST = re.compile(rf"{_PART.pattern}(?:,{_PART.pattern})*")
_BRACKETS = re.compile(r"\[([^\]]*)\]")
_RANGE = re.compile(rf"({_NUMBER})(?:-({_NUMBER}))?")
_TASKS = re.compile(rf"({_NUMBER})(?:\(x({_NUMBER})\))?")


def expand(text: str) -> list[str]:
    """The hosts of a Slurm host list, in its order, zeros kept.

    Raises UsageError when `text` is no host list or names more than 65,536 hosts.

    >>> expand("n[01-03,7],m[1-2]x")
    ['n01', 'n02', 'n03', 'n7', 'm1x', 'm2x']
    """
    text = text.strip()
    if not _LIST.fullmatch(text):
        raise _refuse(text, "is no host list such as 'n[01-03,7],m[1-2]x'")
    hosts: list[str] = []
    for part in _PART.findall(text):
        for host in _hosts(part, text):
            hosts.append(host)
            _limit(len(hosts), text)
    return hosts


def _hosts(part: str, text: str) -> Iterator[str]:
    pieces = _BRACKETS.split(part)
    names = pieces[::2]
    choices: list[list[str]] = []
    total = 1
    for inner in pieces[1::2]:
        choices.append(_numbers(inner, text))
        total *= len(choices[-1])
        _limit(total, text)
    for numbers in product(*choices):
        yield names[0] + "".join(n + name for n, name in zip(numbers, names[1:], strict=True))


def _numbers(inner: str, text: str) -> list[str]:
    numbers: list[str] = []
    for item in inner.split(","):
        found = _RANGE.fullmatch(item)
        first, last = found.groups() if found else ("", "")
        if not first or int(last or first) < int(first):
            raise _refuse(text, f"holds {item!r}, which is no range of numbers such as 01-03")
        count = int(last or first) - int(first) + 1
        _limit(len(numbers) + count, text)
        numbers += [f"{n:0{len(first)}}" for n in range(int(first), int(first) + count)]
    return numbers


def tasks_per_node(text: str) -> list[int]:
    """The number of tasks on each node, by node index.

    Raises UsageError when `text` is no list of counts or names more than 65,536 nodes.

    >>> tasks_per_node("2(x3),1")
    [2, 2, 2, 1]
    """
    tasks: list[int] = []
    for part in text.strip().split(","):
        found = _TASKS.fullmatch(part)
        if not found:
            raise _refuse(text, "is no list of task counts such as '2(x3),1'")
        repeats = int(found[2] or 1)
        _limit(len(tasks) + repeats, text)
        tasks += [int(found[1])] * repeats
    return tasks


def _limit(count: int, text: str) -> None:
    if count > MAX_ITEMS:
        raise _refuse(text, f"names more than {MAX_ITEMS} nodes")


def _refuse(text: str, why: str) -> UsageError:
    return UsageError(f"{redact.text(text)[:60]!r} {why}")
