"""Which launcher started a process, from recorded environments of each."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptnet import codec, launch, redact
from ptnet.launchers import LAUNCHERS
from ptnet.model import Launch

MASTER = {"MASTER_ADDR": "nodea", "MASTER_PORT": "29500"}
PLAIN = {"RANK": "3", "WORLD_SIZE": "8", **MASTER}
TORCHRUN = {
    **PLAIN,
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "GROUP_RANK": "1",
    "GROUP_WORLD_SIZE": "4",
    "TORCHELASTIC_RUN_ID": "job",
    "TORCHELASTIC_RESTART_COUNT": "2",
    "TORCHELASTIC_USE_AGENT_STORE": "True",
}
SRUN = {
    "SLURM_PROCID": "3",
    "SLURM_NTASKS": "8",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "1",
    "SLURM_STEP_NUM_NODES": "4",
    "SLURM_STEP_TASKS_PER_NODE": "2(x4)",
    "SLURM_JOB_ID": "77",
    "SLURM_STEP_ID": "0",
}
MPIRUN = {
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_SIZE": "8",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
}
WHOLE = {"rank": 3, "local_rank": 1, "world_size": 8, "local_world_size": 2}

CASES: list[tuple[str, dict[str, str], dict[str, Any]]] = [
    ("none", {}, {"rank": None, "world_size": None}),
    ("variables", PLAIN, {"rank": 3, "world_size": 8, "local_rank": None, "nnodes": None}),
    (
        "torchrun",
        TORCHRUN,
        {
            **WHOLE,
            "node_rank": 1,
            "nnodes": 4,
            "run_id": "job",
            "restart_count": 2,
            "agent_store": True,
        },
    ),
    ("torchrun", {**TORCHRUN, "TORCHELASTIC_USE_AGENT_STORE": "true"}, {"agent_store": False}),
    (
        "slurm",
        SRUN,
        {**WHOLE, "node_rank": 1, "nnodes": 4, "run_id": "slurm-77.0", "master_addr": None},
    ),
    ("openmpi", {**MPIRUN, **MASTER}, {**WHOLE, "nnodes": 4, "master_addr": "nodea"}),
    (
        "mpijob",
        {**MPIRUN, "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile"},
        {**WHOLE, "unit": "rank"},
    ),
    (
        "mpich",
        {"PMI_RANK": "3", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"},
        WHOLE,
    ),
    (
        "mvapich2",
        {
            "MV2_COMM_WORLD_RANK": "3",
            "MV2_COMM_WORLD_SIZE": "8",
            "MV2_COMM_WORLD_LOCAL_RANK": "1",
            "MV2_COMM_WORLD_LOCAL_SIZE": "2",
        },
        WHOLE,
    ),
    ("pmix", {"PMIX_RANK": "3"}, {"rank": 3, "world_size": None}),
    (
        "lsf",
        {"JSM_NAMESPACE_RANK": "3", "JSM_NAMESPACE_SIZE": "8", "JSM_NAMESPACE_LOCAL_RANK": "1"},
        {"rank": 3, "world_size": 8, "local_rank": 1},
    ),
    (
        "pytorchjob",
        {**PLAIN, "RANK": "1", "WORLD_SIZE": "2", "NPROC_PER_NODE": "4"},
        {"unit": "node", "node_rank": 1, "nnodes": 2, "rank": None, "local_world_size": 4},
    ),
    (
        "kubeflow-trainer",
        {
            "PET_NNODES": "2",
            "PET_NODE_RANK": "1",
            "PET_NPROC_PER_NODE": "4",
            "PET_MASTER_ADDR": "nodea",
            "PET_MASTER_PORT": "29400",
        },
        {"unit": "node", "node_rank": 1, "nnodes": 2, "master_addr": "nodea", "master_port": 29400},
    ),
    (
        "deepspeed",
        {**PLAIN, "LOCAL_RANK": "1", "LOCAL_SIZE": "2", "CROSS_RANK": "1", "CROSS_SIZE": "4"},
        {**WHOLE, "node_rank": 1, "nnodes": 4},
    ),
    (
        "ray",
        {**PLAIN, "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "NODE_RANK": "1", "RAY_JOB_ID": "1"},
        {**WHOLE, "node_rank": 1},
    ),
    (
        "sagemaker",
        {"SM_HOSTS": '["algo-1", "algo-2"]', "SM_CURRENT_HOST": "algo-2", "SM_NUM_GPUS": "8"},
        {"unit": "node", "node_rank": 1, "nnodes": 2, "local_world_size": 8},
    ),
]


@pytest.mark.parametrize(("name", "environ", "fields"), CASES, ids=[c[0] for c in CASES])
def test_a_launcher_is_known_by_its_variables(
    name: str, environ: dict[str, str], fields: dict[str, Any]
) -> None:
    found = launch.detect(environ)
    assert found.launcher == name
    assert {field: getattr(found, field) for field in fields} == fields
    assert found.invalid == []
    assert found.conflicts == []


def test_torchs_variables_decide_and_a_difference_is_a_conflict() -> None:
    found = launch.detect({**SRUN, **PLAIN, "RANK": "0", "WORLD_SIZE": "2"})
    assert (found.launcher, found.rank, found.world_size) == ("slurm", 0, 2)
    assert {c.field: c.values for c in found.conflicts} == {
        "rank": {"RANK": "0", "SLURM_PROCID": "3"},
        "world_size": {"WORLD_SIZE": "2", "SLURM_STEP_NUM_TASKS": "8"},
    }
    assert found.sources["rank"] == "RANK"


def test_a_shell_of_salloc_is_no_rank() -> None:
    assert launch.detect({**SRUN, "SLURM_JOB_NAME": "interactive"}).launcher == "none"


@pytest.mark.parametrize(
    ("change", "variable"),
    [
        ({"RANK": "abc"}, "RANK"),
        ({"RANK": "8"}, "RANK"),
        ({"RANK": "-1"}, "RANK"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE"),
        ({"MASTER_PORT": "70000"}, "MASTER_PORT"),
        ({"MASTER_PORT": "0"}, "MASTER_PORT"),
        ({"MASTER_PORT": "29500x"}, "MASTER_PORT"),
    ],
)
def test_a_value_that_torch_cannot_use_is_named(change: dict[str, str], variable: str) -> None:
    invalid = launch.detect({**PLAIN, **change}).invalid
    assert [i.variable for i in invalid] == [variable]
    assert invalid[0].value == change[variable]
    assert invalid[0].expected


def test_blanks_around_a_number_are_forgiven_as_torch_does() -> None:
    found = launch.detect({**PLAIN, "RANK": " 3\r"})
    assert (found.rank, found.invalid) == (3, [])


def test_the_inner_launcher_is_the_one_that_counts_ranks() -> None:
    # mpirun starts one daemon a node as a Slurm step, and the ranks inherit its variables.
    daemon = {**SRUN, "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "4", "SLURM_LOCALID": "0"}
    for environ, name in [
        ({**daemon, **MPIRUN}, "openmpi"),
        ({**daemon, "PMI_RANK": "3", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1"}, "mpich"),
        ({**daemon, **TORCHRUN}, "torchrun"),
        ({**MPIRUN, "JSM_NAMESPACE_RANK": "3", "JSM_NAMESPACE_SIZE": "8"}, "lsf"),
    ]:
        found = launch.detect(environ)
        assert (found.launcher, found.rank, found.world_size) == (name, 3, 8)
        assert found.conflicts == []
    # srun --mpi=pmi2 sets PMI_RANK too, and is srun.
    assert launch.detect({**SRUN, "PMI_RANK": "3", "PMI_SIZE": "8"}).launcher == "slurm"


def test_a_batch_script_is_one_process() -> None:
    script = {"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_LOCALID": "0", "SLURM_JOB_ID": "7"}
    assert launch.detect(script).launcher == "none"
    assert launch.detect({**script, **PLAIN}).launcher == "variables"
    assert launch.detect({**script, "SLURM_STEP_ID": "0"}).launcher == "slurm"


def test_a_pytorchjobs_rank_counts_pods_whatever_else_it_sets() -> None:
    pod = {"RANK": "1", "WORLD_SIZE": "2", **MASTER}
    for more in ({"PET_NPROC_PER_NODE": "auto"}, {"PET_NPROC_PER_NODE": "8", "PET_NODE_RANK": "1"}):
        found = launch.detect({**pod, **more})
        assert (found.launcher, found.unit, found.rank) == ("pytorchjob", "node", None)
        assert (found.node_rank, found.nnodes, found.master_addr) == (1, 2, "nodea")
        assert found.invalid == []


@pytest.mark.parametrize(
    ("nnodes", "least", "most", "invalid"),
    [
        ("1:3", 1, 3, []),
        ("2:2", 2, None, []),
        ("3:1", None, None, ["PET_NNODES"]),
        ("1:x", None, None, ["PET_NNODES"]),
        ("0:2", None, None, ["PET_NNODES"]),
    ],
)
def test_an_elastic_job_says_how_few_and_how_many(
    nnodes: str, least: int | None, most: int | None, invalid: list[str]
) -> None:
    found = launch.detect({"PET_NODE_RANK": "0", "PET_NNODES": nnodes})
    assert (found.nnodes, found.nnodes_max) == (least, most)
    assert [i.variable for i in found.invalid] == invalid


@pytest.mark.parametrize("hosts", ["[]", "5", '"a"', '{"a": 1}', "[" * 100_000, '["b"]', ""])
def test_a_list_of_hosts_without_this_one_is_named(hosts: str) -> None:
    found = launch.detect({"SM_HOSTS": hosts or "x", "SM_CURRENT_HOST": "a"})
    assert (found.node_rank, found.nnodes) == (None, None)
    assert [i.variable for i in found.invalid] == ["SM_HOSTS"]


def test_port_zero_is_good_for_one_process() -> None:
    found = launch.detect({**MASTER, "RANK": "0", "WORLD_SIZE": "1", "MASTER_PORT": "0"})
    assert (found.master_port, found.invalid) == (0, [])


SECRET = "http://ann:hunter2@proxy:3128"


@pytest.mark.parametrize(
    "variable",
    ["RANK", "MASTER_ADDR", "MASTER_PORT", "SM_HOSTS", "PET_NNODES", "SLURM_STEP_TASKS_PER_NODE"],
)
def test_no_secret_of_a_value_gone_astray(variable: str) -> None:
    for environ in (PLAIN, SRUN, {"PET_NODE_RANK": "0"}, {"SM_HOSTS": "[]"}):
        found = launch.detect({**environ, variable: SECRET})
        assert "hunter2" not in str(codec.dump(found))


NAMES = sorted(
    {n for k in LAUNCHERS for names in (k.markers, *k.variables.values()) for n in names}
    | {"MASTER_ADDR", "MASTER_PORT", "SM_HOSTS", "SLURM_STEP_TASKS_PER_NODE", "SLURM_JOB_NAME"}
)


TEXTS = (
    st.text(max_size=8)
    | st.integers(-9, 99).map(str)
    | st.sampled_from(["[]", '["a"]', "1:2", "auto", "2(x3),1", "n[1-2]", "\udc80"])
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES), TEXTS, max_size=12))
def test_no_environment_makes_it_raise(environ: dict[str, str]) -> None:
    assert isinstance(launch.detect(environ), Launch)


def test_a_snapshot_keeps_every_variable_of_the_table() -> None:
    for kind in LAUNCHERS:
        for name in {*kind.markers, *(n for names in kind.variables.values() for n in names)}:
            assert redact.matters(name), name


def test_a_slip_of_the_pen_is_no_world_size() -> None:
    """Lists of ranks are as long as the world is large."""
    found = launch.detect({**PLAIN, "WORLD_SIZE": "2000000000"})
    assert found.world_size is None
    assert [bad.variable for bad in found.invalid] == ["WORLD_SIZE"]


def test_what_the_caller_gives_stands_above_the_variables() -> None:
    found = launch.detect({**PLAIN, "RANK": "8"})
    assert [bad.variable for bad in found.invalid] == ["RANK"]
    launch.override(found, rank=1, world_size=None)
    assert (found.rank, found.world_size, found.invalid) == (1, 8, [])
    launch.override(found, rank=None, world_size=0)
    assert [bad.variable for bad in found.invalid] == ["world_size="]
