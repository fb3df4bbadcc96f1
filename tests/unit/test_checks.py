"""Every check finds its fault, says it in one sentence, and is silent on healthy jobs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.cases import CASES
from unit.jobs import (
    FAULTS,
    HEALTHY,
    WORDS,
    agent,
    agents,
    card,
    job,
    names,
    rank,
    ranks,
    reach,
    resolution,
)

from ptnet import checks, codec
from ptnet.checks import registry
from ptnet.errors import UsageError
from ptnet.model import SEVERITIES, Finding, Gap, HostsEntry, Job, Reach, Resolution, Resolved


def test_every_check_has_its_fault() -> None:
    of_cases = {id for case in CASES for id, _ in case.expect}
    assert set(FAULTS) | of_cases == set(checks.ids())


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


@pytest.mark.parametrize("id", checks.ids())
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
    of_names = {id for id in checks.ids() if "names" in registry.get(id).needs}
    assert {s.check for s in report.skipped} == of_names
    assert {s.reason for s in report.skipped} == {"names of nodeb: no permission"}
    assert not of_names & set(report.passed)


def test_a_check_that_needs_everybody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def always(job: Job) -> Iterator[Finding]:
        yield Finding("needs-all", "error", "Found.")

    every = registry.Check("needs-all", "t", "F00", "error", ("everybody",), False, always)
    checks.ids()  # all are registered
    monkeypatch.setitem(registry._checks, "needs-all", every)
    job = ranks()
    assert [f.id for f in checks.judge(job).findings] == ["needs-all"]
    job.complete = False
    report = checks.judge(job)
    assert not report.findings
    assert "needs-all" in [s.check for s in report.skipped]


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
    assert len(report.passed) == len(checks.ids()) - 1


def test_what_nobody_tried_is_skipped_and_does_not_pass() -> None:
    job = ranks()
    job.cards[1].reach = None
    report = checks.judge(job)
    of_reach = {id for id in checks.ids() if "reach" in registry.get(id).needs}
    assert {"master-unresolved", "master-port-busy", "master-timeout"} <= of_reach
    assert {s.check for s in report.skipped} == of_reach
    assert {s.reason for s in report.skipped} == {"nodeb has not tried to reach the master"}
    assert report.verdict == "pass"


def test_a_fact_that_one_node_lacks_does_not_hide_the_fault_of_another() -> None:
    job = FAULTS["own-name-unresolved"]()
    job.snapshots[0].names = None
    report = checks.judge(job)
    assert [(f.id, f.nodes) for f in report.findings] == [("own-name-unresolved", ["nodeb"])]
    job = FAULTS["master-timeout"]()
    job.cards[0].reach = None
    assert [f.id for f in checks.judge(job).findings] == ["master-timeout"]


def test_those_that_are_here_agree_only_so_far() -> None:
    job = ranks()
    job.cards, job.complete = job.cards[:1], False
    skipped = {s.check: s.reason for s in checks.judge(job).skipped}
    assert skipped == dict.fromkeys(
        (id for id in checks.ids() if "everybody" in registry.get(id).needs),
        "not all participants have come",
    )


def test_nothing_known_is_no_pass() -> None:
    report = checks.judge(Job())
    assert report.verdict == "unknown"
    assert not report.passed
    assert len(report.skipped) == len(checks.ids())


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


def test_all_the_missing_are_in_the_sentence() -> None:
    job = FAULTS["ranks-missing"]()
    job.expected = 500
    job.cards.append(card(rank(7, "nodeb"), "nodeb", pid=101, reach=reach("ok")))
    (finding,) = checks.judge(job).findings
    assert finding.message.startswith("ranks 1-6, 8-499 never came: 2 of 500 ranks here")
    assert len(finding.ranks) == 498


def test_many_participants_are_counted_not_listed() -> None:
    many = [card(rank(n, f"n{n}"), f"n{n}", pid=n, reach=reach("ok")) for n in range(64)]
    whole = job(*many, expected=65, complete=False, waited_s=20.0)
    (finding,) = checks.judge(whole).findings
    assert "n7 (rank 7) and 56 more" in finding.message


def test_a_size_that_is_not_given_is_no_other_size() -> None:
    job = ranks(of_b=rank(1, "nodeb", world_size=None, nnodes=2))
    assert [f.id for f in checks.judge(job).findings] == ["launch-incomplete"]


@pytest.mark.parametrize(
    ("endpoint", "severity"),
    [("10.77.0.1", "error"), ("other", "error"), ("localhost", "note"), ("nodea", "note")],
)
def test_torchrun_asks_for_its_own_name_unless_the_endpoint_is_it(
    endpoint: str, severity: str
) -> None:
    launch = agent(0, backend="c10d", nnodes=1, master_addr=endpoint, local_addr="10.77.0.1")
    one = job(card(launch, "nodea", reach=reach("ok", "serve")), expected=1)
    one.snapshots[0].names = names("nodea", resolution(error="no-such-name"))
    (finding,) = checks.judge(one).findings
    assert (finding.id, finding.severity) == ("own-name-unresolved", severity)


def test_a_loopback_name_is_silent_where_it_does_not_matter() -> None:
    job = FAULTS["hostname-loopback"]()
    for snapshot in job.snapshots:
        snapshot.env["GLOO_SOCKET_IFNAME"] = "eth0"
    assert not checks.judge(job).findings
    alone = FAULTS["hostname-loopback"]()
    alone.snapshots, alone.cards = alone.snapshots[:1], alone.cards[:1]
    assert not checks.judge(alone).findings
    first = [Resolved("10.77.0.1", "inet", local=True), Resolved("127.0.1.1", "inet", local=True)]
    job = FAULTS["hostname-loopback"]()
    job.snapshots[0].names = names("nodea", Resolution("nodea", first))
    assert not checks.judge(job).findings


def _astray(*entries: HostsEntry) -> Finding:
    job = FAULTS["master-loopback"]()
    job.snapshots[1].names = names("nodeb", None, *entries)
    (finding,) = checks.judge(job).findings
    return finding


@pytest.mark.parametrize(
    ("line", "mended"),
    [
        ("127.0.1.1 nodea.x.org nodea nodea-ib", "127.0.1.1 nodea.x.org nodea-ib"),
        ("127.0.1.1\tother\tNodeA", "127.0.1.1\tother"),
        ("127.0.1.1 nodea nodeax", "127.0.1.1 nodeax"),
        ("127.0.1.1 nodea", "# 127.0.1.1 nodea"),
        ("  127.0.1.1 nodea # nodea", "#   127.0.1.1 nodea # nodea"),
    ],
)
def test_the_fix_takes_one_name_out_of_hosts(line: str, mended: str, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text(f"127.0.0.1 localhost nodea.example\n{line}\n::1 localhost\n")
    names_there = line.split("#")[0].split()[1:]
    fix = _astray(HostsEntry("127.0.1.1", names_there, 2)).fixes[0]
    assert fix.command is not None
    assert fix.undo is not None
    before = hosts.read_text()
    _on(hosts, fix.command)
    assert hosts.read_text() == f"127.0.0.1 localhost nodea.example\n{mended}\n::1 localhost\n"
    _on(hosts, fix.undo)
    assert hosts.read_text() == before


def _on(hosts: Path, command: list[str]) -> None:
    subprocess.run([w.replace("/etc/hosts", str(hosts)) for w in command], check=True)


def test_a_dot_in_a_name_stands_for_itself() -> None:
    job = FAULTS["master-loopback"]()
    assert job.cards[1].reach
    job.cards[1].reach.host = "node.a"
    job.snapshots[1].names = names("nodeb", None, HostsEntry("127.0.1.1", ["node.a", "nodexa"], 1))
    command = checks.judge(job).findings[0].fixes[0].command
    assert command is not None
    done = subprocess.run(
        ["sed", "-E", command[3]], input="127.0.1.1 nodexa node.a\n", capture_output=True, text=True
    )
    assert done.stdout == "127.0.1.1 nodexa\n"


def test_the_line_that_is_right_stays() -> None:
    finding = _astray(HostsEntry("10.77.0.1", ["nodea"], 2), HostsEntry("127.0.1.1", ["nodea"], 3))
    assert finding.fixes[0].text == "take nodea out of line 3 of /etc/hosts on nodeb"
    assert finding.evidence[0].source == "/etc/hosts line 3"
    assert len(_astray(HostsEntry("10.77.0.1", ["nodea"], 2)).fixes) == 1


def test_where_an_unresolved_name_was_looked_up() -> None:
    job = FAULTS["master-unresolved"]()
    assert job.snapshots[1].names
    job.snapshots[1].names.nameservers = ["10.0.0.53"]
    (finding,) = checks.judge(job).findings
    assert finding.evidence[0].source == "/etc/hosts; name servers 10.0.0.53"
    assert [f.command for f in finding.fixes] == [None, None]


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
    for one in job.cards:
        one.launch.nnodes, one.launch.nnodes_max = 1, 4
    assert not checks.judge(job).findings
    job.cards[1].launch.nnodes_max = 8
    (finding,) = checks.judge(job).findings
    assert "1:4 on nodea" in finding.message
    assert "1:8 on nodeb" in finding.message


def test_the_documented_pages_are_the_docstrings() -> None:
    from ptnet.checks.__main__ import pages

    folder = Path(__file__).resolve().parents[2] / "docs" / "checks"
    assert {p.name: p.read_text() for p in folder.iterdir()} == pages()


def test_a_directory_that_fails_is_no_store() -> None:
    made = ranks(reach_of_b=Reach("/shared", 0, "join", "failed", detail="Permission denied"))
    (found,) = checks.judge(made).findings
    assert found.message == "nodeb (rank 1) could not use the board in /shared: Permission denied."
    assert found.fixes[0].command == ["ls", "-la", "/shared"]
