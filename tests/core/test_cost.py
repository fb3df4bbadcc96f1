"""What a call costs, counted in system calls: a clock would tell more of the machine than of us."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from netns import Netns, environment, netns

CALLS = 10


def system_calls(space: Netns, work: str, folder: Path) -> float:
    """System calls of one call of `work`, those of memory aside."""

    def traced(times: int) -> int:
        log = folder / "strace"
        code = f"import ptnet\nfor _ in range({times}): {work}"
        argv = ["strace", "-f", "-qq", "-e", "trace=!%memory", "-o", str(log)]
        enter, program = space.argv(code)[:4], space.argv(code)[4:]
        subprocess.run([*enter, *argv, *program], env=environment(), check=True, timeout=120)
        return len(log.read_text().splitlines())

    return (traced(1 + CALLS) - traced(1)) / CALLS


def add_pairs(space: Netns, first: int, last: int) -> None:
    """Each end with an address of both families, and up; nothing that changes by itself."""
    space.run("sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0")
    for n in range(first, last):
        space.ip(f"link add a{n} type veth peer name b{n}")
        for end, net in (("a", 10), ("b", 11)):
            space.ip(f"addr add {net}.0.{n}.1/24 dev {end}{n}")
            space.ip(f"addr add fd00:{net}:{n}::1/64 dev {end}{n} nodad")
            space.ip(f"link set {end}{n} up")


def test_links_are_read_in_bulk_and_one_by_name_alone(tmp_path: Path) -> None:
    with netns() as space:
        add_pairs(space, 0, 2)
        one_of_few = system_calls(space, 'ptnet.links("a1")', tmp_path)
        few = system_calls(space, "ptnet.links()", tmp_path)
        add_pairs(space, 2, 50)
        one_of_many = system_calls(space, 'ptnet.links("a1")', tmp_path)
        many = system_calls(space, "ptnet.links()", tmp_path)
    assert one_of_many == one_of_few <= 30
    assert few <= 35
    assert many <= 45  # 101 links: about one read for every twenty


@pytest.mark.parametrize("keys", [10, 40])
def test_a_sysctl_is_opened_read_looked_at_and_closed(keys: int, tmp_path: Path) -> None:
    with netns() as space:
        work = f"ptnet.sysctl(*['net.ipv4.tcp_sack'] * {keys})"
        calls = system_calls(space, work, tmp_path)
    assert calls <= 5 + 4 * keys
