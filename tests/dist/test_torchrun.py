"""torchrun's arguments, read with its own parser."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from ptnet import dist
from ptnet.errors import UsageError

STATIC = ["--nnodes", "2", "--node-rank", "1", "--master-addr", "nodea"]
C10D = ["--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-id", "j"]


@pytest.mark.parametrize(
    ("words", "environ", "fields"),
    [
        (STATIC, {}, {"node_rank": 1, "nnodes": 2, "master_port": 29500, "backend": "static"}),
        ([*STATIC, "--master-port", "7"], {}, {"master_addr": "nodea", "master_port": 7}),
        (
            [*C10D, "--rdzv-endpoint", "nodea"],
            {},
            {"master_port": 29400, "run_id": "j", "node_rank": None},
        ),
        ([*C10D, "--rdzv-endpoint", "[fd00::1]:5"], {}, {"master_addr": "fd00::1", "master_port": 5}),
        (["--nnodes", "1:4", "--rdzv-backend", "c10d"], {}, {"nnodes": 1, "nnodes_max": 4}),
        (
            [],
            {"PET_NNODES": "3", "PET_NODE_RANK": "2", "PET_MASTER_ADDR": "nodea"},
            {"nnodes": 3, "node_rank": 2, "master_addr": "nodea"},
        ),
        ([], {}, {"nnodes": 1, "master_addr": None}),
        (["--standalone", "--nnodes", "1"], {}, {"nnodes": 1, "master_addr": None}),
        (["--nproc-per-node", "4"], {}, {"local_world_size": 4}),
    ],
)
def test_arguments_are_read(
    words: list[str],
    environ: dict[str, str],
    fields: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    launch = dist.read_torchrun([*words, "train.py", "--nnodes", "9"]).launch
    assert {field: getattr(launch, field) for field in fields} == fields
    assert launch.invalid == []


@pytest.mark.parametrize(
    ("words", "serves", "must"),
    [
        (STATIC, False, True),
        (["--nnodes", "2", "--master-addr", "nodea"], True, True),
        ([*C10D, "--rdzv-endpoint", "localhost:5"], True, False),
        ([*C10D, "--rdzv-endpoint", f"{socket.gethostname()}:5"], True, False),
        ([*C10D, "--rdzv-endpoint", "192.0.2.1:5"], False, False),
        ([*C10D, "--rdzv-endpoint", "192.0.2.1:5", "--rdzv-conf", "is_host=1"], True, True),
        ([*C10D, "--rdzv-endpoint", "localhost:5", "--rdzv-conf", "is_host=0"], False, True),
    ],
)
def test_who_serves_the_store(words: list[str], serves: bool, must: bool) -> None:
    plan = dist.read_torchrun([*words, "train.py"])
    assert (plan.serves, plan.must_serve) == (serves, must)


@pytest.mark.parametrize(
    "words", [["--nnodes", "two"], ["--nnodes", "1:2:3"], ["--rdzv-conf", "x"]]
)
def test_what_torch_refuses_is_said(words: list[str]) -> None:
    with pytest.raises(UsageError, match="torchrun: "):
        dist.read_torchrun([*words, "train.py"])


@pytest.mark.parametrize(
    "words", [[*STATIC, "--master-port", "70000"], [*C10D, "--rdzv-endpoint", "a b:5"]]
)
def test_an_endpoint_that_torch_refuses_is_a_fact(words: list[str]) -> None:
    assert len(dist.read_torchrun([*words, "train.py"]).launch.invalid) == 1


def test_what_a_node_tells_of_itself_has_no_secret() -> None:
    words = ["--nnodes", "2", "--local-addr", "u:s3cret@node0", "train.py"]
    assert dist.read_torchrun(words).launch.local_addr == "***@node0"
