"""The files under tests/cases: jobs in the form that `ptnet check --from` reads.

`field` are faults that people met, from public reports; `made` are those that complete them, so
that each part of a check is asked; `twins` are ordinary hosts, on which nothing but notes may
appear. Beside the job a file has `case`: what it is about, what has to be found (a twin: which
notes), and where our judgement differs from what the report's reader proposed, why.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ptnet import codec
from ptnet.model import Job, Report

FOLDER = Path(__file__).resolve().parents[1] / "cases"


@dataclass(frozen=True)
class Case:
    path: Path
    about: str
    expect: tuple[tuple[str, str], ...]
    """Ids with their severities, sorted."""
    differs: str | None

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"

    @property
    def is_twin(self) -> bool:
        return self.path.parent.name == "twins"

    def job(self) -> Job:
        return codec.load(Job, json.loads(self.path.read_text()))


def _read(path: Path) -> Case:
    case = json.loads(path.read_text())["case"]
    expect = tuple(sorted((e["id"], e["severity"]) for e in case["expect"]))
    return Case(path, case["about"], expect, case.get("differs"))


def found(report: Report) -> tuple[tuple[str, str], ...]:
    """What a report says, in the form of `Case.expect`."""
    return tuple(sorted((f.id, f.severity) for f in report.findings))


CASES = [_read(path) for path in sorted(FOLDER.glob("*/*.json"))]
