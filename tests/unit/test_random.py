"""Jobs that the published schema allows and nobody has seen: no check raises or takes long."""

from __future__ import annotations

import copy
import json
import statistics
import time
from importlib import resources
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from unit.cases import CASES

from ptnet import checks, cli, codec
from ptnet.checks import registry
from ptnet.errors import UsageError
from ptnet.model import Job, RankCard, Snapshot

SCHEMA = json.loads(resources.files("ptnet").joinpath("schema/job.json").read_text())
WORDS = st.sampled_from(
    [
        *(
            "",
            "node0",
            "node1",
            "localhost",
            "node0.example",
            "node[0-1]",
            "[::1]",
            "a b",
            "::",
            "%",
        ),
        *("10.0.0.1", "10.0.0.2", "127.0.0.1", "127.0.1.1", "::1", "fe80::1%eth0", "2001:db8::1"),
        *(
            "inet",
            "inet6",
            "eth0",
            "lo",
            "veth",
            "global",
            "static",
            "c10d",
            "torchrun",
            "variables",
        ),
        *("node", "rank", "ok", "refused", "unresolved", "port-busy", "not-local", "loopback"),
        *("no-rank-0", "timeout", "2.5.1", "1.7", "x.y", "docker", "enforcing", "0", "1", "65536"),
        *("net.core.somaxconn", "net.netfilter.nf_conntrack_max", "10.0.0.1:29500", "fd00::1:2"),
    ]
)
NUMBERS = st.sampled_from([0, 1, 2, 8, 22, 1024, 29500, 40000, 65535, -1, 2**40])
VARIABLES = st.sampled_from(
    ["GLOO_SOCKET_IFNAME", "NCCL_COMM_ID", "NCCL_HOSTID", "SLURM_JOB_NODELIST", "PET_RDZV_ENDPOINT"]
)


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a part of the schema allows: mostly those that mean something to a check."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return st.deferred(lambda: objects(SCHEMA["$defs"][name]))
    if "const" in schema:
        return st.just(schema["const"])
    if "anyOf" in schema:
        return st.one_of(*(values(one) for one in schema["anyOf"]))
    if schema["type"] == "array":
        return st.lists(values(schema["items"]), max_size=3)
    if schema["type"] == "object":
        if "properties" in schema:
            return objects(schema)
        return st.dictionaries(
            VARIABLES | WORDS, values(schema["additionalProperties"]), max_size=3
        )
    return {
        "string": WORDS | st.text(max_size=6),
        "integer": NUMBERS,
        "number": st.sampled_from([0.0, 0.5, 9.0, 1e9]),
        "boolean": st.booleans(),
        "null": st.none(),
    }[schema["type"]]


def objects(schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    required = {n: values(p) for n, p in schema["properties"].items() if n in schema["required"]}
    optional = {
        n: values(p) for n, p in schema["properties"].items() if n not in schema["required"]
    }
    return st.fixed_dictionaries(required, optional=optional)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(objects(SCHEMA))
def test_no_check_raises(data: dict[str, Any]) -> None:
    report = checks.judge(codec.load(Job, data))
    assert not report.crashed
    assert str(report)
    codec.dump(report)


def leaves(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all texts and numbers."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    found = []
    for key, value in items:
        if isinstance(value, (dict, list)):
            found += leaves(value, (*path, key))
        elif type(value) in (str, int):
            found.append((*path, key))
    return found


CHANGED = [json.loads(case.path.read_text()) for case in CASES]
for _data in CHANGED:
    del _data["case"]


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_check_raises_on_a_case_with_other_values(draw: st.DataObject) -> None:
    data = copy.deepcopy(draw.draw(st.sampled_from(CHANGED)))
    for path in draw.draw(st.lists(st.sampled_from(leaves(data)), min_size=1, max_size=6)):
        *into, last = path
        owner = data
        for key in into:
            owner = owner[key]
        owner[last] = draw.draw(
            WORDS | st.text(max_size=6) if type(owner[last]) is str else NUMBERS
        )
    try:
        job = codec.load(Job, data)
    except UsageError:
        return  # the schema's own name was changed
    report = checks.judge(job)
    assert not report.crashed
    assert str(report)


def synthetic(nodes: int, name: str) -> Job:
    """A job of many nodes, each a whole snapshot of a twin with names and addresses of its own."""
    twin = next(case for case in CASES if case.name == f"twins/{name}").job()
    text = json.dumps(codec.dump(twin.snapshots[1]))
    job = Job(expected=nodes)
    for n in range(nodes):
        mine = text.replace("cn02", f"cn{n:04d}").replace("192.0.2.21", f"10.1.{n >> 8}.{n & 255}")
        snapshot = codec.load(Snapshot, json.loads(mine))
        launch, place = snapshot.launch, snapshot.place
        assert launch
        assert place
        place.boot_id = f"boot-{n}"
        launch.rank = launch.node_rank = n
        launch.local_rank, launch.local_world_size = 0, 1
        launch.world_size = launch.nnodes = nodes
        launch.master_addr, snapshot.env = "10.1.0.0", {"SLURM_JOB_NODELIST": f"cn[0-{nodes}]"}
        job.snapshots.append(snapshot)
        job.cards.append(RankCard(snapshot.node, 1, launch, place.boot_id, netns=1))
    return job


@pytest.fixture(scope="module")
def of_64() -> Job:
    return synthetic(64, "slurm")


@pytest.mark.parametrize("id", checks.ids())
def test_a_check_of_64_nodes_takes_ten_milliseconds_at_most(id: str, of_64: Job) -> None:
    check = registry.get(id)
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        list(check.function(of_64))
        seconds.append(time.perf_counter() - started)
    assert statistics.median(seconds) < 0.010


def test_1024_nodes_are_judged_in_two_seconds(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.json"
    codec.write(synthetic(1024, "slurm"), str(path))
    seconds = []
    for _ in range(3):
        started = time.process_time()
        assert cli.main(["check", "--from", str(path)]) == 0
        seconds.append(time.process_time() - started)
    assert statistics.median(seconds) <= 2.0
    assert "1024 nodes" in capsys.readouterr().out
