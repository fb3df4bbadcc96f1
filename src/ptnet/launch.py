"""Which launcher started this process, and what it said: rank, world size, master.

torch reads RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT only, so where these are set
they decide; a launcher's own variables fill what is absent and are compared with them. Conflicts
and values that cannot be used are facts in the result, never an exception.

Sources: torch/distributed/elastic/agent/server/local_elastic_agent.py; srun(1); the manuals of Open
MPI, MPICH, MVAPICH2, LSF; the operators of Kubeflow; SageMaker's training toolkit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ptnet import nodelist
from ptnet.errors import UsageError
from ptnet.model import Conflict, InvalidValue, Launch

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
NODES = _of(node_rank="RANK", nnodes="WORLD_SIZE", local_world_size="NPROC_PER_NODE")

LAUNCHERS = (
    Launcher("torchrun", ("TORCHELASTIC_RUN_ID",), TORCH),
    Launcher(
        "kubeflow-trainer",
        ("PET_NNODES",),
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
    Launcher("slurm", ("SLURM_PROCID",), _of(
        rank="SLURM_PROCID",
        local_rank="SLURM_LOCALID",
        world_size="SLURM_STEP_NUM_TASKS SLURM_NTASKS",
        node_rank="SLURM_NODEID",
        nnodes="SLURM_STEP_NUM_NODES SLURM_NNODES",
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
    Launcher("lsf", ("JSM_NAMESPACE_RANK",), _of(
        rank="JSM_NAMESPACE_RANK",
        local_rank="JSM_NAMESPACE_LOCAL_RANK",
        world_size="JSM_NAMESPACE_SIZE",
    )),
    Launcher("mpich", ("PMI_RANK",), _of(
        rank="PMI_RANK",
        local_rank="MPI_LOCALRANKID",
        world_size="PMI_SIZE",
        local_world_size="MPI_LOCALNRANKS",
    )),
    Launcher("pytorchjob", ("PYTORCHJOB_REPLICA_TYPE", "NPROC_PER_NODE", "PET_RDZV_ENDPOINT"),
             NODES, unit="node"),
    Launcher("pmix", ("PMIX_RANK",), _of(rank="PMIX_RANK")),
    Launcher("variables", ("RANK", "WORLD_SIZE"), TORCH),
)  # fmt: skip

INTERACTIVE_SLURM = ("bash", "interactive", "zsh", "sh")


def detect(environ: Environ) -> Launch:
    """What the launcher told this process, from its variables. Never raises."""
    kind = _launcher(environ)
    if kind is None:
        launch = Launch("none")
    else:
        launch = Launch(kind.name, unit=kind.unit)
        if kind.unit == "rank":
            _read(launch, environ, TORCH)
        _read(launch, environ, kind.variables)
        SPECIAL.get(kind.name, _nothing)(launch, environ)
    _read_master(launch, environ)
    _derive_nodes(launch)
    _check_ranges(launch)
    return launch


def _launcher(environ: Environ) -> Launcher | None:
    for kind in LAUNCHERS:
        if not any(environ.get(marker) for marker in kind.markers):
            continue
        if kind.name in ("pytorchjob", "kubeflow-trainer", "sagemaker") and "LOCAL_RANK" in environ:
            continue  # a rank that something started inside of it
        if kind.name == "slurm" and environ.get("SLURM_JOB_NAME") in INTERACTIVE_SLURM:
            continue  # a shell of salloc: its process 0 of 1 is the shell itself
        if kind.name in ("ray", "deepspeed") and "RANK" not in environ:
            continue
        return kind
    return None


def _read(launch: Launch, environ: Environ, variables: Mapping[str, tuple[str, ...]]) -> None:
    for field, names in variables.items():
        name = next((n for n in names if environ.get(n)), None)
        if name is None:
            continue
        value = _number(launch, name, environ[name])
        if value is None:
            continue
        before = getattr(launch, field)
        if before is None:
            setattr(launch, field, value)
            launch.sources[field] = name
        elif before != value:
            source = launch.sources[field]
            values = {source: environ[source], name: environ[name]}
            launch.conflicts.append(Conflict(field, values))


def _number(launch: Launch, name: str, text: str) -> int | None:
    """int() as torch does: blanks and a carriage return around it are forgiven."""
    expected = "a number from 0 on"
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0 or value > 2**31:
        if name not in (bad.variable for bad in launch.invalid):
            launch.invalid.append(InvalidValue(name, text, expected))
        return None
    return value


def _read_master(launch: Launch, environ: Environ) -> None:
    names = ("MASTER_ADDR", "MASTER_PORT")
    if launch.launcher == "kubeflow-trainer":
        names = ("PET_MASTER_ADDR", "PET_MASTER_PORT")
    address, port = environ.get(names[0]), environ.get(names[1])
    if address:
        launch.master_addr = address
        launch.sources["master_addr"] = names[0]
        if any(c.isspace() or c in "\"'[]/" for c in address):
            expected = "a host name or an address, without blanks, quotes or brackets"
            launch.invalid.append(InvalidValue(names[0], address, expected))
    if port:
        try:
            number = int(port)
        except ValueError:
            number = -1
        if 1 <= number <= 65535:
            launch.master_port = number
            launch.sources["master_port"] = names[1]
        else:
            launch.invalid.append(InvalidValue(names[1], port, "a port from 1 to 65535"))


def _derive_nodes(launch: Launch) -> None:
    world, local = launch.world_size, launch.local_world_size
    if launch.unit == "rank" and launch.nnodes is None and world and local and world % local == 0:
        launch.nnodes = world // local
        launch.sources["nnodes"] = "world size / local world size"


def _check_ranges(launch: Launch) -> None:
    for part, whole in (
        ("rank", "world_size"),
        ("local_rank", "local_world_size"),
        ("node_rank", "nnodes"),
    ):
        n, of = getattr(launch, part), getattr(launch, whole)
        if of == 0:
            source = launch.sources[whole]
            launch.invalid.append(InvalidValue(source, "0", "a number from 1 on"))
        elif n is not None and of is not None and n >= of:
            source = launch.sources.get(part, part)
            expected = f"a number below {of} ({launch.sources.get(whole, whole)})"
            launch.invalid.append(InvalidValue(source, str(n), expected))


def _nothing(launch: Launch, environ: Environ) -> None:
    pass


def _torchrun(launch: Launch, environ: Environ) -> None:
    launch.run_id = environ["TORCHELASTIC_RUN_ID"]
    count = environ.get("TORCHELASTIC_RESTART_COUNT")
    if count:
        launch.restart_count = _number(launch, "TORCHELASTIC_RESTART_COUNT", count) or 0
    launch.agent_store = environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


def _slurm(launch: Launch, environ: Environ) -> None:
    job, step = environ.get("SLURM_JOB_ID"), environ.get("SLURM_STEP_ID")
    if job:
        launch.run_id = f"slurm-{job}.{step or '0'}"
    tasks = environ.get("SLURM_STEP_TASKS_PER_NODE")
    if tasks and launch.local_world_size is None:
        try:
            counts = nodelist.tasks_per_node(tasks)
        except UsageError as error:
            name = "SLURM_STEP_TASKS_PER_NODE"
            launch.invalid.append(InvalidValue(name, tasks, str(error)))
            return
        node = launch.node_rank or 0
        if node < len(counts):
            launch.local_world_size = counts[node]
            launch.sources["local_world_size"] = "SLURM_STEP_TASKS_PER_NODE"


def _openmpi(launch: Launch, environ: Environ) -> None:
    if environ.get("OMPI_MCA_orte_default_hostfile", "").startswith("/etc/mpi/"):
        launch.launcher = "mpijob"
    _run_id(launch, environ, "OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE")


def _lsf(launch: Launch, environ: Environ) -> None:
    _run_id(launch, environ, "LSB_JOBID")


def _run_id(launch: Launch, environ: Environ, *names: str) -> None:
    launch.run_id = next((environ[n] for n in names if environ.get(n)), None)


def _sagemaker(launch: Launch, environ: Environ) -> None:
    """SM_HOSTS is a JSON list; this node's place in it is its rank."""
    try:
        hosts = json.loads(environ["SM_HOSTS"])
        launch.nnodes = len(hosts)
        launch.node_rank = hosts.index(environ.get("SM_CURRENT_HOST"))
    except (ValueError, AttributeError, TypeError):
        expected = "a JSON list of host names that has SM_CURRENT_HOST"
        launch.invalid.append(InvalidValue("SM_HOSTS", environ["SM_HOSTS"], expected))
        return
    launch.sources.update(nnodes="SM_HOSTS", node_rank="SM_HOSTS")


SPECIAL: dict[str, Callable[[Launch, Environ], None]] = {
    "torchrun": _torchrun,
    "slurm": _slurm,
    "openmpi": _openmpi,
    "lsf": _lsf,
    "sagemaker": _sagemaker,
}
