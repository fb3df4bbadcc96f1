"""The command line: JSON shapes, exit codes, width, and wrong usage in one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from netns import environment
from unit.jobs import FAULTS, card, job, rank, ranks, reach, resolution

from ptnet import checks, codec
from ptnet.commands.output import put_table
from ptnet.report import text

PTNET = [sys.executable, "-m", "ptnet"]


def ptnet(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in environment().items() if k not in ("RANK", "WORLD_SIZE")}
    return subprocess.run(
        [*PTNET, *words], capture_output=True, text=True, env={**env, **variables}, timeout=60
    )


def as_json(*words: str, code: int = 0, **variables: str) -> Any:
    done = ptnet(*words, "--json", **variables)
    assert done.returncode == code, done.stderr
    data = json.loads(done.stdout)
    assert data["schema"] == f"ptnet/{words[0]}/1"
    assert next(iter(data)) == "schema"
    return data


def test_links_have_their_shape() -> None:
    for link in as_json("links")["links"]:
        assert {"name", "altnames", "index", "kind", "state", "carrier", "mtu"} <= set(link)
        assert {"mac", "master", "speed_mbps", "addresses"} <= set(link)
        for address in link["addresses"]:
            assert {"address", "prefix", "family", "scope", "flags", "label"} <= set(address)
    (lo,) = as_json("links", "lo")["links"]
    assert lo["kind"] == "loopback"


def test_ports_routes_and_checks_have_their_shapes() -> None:
    for row in as_json("ports")["listeners"]:
        assert {"address", "port", "family", "pid", "command", "uid"} <= set(row)
    there, absent = as_json("route", "127.0.0.1", "no.such.name.invalid")["routes"]
    assert (there["interface"], there["error"]) == ("lo", None)
    assert absent["error"]
    assert {"target", "address", "interface", "source", "gateway"} <= set(there)
    report = as_json("check")
    assert {"verdict", "findings", "skipped", "missing", "stages"} <= set(report)
    assert [c["id"] for c in as_json("explain")["checks"]] == checks.ids()


def test_a_snapshot_is_checked_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert ptnet("snapshot", "-o", str(path)).returncode == 0
    assert as_json("check", "--from", str(path))["verdict"] == "pass"
    whole = as_json("snapshot")
    assert whole["links"]


@pytest.mark.parametrize("id", sorted(FAULTS))
def test_a_job_from_a_file_is_judged(id: str, tmp_path: Path) -> None:
    from ptnet.commands.check import main

    path = tmp_path / "job.json"
    path.write_text(json.dumps(codec.dump(FAULTS[id]())))
    severity = checks.judge(FAULTS[id]()).findings[0].severity
    assert main(["--from", str(path), "--json"]) == (1 if severity == "error" else 0)
    assert main(["--from", str(path), "--fail-on", severity]) == 1


def test_a_finding_makes_the_exit_code(tmp_path: Path) -> None:
    done = ptnet("preflight", RANK="5", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="1")
    assert done.returncode == 1
    assert "launch-invalid" in done.stdout
    assert "RANK is “5”" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nonsense"], "unknown verb nonsense"),
        (["links", "nope"], "there is no link nope"),
        (["links", "--nope"], "--nope"),
        (["check", "--from", "/no/such"], "/no/such"),
        (["explain", "master-time"], "master-timeout"),
        (["preflight", "--wait", "soon"], "wait=soon"),
        (["preflight", "--nproc", "0"], "--nproc"),
        (["preflight", "--board", "/no/such", "--rank", "0", "--world-size", "2"], "/no/such"),
        (["preflight", "--board", "/tmp"], "world size"),
        (["run"], "no command"),
        (["run", "--nope", "x"], "--nope"),
        (["run", "--wait"], "needs a value"),
        (["run", "--", "no-such-command-here"], "no-such-command-here"),
    ],
)
def test_wrong_usage_is_one_line(words: list[str], says: str) -> None:
    done = ptnet(*words)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert says in done.stderr


@pytest.mark.parametrize("verb", ["preflight", "check", "snapshot", "links", "route", "ports"])
def test_every_verb_has_help(verb: str) -> None:
    done = ptnet(verb, "--help")
    assert done.returncode == 0
    assert f"ptnet {verb}" in done.stdout


def test_help_and_version_load_nothing() -> None:
    assert ptnet("--version").stdout == "ptnet 0.1.0\n"
    assert "preflight" in ptnet("--help").stdout
    assert "torchrun" in ptnet("run", "--help").stdout
    code = (
        "import sys; from ptnet.cli import main; main(['--help']); "
        "assert not {'argparse', 'json', 'dataclasses', 'torch', 'rich'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=environment())


@pytest.mark.parametrize(
    "words",
    [
        *(["links"], ["ports"], ["route", "127.0.0.1"], ["explain"], ["check"]),
        *(["explain", id] for id in ("launch-invalid", "master-loopback", "hostname-loopback")),
    ],
)
def test_piped_output_fits_80_columns(words: list[str]) -> None:
    for line in ptnet(*words).stdout.splitlines():
        assert len(line) <= 80, line


@pytest.mark.parametrize("id", sorted(FAULTS))
def test_a_report_fits_80_columns_and_starts_with_the_verdict(id: str) -> None:
    report = checks.judge(FAULTS[id]())
    lines = text.render(report).splitlines()
    assert lines[0].startswith(f"ptnet: {report.verdict.upper()}: ")
    assert id in lines[2]
    for line in lines:
        assert len(line) <= 80 or line.lstrip().startswith(("$", "#", "undo:")), line
    assert any("fix:" in line for line in lines)
    assert f"    more: ptnet explain {id}" in lines


def test_a_fault_of_many_nodes_is_shown_three_times() -> None:
    lost = reach("unresolved", resolution=resolution(error="no-such-name"))
    cards = [card(rank(n, f"n{n}"), f"n{n}", pid=n, reach=lost) for n in range(64)]
    shown = text.render(checks.judge(job(*cards)))
    assert shown.startswith("ptnet: FAIL: 64 errors (64 nodes)\n")
    assert shown.count("error  master-unresolved") == 3
    assert "\n    and 61 more like these on n3, n4, n5, n6, n7, n8, n9, n10 and 53 more" in shown
    shown = text.render(checks.judge(job(*cards[:4])))
    assert "\n    and 1 more like this on n3" in shown


def test_skipped_checks_are_shown_with_the_reason_of_each() -> None:
    one = ranks()
    one.cards[1].reach = None
    one.complete = False
    shown = " ".join(text.render(checks.judge(one)).split())
    assert "13 checks (nodeb has not tried to reach the master)" in shown
    assert "4 checks (not all participants" in shown


def test_names_from_elsewhere_do_not_steer_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = FAULTS["master-timeout"]()
    one.cards[1].node = "no\033[2Jde\udcff"
    assert "no?[2Jde?" in text.render(checks.judge(one))
    put_table(("command",), [("[kworker]",), ("[/x]",), ("a\033[2Jb",), ("two\nlines",)])
    cells = [line.strip() for line in capsys.readouterr().out.splitlines()[2:]]
    assert cells == ["[kworker]", "[/x]", "a?[2Jb", "two", "lines"]


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_colour_is_for_terminals(no_color: str, coloured: bool, tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text(json.dumps(codec.dump(FAULTS["master-timeout"]())))
    words = [*PTNET, "check", "--from", str(path)]
    ours, theirs = os.openpty()
    env = {**environment(), "NO_COLOR": no_color}
    done = subprocess.run(words, stdout=theirs, env=env, timeout=60)
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.returncode == 1
    assert ("ptnet: \033[1;31mFAIL\033[0m: 1 error" in shown) is coloured
    assert ("\n\033[1;31merror\033[0m  master-timeout" in shown) is coloured
    assert "\033" not in ptnet(*words[3:]).stdout


def test_a_full_disk_is_one_line() -> None:
    for words in (["links"], ["links", "--json"], ["check"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [*PTNET, *words], stdout=full, stderr=subprocess.PIPE, text=True, env=environment()
            )
        assert done.returncode == 3
        assert done.stderr == f"ptnet {words[0]}: [Errno 28] No space left on device\n"


def test_what_breaks_in_a_job_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptnet import cli, run

    def broken(words: list[str]) -> int:
        raise BrokenPipeError("a worker's pipe")

    monkeypatch.setattr(run, "main", broken)
    with pytest.raises(BrokenPipeError):
        cli.main(["run", "--", "torchrun", "train.py"])


def test_a_file_that_is_nested_without_end_is_no_job(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 100_000)
    done = ptnet("check", "--from", str(path))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert str(path) in done.stderr


def test_a_healthy_report_is_one_line() -> None:
    assert text.render(checks.judge(ranks())) == (
        f"ptnet: PASS: {len(checks.ids())} checks found nothing (nodea, nodeb)"
    )


def test_the_rehearsal_ends_well_and_leaves_nothing() -> None:
    before = set(Path("/tmp").glob("ptnet-*"))
    report = as_json("preflight", "--nproc", "3")
    assert report["verdict"] == "pass"
    assert {s["name"] for s in report["stages"]} >= {"look", "self", "gather", "rehearsal"}
    assert set(Path("/tmp").glob("ptnet-*")) == before


def test_a_rank_that_dies_in_the_rehearsal_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ptnet import cli

    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert cli.main(["preflight", "--nproc", "2"]) == 3
    assert capsys.readouterr().err == (
        "ptnet preflight: a rank of the rehearsal ended with exit code 1 and no report\n"
    )


def test_an_interrupted_rehearsal_leaves_no_rank_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptnet import cli

    real, ranks = subprocess.Popen, []

    def start(words: list[str], **how: Any) -> subprocess.Popen[str]:
        ranks.append(real(["sleep", "60"], **how))
        return ranks[-1]

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(real, "communicate", interrupted)
    assert cli.main(["preflight", "--nproc", "2"]) == 130
    assert [rank.returncode for rank in ranks] == [-signal.SIGKILL] * 2


def test_a_directory_board_names_who_is_missing(tmp_path: Path) -> None:
    words = ["preflight", "--board", str(tmp_path), "--rank", "0", "--world-size", "2"]
    report = as_json(*words, "--wait", "0.5", code=1)
    assert [f["id"] for f in report["findings"]] == ["ranks-missing"]
    assert report["missing"] == [{"rank": 1, "node": None, "unit": "rank"}]
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_is_130_without_a_traceback(tmp_path: Path) -> None:
    words = ["preflight", "--board", str(tmp_path), "--rank", "0", "--world-size", "2"]
    with subprocess.Popen(
        [*PTNET, *words], env=environment(), stderr=subprocess.PIPE, text=True
    ) as waiting:
        assert waiting.stderr
        assert "1 of 2 ranks are here" in waiting.stderr.readline()
        os.kill(waiting.pid, signal.SIGINT)
        rest = waiting.stderr.read()
    assert waiting.returncode == 130
    assert rest == "ptnet preflight: interrupted\n"
    assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m ptnet snapshot | head -c 1",
        shell=True,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.stderr == ""


@pytest.mark.parametrize(("given", "expected"), [("2", "below 2"), ("-1", "from 0 to")])
def test_a_rank_beside_the_world_is_an_error(tmp_path: Path, given: str, expected: str) -> None:
    words = ["preflight", "--rank", given, "--world-size", "2", "--wait", "0.5"]
    done = ptnet(*words, MASTER_ADDR="127.0.0.1", MASTER_PORT="1")
    assert done.returncode == 1
    assert f"rank= is “{given}”; expected a number {expected}" in " ".join(done.stdout.split())


def test_ranks_need_a_place_to_meet() -> None:
    done = ptnet("preflight", "--rank", "0", "--world-size", "2")
    assert done.returncode == 2
    assert "MASTER_ADDR and MASTER_PORT, or board=" in done.stderr


def test_snapshots_are_masked_together(tmp_path: Path) -> None:
    """What two nodes have in common, and what they do not, is the same afterwards."""
    files = []
    for n, snapshot in enumerate(ranks().snapshots):
        files.append(tmp_path / f"{n}.json")
        files[-1].write_text(json.dumps(codec.dump(snapshot)))
    case = tmp_path / "case.json"
    words = ("snapshot", "--redact", "--from", *map(str, files), "-o", str(case))
    assert ptnet(*words).returncode == 0
    text = case.read_text()
    assert not any(word in text for word in ("nodea", "nodeb", "10.77.0.1", "10.77.0.2"))
    said = as_json("check", "--from", str(case))
    before = as_json("check", "--from", *map(str, files))
    assert said["passed"] == before["passed"]
    assert [f["id"] for f in said["findings"]] == [f["id"] for f in before["findings"]]
    assert len(said["nodes"]) == 2
    assert ptnet("snapshot", "--detail", "--from", str(case)).returncode == 2
