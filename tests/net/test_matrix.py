"""Every fault at every door: each node that was started ends, in time, and says what is wrong."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

import pytest
from lab import Lab, Result, Running
from net.matrix import ADDRESSES, CELLS, EXAMPLE, FAULTS, SCRIPT, Cell, Expect

HARD_LIMIT_S = 60
FINDINGS = {expect.finding for fault in FAULTS for expect in fault.expect if expect}


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_cell(cell: Cell) -> None:
    fault = cell.fault
    with Lab(ADDRESSES) as lab:
        facts = fault.arrange(lab)
        programs = cell.start(lab, [EXAMPLE, "--epochs", "3"] if fault.healthy else [SCRIPT])
        results = wait_for_all(programs)
    for name, result in results.items():
        print(f"{cell.name}: {name} ended with {result.returncode} after {result.seconds:.1f} s")
    if fault.healthy:
        assert_trained(results)
        return
    more = {"nodea": fault.words.get(cell.door.kind, ())}
    for (name, result), expect in zip(results.items(), fault.expect, strict=False):
        assert expect is not None
        assert_said(name, result, expect, more.get(name, ()), facts)


def wait_for_all(programs: Mapping[str, Running]) -> dict[str, Result]:
    limit = time.monotonic() + HARD_LIMIT_S
    return {
        name: program.wait(max(0.0, limit - time.monotonic())) for name, program in programs.items()
    }


def assert_trained(results: Mapping[str, Result]) -> None:
    for name, result in results.items():
        assert result.returncode == 0, f"{name}: {result.output}"
    output = "".join(result.output for result in results.values())
    assert "epoch 3/3" in output
    assert "parameters equal on all 2 ranks" in output
    assert not [finding for finding in FINDINGS if finding in output], output


def assert_said(
    name: str,
    result: Result,
    expect: Expect,
    more_words: tuple[str, ...],
    facts: Mapping[str, str],
) -> None:
    said = f"{name}, ended with {result.returncode} after {result.seconds:.1f} s:\n{result.output}"
    assert result.returncode != 0, said
    assert result.seconds <= expect.within_s, said
    assert expect.finding in result.output, said
    for word in (*expect.words, *more_words):
        for key, value in facts.items():
            word = word.replace(f"{{{key}}}", value)
        # A sentence may be wrapped at any of its blanks.
        assert re.search(word, " ".join(result.output.split())), f"no {word!r} from {said}"
    assert re.search(r"\bfix", result.output, re.IGNORECASE), f"no fix from {said}"
