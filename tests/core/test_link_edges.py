"""Links in rarer states: no carrier, lower links, failed detection, names that are not UTF-8."""

from __future__ import annotations

import pytest
from netns import netns

from ptnet import _core
from ptnet.errors import UsageError

WAIT_FOR_DETECTION = """
import socket, subprocess
events = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
events.bind((0, 0x100))  # RTMGRP_IPV6_IFADDR
events.settimeout(20)
subprocess.run("ip addr add fd00:5::1/64 dev v1".split(), check=True)
def flags():
    rows = core.links("v1")[0]["addresses"]
    return [a["flags"] for a in rows if a["address"] == "fd00:5::1"][0]
while "dadfailed" not in flags():
    events.recv(65536)
"""


def test_carrier_and_lower_equal_ip() -> None:
    with netns() as space:
        space.run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        for pair in ("a", "b", "c"):
            space.ip(f"link add {pair}0 type veth peer name {pair}1")
        space.ip("link set a0 up")
        space.ip("link set a1 up")
        space.ip("link set b0 up")  # its peer is down: no carrier
        space.ip("link add m0 link a0 type macvlan")
        space.ip("link set m0 up")
        space.ip("tuntap add tun0 mode tun")
        space.ip("link set tun0 up")
        shown = {link["ifname"]: link for link in space.json("ip -j -d link")}
        links = {link["name"]: link for link in space.python("core.links()")}
    assert set(links) == set(shown)
    for name, link in shown.items():
        up, carrier = "UP" in link["flags"], "NO-CARRIER" not in link["flags"]
        assert links[name]["carrier"] is (carrier if up else None), name
        assert links[name]["lower"] == link.get("link"), name
    carriers = {name: links[name]["carrier"] for name in ("a0", "b0", "c0", "m0", "tun0")}
    assert carriers == {"a0": True, "b0": False, "c0": None, "m0": True, "tun0": False}


def test_an_address_with_a_lifetime_is_not_permanent() -> None:
    with netns() as space:
        space.ip("addr add 10.7.0.1/24 dev lo valid_lft 500 preferred_lft 400")
        space.ip("addr add 10.8.0.1/24 dev lo")
        (shown,) = space.json("ip -j addr show dev lo")
        (lo,) = space.python("core.links('lo')")
    dynamic = {a["local"]: a.get("dynamic", False) for a in shown["addr_info"]}
    permanent = {a["address"]: "permanent" in a["flags"] for a in lo["addresses"]}
    assert permanent == {address: not is_dynamic for address, is_dynamic in dynamic.items()}
    assert (permanent["10.7.0.1"], permanent["10.8.0.1"]) == (False, True)


def test_an_address_that_another_host_has_failed_detection() -> None:
    with netns() as space:
        space.ip("link add v0 type veth peer name v1")
        space.ip("link set v0 up")
        space.ip("link set v1 up")
        space.ip("addr add fd00:5::1/64 dev v0 nodad")
        flags = space.python("flags()", prelude=WAIT_FOR_DETECTION)
    assert {"dadfailed", "tentative"} <= set(flags)


def test_every_name_that_is_told_can_be_asked_for() -> None:
    """The kernel takes any bytes but a few for a name."""
    names = ["wé", "b\udcff"]
    with netns() as space:
        for name in names:
            space.run("ip", "link", "add", name, "type", "bridge")
        told = space.python("[l['name'] for l in core.links() if l['kind'] == 'bridge']")
        asked = space.python(f"[core.links(n)[0]['name'] for n in {names!a}]")
    assert told == names
    assert asked == names


def test_a_name_with_a_nul_is_refused() -> None:
    with pytest.raises(UsageError, match=r"“lo” has a NUL"):
        _core.links("lo\0x")


def test_a_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="expected str or None"):
        _core.links(7)  # type: ignore[arg-type]
