"""Links and addresses equal what `ip` shows, on many layouts."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from netns import Netns, environment, netns

from ptnet import _core
from ptnet.errors import UsageError
from ptnet.model import Address, Counters, Link, LinkDetail

COUNTERS = ("bytes", "packets", "errors", "dropped")
ADDRESS_FLAGS = ("secondary", "tentative", "deprecated", "dadfailed", "noprefixroute", "nodad")


def lo_only(space: Netns) -> None:
    pass


def addresses(space: Netns) -> None:
    space.ip("link add v0 type veth peer name v1")
    space.ip("link set v0 up")
    space.ip("link set v1 up")
    for line in (
        "10.1.0.1/24 dev v0",
        "10.1.0.2/24 dev v0",
        "10.2.0.1/16 dev v0 label v0:1",
        "10.3.0.1 peer 10.3.0.2/32 dev v1",
        "10.4.0.1/24 dev v1 scope link",
        "fd00:1::1/64 dev v0 nodad",
        "fd00:1::2/64 dev v0 nodad preferred_lft 0",
        "fd00:2::1/64 dev v1",
    ):
        space.ip(f"addr add {line}")


def quiet(space: Netns) -> None:
    """Without IPv6 nobody sends: the counters stand still."""
    space.run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")


def bridge(space: Netns) -> None:
    quiet(space)
    space.ip("link add br0 type bridge")
    for n in range(3):
        space.ip(f"link add p{n} type veth peer name q{n}")
        space.ip(f"link set p{n} master br0 up")
    space.ip("link set br0 up")


def altnames(space: Netns) -> None:
    space.ip("link add v0 type veth peer name v1")
    space.ip("link property add dev v0 altname short altname a-name-that-is-longer-than-fifteen")


def virtual(space: Netns) -> None:
    space.ip("tuntap add tun0 mode tun")
    space.ip("tuntap add tap0 mode tap")
    space.ip("link add v0 type veth peer name v1")
    space.ip("link set v0 mtu 9000 up")
    space.ip("link add vx0 type vxlan id 7 dstport 4789 dev v0")
    space.ip("link set v1 address 02:00:00:00:00:07")
    space.ip("link add m0 link v0 type macvlan")
    space.ip("link add i0 type ifb")


def hundred(space: Netns) -> None:
    quiet(space)
    virtual(space)
    space.ip("link add br0 type bridge")
    for n in range(46):
        space.ip(f"link add e{n} type veth peer name f{n}")
        space.ip(f"addr add 10.9.{n}.1/24 dev e{n}")
        space.ip(f"link set e{n} up")
    for n in range(0, 46, 3):
        space.ip(f"link set f{n} master br0 up")


LAYOUTS = [lo_only, addresses, bridge, altnames, virtual, hundred]


def shown_address(a: dict[str, Any]) -> dict[str, Any]:
    """An address of `ip -j`, in our words."""
    address, prefix = a["local"], a["prefixlen"]
    flags = {f for f in ADDRESS_FLAGS if a.get(f)}
    peer = a.get("address")
    return {
        "address": address,
        "prefix": prefix,
        "family": a["family"],
        "scope": a["scope"],
        "flags": flags,
        "label": a.get("label"),
        "peer": peer if peer != address else None,
    }


def shown(link: dict[str, Any]) -> dict[str, Any]:
    """A link of `ip -j -d -s addr`, in our words."""
    info = link.get("linkinfo", {})
    rx, tx = link["stats64"]["rx"], link["stats64"]["tx"]
    flags = {f.lower() for f in link["flags"] if f not in ("NO-CARRIER", "M-DOWN")}
    if "UP" in link["flags"] and "NO-CARRIER" not in link["flags"]:
        flags.add("running")  # ip shows its absence, as NO-CARRIER
    return {
        "name": link["ifname"],
        "index": link["ifindex"],
        "altnames": link.get("altnames", []),
        "info_kind": info.get("info_kind"),
        "flags": flags,
        "state": link["operstate"].lower(),
        "mtu": link["mtu"],
        "mac": link.get("address"),
        "master": link.get("master"),
        "counters": {
            f"{way}_{n}": side[n] for way, side in (("rx", rx), ("tx", tx)) for n in COUNTERS
        },
        "addresses": [shown_address(a) for a in link["addr_info"]],
    }


def ours(link: dict[str, Any]) -> dict[str, Any]:
    addresses = [{**a, "flags": set(a["flags"]) & set(ADDRESS_FLAGS)} for a in link["addresses"]]
    kept = ("name", "index", "altnames", "info_kind", "state", "mtu", "mac", "master", "counters")
    return {
        **{key: link[key] for key in kept},
        "flags": set(link["flags"]),
        "addresses": addresses,
    }


def read_ip(space: Netns) -> list[dict[str, Any]]:
    return [shown(link) for link in space.json("ip -j -d -s addr")]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
def test_links_equal_ip(layout: Callable[[Netns], None]) -> None:
    with netns() as space:
        layout(space)
        for _ in range(50):  # counters and detection states may move in between: read again then
            before = read_ip(space)
            links = space.python("core.links()")
            if before == read_ip(space):
                break
            time.sleep(0.1)
        else:
            pytest.fail("the namespace never stood still")
    assert [ours(link) for link in links] == before
    assert len(links) >= (100 if layout is hundred else 1)


def test_flags_that_only_some_addresses_have() -> None:
    with netns() as space:
        addresses(space)
        links = {link["name"]: link for link in space.python("core.links()")}
    by = {a["address"]: a for link in links.values() for a in link["addresses"]}
    assert "secondary" in by["10.1.0.2"]["flags"]
    assert "deprecated" in by["fd00:1::2"]["flags"]
    assert "tentative" in by["fd00:2::1"]["flags"]
    assert by["10.2.0.1"]["label"] == "v0:1"
    assert by["10.3.0.1"]["peer"] == "10.3.0.2"


def test_kinds() -> None:
    with netns() as space:
        virtual(space)
        bridge(space)
        links = {link["name"]: link for link in space.python("core.links()")}
    kinds = {name: links[name]["kind"] for name in ("lo", "tun0", "v0", "vx0", "br0", "m0", "i0")}
    assert kinds == {
        "lo": "loopback",
        "tun0": "tun",
        "v0": "veth",
        "vx0": "vxlan",
        "br0": "bridge",
        "m0": "macvlan",
        "i0": "ifb",
    }
    assert links["m0"]["lower"] == "v0"
    assert links["p0"]["master"] == "br0"
    assert links["v0"]["carrier"] is False
    assert links["v1"]["carrier"] is None  # down: the kernel does not say
    assert links["v0"]["driver"] is None
    assert links["v0"]["duplex"] == "full"
    assert links["v0"]["speed_mbps"] == 10000


def test_the_peer_lies_in_another_namespace() -> None:
    with netns() as space, netns() as other:
        space.ip(f"link add v0 type veth peer name v1 netns {other.name}")
        (v0,) = space.python('core.links("v0")')
    assert v0["peer_netns"] is not None
    assert v0["lower"] is None


@pytest.mark.parametrize("name", ["v0", "short", "a-name-that-is-longer-than-fifteen"])
def test_one_link_by_any_of_its_names(name: str) -> None:
    with netns() as space:
        altnames(space)
        space.ip("addr add 10.1.0.1/24 dev v0")
        space.ip("addr add 10.1.1.1/24 dev v1")
        every = {link["name"]: link for link in space.python("core.links()")}
        one = space.python(f"core.links({name!r})")
    assert one == [every["v0"]]
    assert len(one[0]["addresses"]) == 1


def test_an_unknown_link_is_no_link() -> None:
    with netns() as space:
        assert space.python('[core.links("nope"), core.links("a-long-name-of-nothing")]') == [
            [],
            [],
        ]


def test_speed_is_equal_by_netlink_and_by_ioctl() -> None:
    """Up to eight links are asked one by one, more by one dump."""
    with netns() as space:
        space.ip("link add v0 type veth peer name v1")
        few = space.python('[core.links("v0")[0][k] for k in ("speed_mbps", "duplex", "autoneg")]')
        for n in range(10):
            space.ip(f"link add e{n} type veth peer name f{n}")
        links = {link["name"]: link for link in space.python("core.links()")}
    assert [links["v0"][k] for k in ("speed_mbps", "duplex", "autoneg")] == few


def test_the_mac_in_the_hardware_equals_ip_on_this_host() -> None:
    """No virtual link has one, so this reads the namespace that the test runs in."""
    argv = ["ip", "-j", "-d", "link"]
    shown = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    links = {link["name"]: link for link in _core.links()}
    assert set(links) == {link["ifname"] for link in shown}
    for link in shown:  # where the two are equal ip shows one
        own = links[link["ifname"]]
        differs = own["perm_mac"] != own["mac"]
        assert link.get("permaddr") == (own["perm_mac"] if differs else None)


def test_every_key_is_a_field_of_the_model() -> None:
    def names(model: type) -> set[str]:
        return {field.name for field in dataclasses.fields(model)}

    (lo,) = _core.links("lo", detail=True)
    assert set(lo) == names(Link)
    assert set(lo["addresses"][0]) == names(Address)
    assert set(lo["counters"]) == names(Counters)
    assert set(lo["detail"]) == names(LinkDetail)


def test_the_sysfs_of_another_namespace_is_not_believed() -> None:
    """`unshare -n` keeps the old /sys, whose eth0 may be another device."""
    with netns() as space:
        names = space.python("[l['name'] for l in core.links()]")
        assert "eth0" not in names
        space.ip("link add eth0 type veth peer name v1")
        code = "import json; from ptnet import _core; print(json.dumps(_core.links('eth0')[0]))"
        done = subprocess.run(
            ["nsenter", f"--net=/run/netns/{space.name}", sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=environment(),
            check=True,
        )
        eth0 = json.loads(done.stdout)
    assert eth0["kind"] == "veth"
    assert (eth0["numa_node"], eth0["pci_address"], eth0["driver"]) == (None, None, None)


def test_detail_is_told_on_request_only() -> None:
    with netns() as space:
        space.ip("link add v0 type veth peer name v1")
        assert space.python("core.links('v0')[0]['detail']") is None
        detail = space.python("core.links('v0', True)[0]['detail']")
    assert "tx-tcp-segmentation" in detail["offloads"]
    assert detail["rx_channels"] is not None
    assert detail["fec"] == []


@pytest.mark.parametrize("name", ["", "x" * 300])
def test_a_name_that_cannot_be_one_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"link name .* 1 to 127 bytes"):
        _core.links(name)
