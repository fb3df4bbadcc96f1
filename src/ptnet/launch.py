"""Which launcher started this process, and what it said: rank, world size, master.

torch reads RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT only, so where these are set
they decide; a launcher's own variables fill what is absent and are compared with them. Conflicts
and values that cannot be used are facts in the result, never an exception.

Sources: torch/distributed/elastic/agent/server/local_elastic_agent.py; srun(1); the manuals of Open
MPI, MPICH, MVAPICH2, LSF; the operators of Kubeflow; SageMaker's training toolkit.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping

from ptnet import nodelist, redact
from ptnet.errors import UsageError
from ptnet.launchers import LAUNCHERS, TORCH, Environ, Launcher
from ptnet.model import Conflict, InvalidValue, Launch

MOST = 2**20
"""Of ranks, nodes and restarts; more is a slip."""
EXPECTED = f"a number from 0 to {MOST}"
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
    launch.local_addr = redact.text(environ.get("PET_LOCAL_ADDR", "")) or None
    launch.interactive = hasattr(sys, "ps1") or "IPython" in sys.modules
    _derive_nodes(launch)
    _check_ranges(launch)
    return launch


def override(launch: Launch, **given: int | None) -> None:
    """Numbers that the caller gives stand above the launcher's variables."""
    for field, value in given.items():
        if value is None:
            continue
        before = launch.sources.get(field)
        launch.invalid = [bad for bad in launch.invalid if bad.variable != before]
        source = launch.sources[field] = f"{field}="
        if 0 <= value <= MOST:
            setattr(launch, field, value)
        else:
            setattr(launch, field, None)
            launch.invalid.append(InvalidValue(source, str(value), EXPECTED))
    if any(value is not None for value in given.values()):
        _check_ranges(launch)


def _launcher(environ: Environ) -> Launcher | None:
    for kind in LAUNCHERS:
        if not any(environ.get(marker) for marker in kind.markers):
            continue
        if kind.unit == "node" and not _is_node(kind, environ):
            continue
        if kind.name == "slurm" and not _is_step(environ):
            continue
        if kind.name in ("ray", "deepspeed") and "RANK" not in environ:
            continue
        return kind
    return None


def _is_node(kind: Launcher, environ: Environ) -> bool:
    if "LOCAL_RANK" in environ:
        return False  # a rank that something started inside of it
    if kind.name == "pytorchjob":
        return bool(environ.get("RANK") or environ.get("PET_RDZV_ENDPOINT"))
    return kind.name != "kubeflow-trainer" or not environ.get("RANK")


def _is_step(environ: Environ) -> bool:
    """Is this a task of srun: no shell of salloc, and no batch script, which has the job's
    SLURM_NTASKS but is one process, with none of the step's variables."""
    if environ.get("SLURM_JOB_NAME") in INTERACTIVE_SLURM:
        return False
    return environ["SLURM_PROCID"] != "0" or any(n.startswith("SLURM_STEP") for n in environ)


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
            values = {n: redact.text(environ[n]) for n in (source, name)}
            launch.conflicts.append(Conflict(field, values))


def _number(launch: Launch, name: str, text: str) -> int | None:
    """int() as torch does: blanks and a carriage return around it are forgiven."""
    if name == "PET_NNODES" and ":" in text:
        return _range(launch, name, text)
    if name.endswith("NPROC_PER_NODE") and text.strip() in ("auto", "gpu", "cpu", "xpu"):
        return None
    try:
        value = int(text)
    except ValueError:
        value = -1
    if not 0 <= value <= MOST:
        if name not in (bad.variable for bad in launch.invalid):
            launch.invalid.append(InvalidValue(name, redact.text(text), EXPECTED))
        return None
    return value


def _range(launch: Launch, name: str, text: str) -> int | None:
    """MIN:MAX nodes of an elastic job."""
    least, _, most = text.partition(":")
    if not (least.isdecimal() and most.isdecimal() and 0 < int(least) <= int(most) <= MOST):
        launch.invalid.append(InvalidValue(name, redact.text(text), "a number of nodes or MIN:MAX"))
        return None
    launch.nnodes_max = int(most) if int(most) != int(least) else None
    return int(least)


def _read_master(launch: Launch, environ: Environ) -> None:
    names = ("MASTER_ADDR", "MASTER_PORT")
    if launch.launcher == "kubeflow-trainer":
        names = ("PET_MASTER_ADDR", "PET_MASTER_PORT")
    address, port = redact.text(environ.get(names[0], "")), environ.get(names[1])
    if address:
        launch.master_addr = address
        launch.sources["master_addr"] = names[0]
    if port:
        try:
            number = int(port)
        except ValueError:
            number = -1
        alone = launch.world_size == 1  # its store may have any free port
        if (0 if alone else 1) <= number <= 65535:
            launch.master_port = number
            launch.sources["master_port"] = names[1]
        else:
            expected = "a port from 1 to 65535"
            launch.invalid.append(InvalidValue(names[1], redact.text(port), expected))


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
            source = launch.sources.get(whole, whole)
            _refuse(launch, InvalidValue(source, "0", "a number from 1 on"))
        elif n is not None and of is not None and n >= of:
            source = launch.sources.get(part, part)
            expected = f"a number below {of} ({launch.sources.get(whole, whole)})"
            _refuse(launch, InvalidValue(source, str(n), expected))


def _refuse(launch: Launch, bad: InvalidValue) -> None:
    if bad not in launch.invalid:
        launch.invalid.append(bad)


def _nothing(launch: Launch, environ: Environ) -> None:
    pass


def _torchrun(launch: Launch, environ: Environ) -> None:
    _run_id(launch, environ, "TORCHELASTIC_RUN_ID")
    count = environ.get("TORCHELASTIC_RESTART_COUNT")
    if count:
        launch.restart_count = _number(launch, "TORCHELASTIC_RESTART_COUNT", count) or 0
    launch.agent_store = environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


def _slurm(launch: Launch, environ: Environ) -> None:
    job, step = environ.get("SLURM_JOB_ID"), environ.get("SLURM_STEP_ID")
    if job:
        launch.run_id = redact.text(f"slurm-{job}.{step or '0'}")
    tasks = environ.get("SLURM_STEP_TASKS_PER_NODE")
    if tasks and launch.local_world_size is None:
        try:
            counts = nodelist.tasks_per_node(tasks)
        except UsageError:
            name, expected = "SLURM_STEP_TASKS_PER_NODE", "counts of tasks such as 2(x3),1"
            launch.invalid.append(InvalidValue(name, redact.text(tasks), expected))
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
    launch.run_id = next((redact.text(environ[n]) for n in names if environ.get(n)), None)


def _sagemaker(launch: Launch, environ: Environ) -> None:
    """SM_HOSTS is a JSON list; this node's place in it is its rank."""
    try:
        hosts = json.loads(environ["SM_HOSTS"])
        own = hosts.index(environ.get("SM_CURRENT_HOST")) if isinstance(hosts, list) else -1
    except (ValueError, RecursionError):
        own = -1
    if own < 0:
        expected = "a JSON list of host names that has SM_CURRENT_HOST"
        value = redact.text(environ["SM_HOSTS"])
        launch.invalid.append(InvalidValue("SM_HOSTS", value, expected))
        return
    launch.nnodes, launch.node_rank = len(hosts), own
    launch.sources.update(nnodes="SM_HOSTS", node_rank="SM_HOSTS")


SPECIAL: dict[str, Callable[[Launch, Environ], None]] = {
    "torchrun": _torchrun,
    "slurm": _slurm,
    "openmpi": _openmpi,
    "lsf": _lsf,
    "sagemaker": _sagemaker,
}
