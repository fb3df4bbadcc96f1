"""The table of launchers: the variables that each sets, and those that mark it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Environ = Mapping[str, str]


@dataclass(frozen=True)
class Launcher:
    """One row of the table: the variables of a launcher, and how to know it."""

    name: str
    markers: tuple[str, ...]
    """It is this launcher when one of them is set."""
    variables: Mapping[str, tuple[str, ...]]
    """By field of Launch, the first that is set."""
    unit: str = "rank"


def _of(**variables: str) -> dict[str, tuple[str, ...]]:
    return {field: tuple(names.split()) for field, names in variables.items()}


TORCH = _of(
    rank="RANK",
    local_rank="LOCAL_RANK",
    world_size="WORLD_SIZE",
    local_world_size="LOCAL_WORLD_SIZE",
    node_rank="GROUP_RANK NODE_RANK",
    nnodes="GROUP_WORLD_SIZE",
)
NODES = _of(
    node_rank="RANK",
    nnodes="WORLD_SIZE PET_NNODES",
    local_world_size="PET_NPROC_PER_NODE NPROC_PER_NODE",
)
MPICH = _of(
    rank="PMI_RANK",
    local_rank="MPI_LOCALRANKID",
    world_size="PMI_SIZE",
    local_world_size="MPI_LOCALNRANKS",
)

# The first that left its mark. Those that start a process from inside another's allocation come
# first: SLURM_PROCID in a process of mpirun or jsrun counts their daemons, not the ranks.
LAUNCHERS = (
    Launcher("torchrun", ("TORCHELASTIC_RUN_ID",), TORCH),
    Launcher(
        "kubeflow-trainer",
        ("PET_NODE_RANK",),
        _of(node_rank="PET_NODE_RANK", nnodes="PET_NNODES", local_world_size="PET_NPROC_PER_NODE"),
        unit="node",
    ),
    Launcher(
        "sagemaker",
        ("SM_HOSTS",),
        _of(local_world_size="SM_NUM_GPUS"),
        unit="node",
    ),
    Launcher("deepspeed", ("CROSS_RANK", "CROSS_SIZE"), _of(
        rank="RANK",
        local_rank="LOCAL_RANK",
        world_size="WORLD_SIZE",
        local_world_size="LOCAL_SIZE",
        node_rank="CROSS_RANK",
        nnodes="CROSS_SIZE",
    )),
    Launcher("ray", ("RAY_JOB_ID", "RAY_RAYLET_PID"), TORCH),
    Launcher("lsf", ("JSM_NAMESPACE_RANK",), _of(
        rank="JSM_NAMESPACE_RANK",
        local_rank="JSM_NAMESPACE_LOCAL_RANK",
        world_size="JSM_NAMESPACE_SIZE",
    )),
    Launcher("openmpi", ("OMPI_COMM_WORLD_RANK",), _of(
        rank="OMPI_COMM_WORLD_RANK",
        local_rank="OMPI_COMM_WORLD_LOCAL_RANK",
        world_size="OMPI_COMM_WORLD_SIZE",
        local_world_size="OMPI_COMM_WORLD_LOCAL_SIZE",
    )),
    Launcher("mvapich2", ("MV2_COMM_WORLD_RANK",), _of(
        rank="MV2_COMM_WORLD_RANK",
        local_rank="MV2_COMM_WORLD_LOCAL_RANK",
        world_size="MV2_COMM_WORLD_SIZE",
        local_world_size="MV2_COMM_WORLD_LOCAL_SIZE",
    )),
    Launcher("mpich", ("MPI_LOCALRANKID",), MPICH),
    Launcher("slurm", ("SLURM_PROCID",), _of(
        rank="SLURM_PROCID",
        local_rank="SLURM_LOCALID",
        world_size="SLURM_STEP_NUM_TASKS SLURM_NTASKS",
        node_rank="SLURM_NODEID",
        nnodes="SLURM_STEP_NUM_NODES SLURM_NNODES",
    )),
    Launcher("mpich", ("PMI_RANK",), MPICH),
    Launcher(
        "pytorchjob",
        ("PYTORCHJOB_REPLICA_TYPE", "NPROC_PER_NODE", "PET_NPROC_PER_NODE", "PET_RDZV_ENDPOINT"),
        NODES,
        unit="node",
    ),
    Launcher("pmix", ("PMIX_RANK",), _of(rank="PMIX_RANK")),
    Launcher("variables", ("RANK", "WORLD_SIZE"), TORCH),
)  # fmt: skip
