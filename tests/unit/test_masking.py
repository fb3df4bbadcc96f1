"""What is shared tells nobody's name or address, and the checks find the same in it."""

from __future__ import annotations

import ipaddress
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.cases import CASES, Case
from unit.jobs import agents, link

import ptnet
from ptnet import checks, codec
from ptnet.masking import EVERYBODYS, Mask
from ptnet.model import Job

V4 = st.integers(0, 2**32 - 1).map(ipaddress.IPv4Address)
V6 = st.integers(0, 2**128 - 1).map(ipaddress.IPv6Address)
KINDS = ("is_loopback", "is_unspecified", "is_multicast", "is_link_local", "is_private")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_checks_find_the_same_in_what_is_shared(case: Case) -> None:
    job = case.job()
    said = checks.judge(ptnet.share(job))
    assert [(f.id, f.severity) for f in said.findings] == [
        (f.id, f.severity) for f in checks.judge(job).findings
    ]
    assert not said.crashed


def own(job: Job) -> set[str]:
    """Names and addresses that are a host's own."""
    names = {s.node for s in job.snapshots} | {c.node for c in job.cards}
    for s in job.snapshots:
        names |= {n for n in (s.names.hostname, s.names.fqdn) if n} if s.names else set()
        names |= {a.address for link in s.links for a in link.addresses}
    kept = ("127.", "::1", "fe80")
    return {n for n in names if n.lower() not in EVERYBODYS and not n.startswith(kept)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_of_a_host_is_left(case: Case) -> None:
    job = case.job()
    for document in (job, checks.judge(job)):
        text = json.dumps(codec.dump(ptnet.share(document)))
        for word in own(job):
            assert not re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text), word


@given(a=V4 | V6, b=V4 | V6, n=st.integers(0, 128))
def test_prefixes_are_preserved(a: ipaddress.IPv4Address, b: ipaddress.IPv4Address, n: int) -> None:
    mask = Mask()
    width = a.max_prefixlen
    n = min(n, width)
    if type(a) is type(b):  # b shares the first n bits of a
        b = type(a)(int(a) >> (width - n) << (width - n) | int(b) & ((1 << (width - n)) - 1))
    new_a, new_b = (ipaddress.ip_address(mask.text(str(x))) for x in (a, b))
    assert mask.text(str(a)) == str(new_a)
    for kind in KINDS[:4]:
        assert getattr(new_a, kind) == getattr(a, kind), kind
    special = any(getattr(x, k) for x in (a, b) for k in KINDS) or 2**32 - 1 in (int(a), int(b))
    if type(a) is type(b) and not special:
        shared = width - (int(a) ^ int(b)).bit_length()
        assert width - (int(new_a) ^ int(new_b)).bit_length() == shared


@settings(deadline=None)
@given(host=st.integers(0, 2**24 - 1))
def test_private_ranges_stay(host: int) -> None:
    mask = Mask()
    for net, bits in (("10.0.0.0", 24), ("172.16.0.0", 20), ("192.168.0.0", 16)):
        network = ipaddress.ip_network(f"{net}/{32 - bits}")
        address = network[host % (1 << bits)]
        assert ipaddress.ip_address(mask.text(str(address))) in network


def test_a_host_is_one_host_in_every_place() -> None:
    job = agents()
    one = job.snapshots[0]
    one.env = {
        "MASTER_ADDR": "NodeA",
        "NO_PROXY": "nodea,.corp.example,10.77.0.0/16,10.77.0.1:80",
        "SLURM_JOB_NODELIST": "node[a]",
        "NCCL_SOCKET_IFNAME": "eth0",
        "NCCL_COMM_ID": "fd00::1:29501",
    }
    assert one.names
    one.names.fqdn = "nodea.corp.example"
    one.links.append(link("ib0", "fd00::1"))
    shared = ptnet.share(job).snapshots[0]
    assert shared.names
    assert shared.node == shared.env["MASTER_ADDR"] == shared.names.hostname == "host1"
    assert shared.names.fqdn == "host1.domain1"
    assert shared.env["NCCL_SOCKET_IFNAME"] == shared.links[1].name == "eth0"
    address = shared.links[1].addresses[0].address
    name, domain, network, with_port = shared.env["NO_PROXY"].split(",")
    assert (name, domain, with_port) == ("host1", ".domain1", f"{address}:80")
    assert ipaddress.ip_address(address) in ipaddress.ip_network(network)
    six = shared.links[-1].addresses[0].address
    assert shared.env["NCCL_COMM_ID"] == f"{six}:29501"
    assert ptnet.share(job).snapshots[0].links[1].addresses != shared.links[1].addresses


def test_what_is_shared_twice_stays_consistent() -> None:
    once = ptnet.share(agents())
    assert [s.node for s in ptnet.share(once).snapshots] == [s.node for s in once.snapshots]
