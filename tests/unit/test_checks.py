"""Every check finds its fault, says it in one sentence, and is silent on healthy jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.jobs import FAULTS, HEALTHY, WORDS, agents, ranks

from ptnet import checks, codec
from ptnet.checks import registry
from ptnet.errors import UsageError
from ptnet.model import SEVERITIES, Finding, Gap, Job


def test_every_check_has_its_fault() -> None:
    assert set(FAULTS) == set(checks.ids())


@pytest.mark.parametrize("id", sorted(FAULTS))
def test_a_check_finds_its_fault(id: str) -> None:
    report = checks.judge(FAULTS[id]())
    found = [f for f in report.findings if f.id == id]
    assert found, report
    assert not report.crashed
    for finding in found:
        assert finding.severity in SEVERITIES
        assert finding.message.endswith(".")
        assert "None" not in finding.message
        assert finding.nodes
        assert finding.evidence
        assert finding.fixes
        for word in WORDS.get(id, ()):
            assert word in finding.message
    assert report.verdict == ("fail" if found[0].severity == "error" else "pass")


@pytest.mark.parametrize("id", sorted(FAULTS))
def test_a_fault_is_found_by_its_check_alone(id: str) -> None:
    assert {f.id for f in checks.judge(FAULTS[id]()).findings} == {id}


@pytest.mark.parametrize("kind", HEALTHY)
def test_a_healthy_job_has_no_finding(kind: str) -> None:
    report = checks.judge(HEALTHY[kind]())
    assert (report.findings, report.skipped, report.crashed) == ([], [], [])
    assert report.verdict == "pass"
    assert sorted(report.passed) == checks.ids()


@pytest.mark.parametrize("id", sorted(FAULTS))
def test_a_check_has_a_page(id: str) -> None:
    page = checks.page(id)
    for heading in registry.HEADINGS:
        assert f"\n{heading}\n" in f"\n{page}\n", heading
    assert checks.title(id)
    assert registry.get(id).family[0] == "F"


def test_a_missing_fact_skips_and_does_not_pass() -> None:
    job = ranks()
    job.snapshots[1].names = None
    job.snapshots[1].gaps = [Gap("names", "no permission")]
    report = checks.judge(job)
    (skipped,) = report.skipped
    assert skipped.check == "own-name-unresolved"
    assert skipped.reason == "names of nodeb: no permission"
    assert "own-name-unresolved" not in report.passed


def test_a_check_that_needs_everybody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(job: Job) -> Iterator[Finding]:
        yield from ()

    every = registry.Check("needs-all", "t", "F00", "error", ("everybody",), False, nothing)
    checks.ids()  # all are registered
    monkeypatch.setitem(registry._checks, "needs-all", every)
    job = ranks()
    assert "needs-all" in checks.judge(job).passed
    job.complete = False
    assert [s.check for s in checks.judge(job).skipped] == ["needs-all"]


def test_a_crash_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(job: Job) -> Iterator[Finding]:
        raise KeyError("eth0")
        yield

    checks.ids()
    monkeypatch.setitem(
        registry._checks, "crashes", registry.Check("crashes", "t", "F00", "error", (), True, crash)
    )
    report = checks.judge(ranks())
    assert [(c.check, c.reason) for c in report.crashed] == [("crashes", "KeyError: 'eth0'")]
    assert report.verdict == "unknown"
    assert len(report.passed) == len(FAULTS)


def test_early_checks_alone_judge_a_job_that_is_still_coming() -> None:
    job = FAULTS["rank-duplicate"]()
    job.complete = False
    assert checks.judge(job, only_early=True).verdict == "fail"
    assert checks.judge(FAULTS["ranks-missing"](), only_early=True).verdict == "pass"


def test_the_missing_are_named() -> None:
    (missing,) = checks.judge(FAULTS["ranks-missing"]()).missing
    assert (missing.rank, missing.unit) == (1, "rank")
    job = agents()
    job.cards = job.cards[:1]
    job.cards[0].launch.node_rank = None
    job.complete, job.waited_s = False, 20.0
    (missing,) = checks.judge(job).missing
    assert (missing.rank, missing.unit) == (None, "node")


def test_a_loopback_master_explains_who_is_missing() -> None:
    job = FAULTS["ranks-missing"]()
    assert "loopback" not in checks.judge(job).findings[0].message
    job.cards[0].launch.master_addr = "localhost"
    assert "every node meets only itself" in checks.judge(job).findings[0].message


def test_an_unknown_id_has_near_matches() -> None:
    with pytest.raises(UsageError, match="did you mean master-timeout"):
        checks.page("master-time-out")
    with pytest.raises(UsageError, match="lists all"):
        checks.page("zzz")


def test_findings_survive_json() -> None:
    from ptnet.model import Report

    for make in FAULTS.values():
        report = checks.judge(make())
        assert codec.load(Report, codec.dump(report)) == report


def test_elastic_sizes_are_compared_as_ranges() -> None:
    job = agents()
    for card in job.cards:
        card.launch.nnodes, card.launch.nnodes_max = 1, 4
    assert not checks.judge(job).findings
    job.cards[1].launch.nnodes_max = 8
    (finding,) = checks.judge(job).findings
    assert "1:4 on nodea" in finding.message
    assert "1:8 on nodeb" in finding.message


def test_the_documented_pages_are_the_docstrings() -> None:
    from ptnet.checks.__main__ import pages

    folder = Path(__file__).resolve().parents[2] / "docs" / "checks"
    assert {p.name: p.read_text() for p in folder.iterdir()} == pages()
