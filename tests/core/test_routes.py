"""Routes, rules and neighbours equal what `ip` shows."""

from __future__ import annotations

from typing import Any

import pytest
from netns import Netns, netns

from ptnet import _core
from ptnet.errors import UsageError

TABLES = {"local": 255, "main": 254, "default": 253}


def layout(space: Netns) -> None:
    space.ip("link add v0 type veth peer name v1")
    space.ip("link add w0 type veth peer name w1")
    for line in ("v0 up", "v1 up", "w0 up", "w1 up"):
        space.ip(f"link set {line}")
    space.ip("addr add 10.1.0.1/24 dev v0")
    space.ip("addr add 10.2.0.1/24 dev w0")
    space.ip("addr add fd00:1::1/64 dev v0 nodad")
    space.ip("route add default via 10.1.0.254")
    space.ip("route add default via 10.2.0.254 metric 50 table 100")
    space.ip("route add 10.50.0.0/16 via 10.2.0.254 mtu 1400 metric 7")
    space.ip("route add 10.60.0.0/16 nexthop via 10.1.0.2 nexthop via 10.2.0.2")
    space.ip("route add 10.70.0.0/16 via inet6 fd00:1::99 dev v0")
    for kind in ("unreachable", "prohibit", "blackhole"):
        space.ip(f"route add {kind} 10.8{len(kind) % 10}.0.0/16")
        space.ip(f"route add {kind} fd00:8{len(kind) % 10}::/32")
    space.ip("route add throw 10.90.0.0/16")
    space.ip("route add default via fd00:1::fe")
    space.ip("rule add from 10.2.0.1 lookup 100 priority 1000")
    space.ip("rule add fwmark 7 lookup 100 priority 1001")
    space.ip("rule add not fwmark 51820 lookup 101 priority 1003")
    space.ip("rule add to 10.99.0.0/16 prohibit priority 1002")
    space.ip("neigh add 10.1.0.7 lladdr 02:00:00:00:00:07 dev v0 nud permanent")
    space.ip("neigh add fd00:1::7 lladdr 02:00:00:00:00:08 dev v0 nud stale")


TARGETS = [
    "127.0.0.1",
    "10.1.0.1",
    "10.1.0.9",
    "8.8.8.8",
    "10.50.1.1",
    "10.60.1.1",
    "10.70.1.1",
    "::1",
    "fd00:1::9",
    "2001:db8::1",
]


@pytest.mark.parametrize("target", TARGETS)
def test_a_route_equals_ip(target: str) -> None:
    with netns() as space:
        layout(space)
        (ip,) = space.json(f"ip -j -d route get {target}")
        (route,) = space.python(f"core.routes_to([{target!r}])")
    assert route["error"] is None
    assert route["interface"] == ip["dev"]
    assert route["source"] == ip["prefsrc"]
    assert route["gateway"] == (ip.get("gateway") or ip.get("via", {}).get("host"))
    assert route["type"] == ip["type"]
    mtu = next((m["mtu"] for m in ip.get("metrics", []) if "mtu" in m), None)
    assert route["mtu_bytes"] == mtu
    if "table" in ip:
        assert route["table"] == int(TABLES.get(ip["table"], ip["table"]))


@pytest.mark.parametrize(
    ("kind", "error"),
    [("unreachable", "unreachable"), ("prohibit", "prohibited"), ("blackhole", "blackhole")],
)
@pytest.mark.parametrize("prefix", ["10.8{}.0.1", "fd00:8{}::1"], ids=["v4", "v6"])
def test_a_refusing_route_is_an_answer(prefix: str, kind: str, error: str) -> None:
    target = prefix.format(len(kind) % 10)
    with netns() as space:
        layout(space)
        (route,) = space.python(f"core.routes_to([{target!r}])")
    assert route["error"] == error


def test_a_throw_route_goes_on_to_the_next_table() -> None:
    with netns() as space:
        layout(space)
        (route,) = space.python("core.routes_to(['10.90.1.1'])")
    assert route["error"] == "unreachable"


