"""What people met, its healthy twins, and the cases between them, judged from their files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.cases import CASES, FOLDER, Case, found

from ptnet import checks, cli
from ptnet.model import NOTE

FIELD = [case for case in CASES if case.path.parent.name == "field"]
TWINS = [case for case in CASES if case.is_twin]
ORDINARY = {
    *("bare-metal", "vm", "docker", "kubernetes", "slurm", "ray", "wsl2", "laptop"),
    *("centos-7", "rhel-9", "ubuntu"),
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_judged_as_it_says(case: Case) -> None:
    report = checks.judge(case.job())
    assert found(report) == case.expect, report
    assert not report.crashed
    assert case.about


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_check_from_says_the_same(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["check", "--json", "--from", str(case.path)])
    said = json.loads(capsys.readouterr().out)
    assert sorted((f["id"], f["severity"]) for f in said["findings"]) == sorted(case.expect)
    assert code == (1 if any(severity == "error" for _, severity in case.expect) else 0)


def test_the_twins_are_ordinary_hosts_with_notes_at_most() -> None:
    assert {case.path.stem for case in TWINS} >= ORDINARY
    for case in TWINS:
        assert {severity for _, severity in case.expect} <= {NOTE}, case.name
        assert not checks.judge(case.job()).crashed


def test_a_twin_is_a_whole_snapshot() -> None:
    """Silence counts only where the facts are there: what is skipped needs the pre-flight."""
    for case in TWINS:
        reasons = {s.reason for s in checks.judge(case.job()).skipped}
        assert all("has not tried to reach" in reason for reason in reasons), (case.name, reasons)


def test_field_cases_have_what_their_report_named() -> None:
    assert len(FIELD) == 42
    for case in FIELD:
        assert json.loads(case.path.read_text())["case"]["id"] == case.path.stem


def test_every_file_is_a_case() -> None:
    assert {p.suffix for p in Path(FOLDER).rglob("*") if p.is_file()} == {".json"}
