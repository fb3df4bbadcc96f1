"""A snapshot is complete, or says what is missing."""

from __future__ import annotations

import json
import os
import socket
import stat
from pathlib import Path

import pytest

from ptnet import _core, codec, collect, resolver
from ptnet.errors import PermissionDenied, UsageError
from ptnet.model import HostsEntry, Job, Resolution, Resolved, Snapshot


def test_a_snapshot_of_this_host_is_whole() -> None:
    snapshot = collect.collect(environ={"RANK": "0", "WORLD_SIZE": "1"})
    assert snapshot.gaps == []
    assert snapshot.node == os.uname().nodename
    assert snapshot.launch
    assert snapshot.launch.rank == 0
    assert "lo" in [link.name for link in snapshot.links]
    assert [s.key for s in snapshot.sysctls] == list(collect.SYSCTLS)
    assert codec.load(Snapshot, json.loads(json.dumps(codec.dump(snapshot)))) == snapshot


@pytest.mark.parametrize(
    ("function", "fact"),
    [
        ("links", "links"),
        ("listeners", "listeners"),
        ("rules", "rules"),
        ("limits", "limits"),
        ("place", "place"),
        ("sysctl", "sysctls"),
        ("resolve", "names"),
    ],
)
def test_a_question_that_fails_is_a_gap(
    function: str, fact: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionDenied(13, "netlink dump: Permission denied")

    monkeypatch.setattr(_core, function, refuse)
    snapshot = collect.collect(environ={})
    assert [gap.fact for gap in snapshot.gaps] == [fact]
    assert "Permission denied" in snapshot.gaps[0].reason
    assert getattr(snapshot, fact) in (None, [])
    assert snapshot.socket_counts is not None


def own(*addresses: tuple[str, str | None]) -> Resolution:
    return Resolution("n1", [Resolved(a, "inet", reverse=name) for a, name in addresses])


@pytest.mark.parametrize(
    ("own", "line", "fqdn"),
    [
        (own(("127.0.1.1", "n1.site")), ["n1.site", "n1"], "n1.site"),
        (own(("127.0.1.1", "n1")), ["n1", "n1.site"], "n1.site"),
        (own(("127.0.0.1", "localhost")), ["localhost", "n1"], "localhost"),
        (own(("10.0.0.1", "other")), ["n1", "n1.site"], "other"),
        (own(("10.0.0.1", None)), ["n1", "n1.site"], "n1"),
        (own(), ["n1"], "n1"),
    ],
)
def test_the_fqdn_is_getfqdns(
    own: Resolution, line: list[str], fqdn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = own.addresses[0].address if own.addresses else "10.0.0.1"

    def by_address(_name: str) -> tuple[str, list[str], list[str]]:
        first = own.addresses[0].reverse if own.addresses else None
        if first is None:
            raise socket.herror
        return first, line[1:] if line[0] == first else [], [address]

    monkeypatch.setattr(socket, "gethostbyaddr", by_address)
    assert resolver._fqdn("n1", own, [HostsEntry(address, line, 1)]) == fqdn
    assert socket.getfqdn("n1") == fqdn


def test_this_hosts_fqdn_is_getfqdns() -> None:
    assert resolver.names().fqdn == socket.getfqdn()


def test_route_to_resolves_a_name_first() -> None:
    route = collect.route_to("localhost")
    assert (route.target, route.interface, route.error) == ("localhost", "lo", None)
    assert route.address in ("127.0.0.1", "::1")
    assert collect.route_to("no.such.name.invalid").error in ("no-such-name", "try-again")
    assert collect.route_to("127.0.0.1").source == "127.0.0.1"


def test_a_saved_snapshot_is_private_and_loads(tmp_path: Path) -> None:
    snapshot = collect.collect(environ={})
    path = tmp_path / "a.json"
    codec.write(snapshot, str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]
    assert collect.load(str(path)) == snapshot


def test_a_job_loads_by_its_schema(tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text(json.dumps(codec.dump(Job(waited_s=2.5))))
    assert collect.load(str(path)) == Job(waited_s=2.5)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "neither a snapshot"),
        ('{"schema": "x/1"}', "x/1"),
    ],
)
def test_a_file_that_is_neither_is_named(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=says) as caught:
        collect.load(str(path))
    assert str(path) in str(caught.value)


def test_an_absent_file_is_named() -> None:
    with pytest.raises(UsageError, match=r"/no/such\.json: No such file"):
        collect.load("/no/such.json")