@pytest.mark.parametrize("target", ["192.0.2.1", "2001:db8::1"])
def test_no_route_is_an_answer(target: str) -> None:
    with netns() as space:
        (route,) = space.python(f"core.routes_to([{target!r}])")
    assert route["error"] == "unreachable"
    assert route["interface"] is None


def test_a_mapped_address_goes_the_way_of_ipv4() -> None:
    """As the kernel sends it: torch's client dials IPv4 names so."""
    with netns() as space:
        layout(space)
        plain, mapped = space.python("core.routes_to(['10.50.1.1', '::ffff:10.50.1.1'])")
    assert mapped == plain | {"target": "::ffff:10.50.1.1"}
    assert mapped["gateway"] == "10.2.0.254"


def test_a_target_with_a_nul_is_unusable() -> None:
    with pytest.raises(UsageError, match="target 2 has a NUL"):
        _core.routes_to(["127.0.0.1", "127.0.0.1\0"])


@pytest.mark.parametrize("text", ["", "example.org", "10.0.0", "10.0.0.1/24", "fe80::1%nolink"])
def test_an_unusable_target_is_named(text: str) -> None:
    with pytest.raises(UsageError, match=r"not a numeric address|no interface"):
        _core.routes_to([text])


def test_a_scoped_address_uses_its_link() -> None:
    with netns() as space:
        layout(space)
        (route,) = space.python("core.routes_to(['fe80::1%w0'])")
    assert route["interface"] == "w0"


def test_default_routes_equal_ip() -> None:
    with netns() as space:
        layout(space)
        expected = []
        for family in ("inet", "inet6"):
            for r in space.json(f"ip -j -f {family} route show table all"):
                if r["dst"] == "default" and r.get("type", "unicast") == "unicast":
                    table = TABLES.get(r.get("table", "main")) or int(r["table"])
                    expected.append((family, r["dev"], r.get("gateway"), r.get("metric"), table))
        routes = space.python("core.default_routes()")
    found = [
        (r["family"], r["interface"], r["gateway"], r["metric"], r["table"])
        for r in routes
        if r["type"] == "unicast"
    ]
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert len(found) == 3


def shown_rule(rule: dict[str, Any], family: str) -> dict[str, Any]:
    def prefix(key: str, bits: str) -> str | None:
        text = rule[key] if rule.get(key, "all") != "all" else None
        return f"{text}/{rule[bits]}" if text and bits in rule else text

    mark = rule.get("fwmark")
    return {
        "priority": rule["priority"],
        "family": family,
        "table": TABLES.get(rule.get("table", "")) or int(rule.get("table", 0)),
        "action": rule.get("action", "lookup"),
        "source": prefix("src", "srclen"),
        "destination": prefix("dst", "dstlen"),
        "iif": rule.get("iif"),
        "oif": rule.get("oif"),
        "fwmark": int(mark, 16) if mark else None,
        "inverted": "not" in rule,
    }


def test_rules_equal_ip() -> None:
    with netns() as space:
        layout(space)
        expected = [
            shown_rule(rule, family)
            for family in ("inet", "inet6")
            for rule in space.json(f"ip -j -f {family} rule")
        ]
        rules = space.python("core.rules()")
    assert rules == expected
    assert len(rules) > 6
    assert [r["priority"] for r in rules if r["inverted"]] == [1003]


def test_neighbours_equal_ip() -> None:
    with netns() as space:
        layout(space)
        expected = {
            (n["dst"], n["dev"], n.get("lladdr"), n["state"][0].lower())
            for n in space.json("ip -j neigh")
        }
        found = space.python("core.neighbours()")
    rows = {(n["address"], n["interface"], n["mac"], n["state"]) for n in found}
    assert rows == expected
    assert ("10.1.0.7", "v0", "02:00:00:00:00:07", "permanent") in rows
