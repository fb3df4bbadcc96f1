"""Limits of the process and of its container."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ptnet.checks._facts import host, placed, several_nodes
from ptnet.checks._words import listed, plural
from ptnet.checks.registry import check
from ptnet.model import Evidence, Finding, Fix, Job, RankCard, Snapshot

MIB = 1 << 20
SHM_ERROR_BYTES = 8 * MIB
"""Less than one segment of NCCL, or a batch of small images."""
SHM_WARNING_BYTES = 512 * MIB
MEMLOCK_BYTES = 64 * MIB
FILES_BESIDE_GLOO = 8
"""What a process has open with its first group, beside a socket for each rank (torch 2.13: 9, 10,
12 and 16 files with 1, 2, 4 and 8 ranks)."""
FILES_PER_RANK = 64
"""NCCL: channels, sockets and threads, with its defaults."""


def _firsts(job: Job) -> Iterator[tuple[RankCard, Snapshot]]:
    """One participant of each node."""
    seen = set()
    for card, snapshot in placed(job):
        if id(snapshot) not in seen:
            seen.add(id(snapshot))
            yield card, snapshot


def _ranks_by_host(job: Job) -> Counter[object]:
    return Counter(host(c) for c in job.cards if c.launch.unit == "rank")


def _world(card: RankCard) -> int:
    launch = card.launch
    nodes = (launch.nnodes or 1) * (launch.local_world_size or 1)
    return launch.world_size or nodes


def _finding(
    id: str, severity: str, message: str, snapshot: Snapshot, seen: Evidence, *fixes: Fix
) -> Finding:
    return Finding(id, severity, message, [snapshot.node], evidence=[seen], fixes=list(fixes))


@check("shm-small", title="The shared memory is too small", family="F10", needs=("limits",),
       early=True)  # fmt: skip
def shm_small(job: Job) -> Iterator[Finding]:
    """What it looks at
        The size of /dev/shm and what is free in it, and how many ranks share it.

    Why it matters for training
        NCCL between GPUs of one node and the workers of a DataLoader keep their data there: Docker
        and Kubernetes give a container 64 MiB. It ends with “unhandled system error”, “No space
        left on device”, or a bus error.

    Fix
        docker run --ipc=host or --shm-size=8g; in a pod an emptyDir with `medium: Memory` at
        /dev/shm.

    False alarms
        A note for a single rank, which may need none: a DataLoader without workers.

    Source
        docker-run(1), --shm-size; NCCL shm.cc; torch.utils.data. Seen with a DataLoader of two
        workers on 16 MiB.
    """
    here = _ranks_by_host(job)
    for card, snapshot in _firsts(job):
        limits = snapshot.limits
        if limits is None or limits.shm_free_bytes is None or limits.shm_error:
            continue
        free = limits.shm_free_bytes
        sharing = max(card.launch.local_world_size or 1, here[host(card)])
        if free >= SHM_WARNING_BYTES:
            continue
        severity = "warning" if sharing > 1 else "note"
        if free < SHM_ERROR_BYTES:
            severity = "error"
        yield _finding(
            "shm-small",
            severity,
            f"{snapshot.node}: {free // MIB} MiB are free in /dev/shm, for "
            f"{plural(sharing, 'rank')}: NCCL and DataLoader workers may not get what they need.",
            snapshot,
            Evidence("/dev/shm", f"{free // MIB} MiB free", "512 MiB or more", "statvfs"),
            Fix("start the container with --ipc=host or --shm-size=8g"),
            Fix(
                "or, on the host itself",
                ["mount", "-o", "remount,size=8g", "/dev/shm"],
                needs_root=True,
            ),
        )


@check("shm-leftover", title="Segments of NCCL are left in the shared memory", family="F10",
       severity="note", needs=("limits",), early=True)  # fmt: skip
def shm_leftover(job: Job) -> Iterator[Finding]:
    """What it looks at
        Files called nccl-* in /dev/shm before the job starts.

    Why it matters for training
        They belong to a job that runs beside this one, or to one that was killed and whose memory
        nobody gives back.

    Fix
        See whether a process maps them; remove those of jobs that have ended.

    False alarms
        Another job of this host.

    Source
        NCCL shm.cc (ncclShmOpen).
    """
    for snapshot in job.snapshots:
        count = snapshot.limits.shm_nccl_files if snapshot.limits else None
        if not count:
            continue
        yield _finding(
            "shm-leftover",
            "note",
            f"{snapshot.node}: {plural(count, 'file')} of NCCL in /dev/shm, of another job or left "
            "over.",
            snapshot,
            Evidence("/dev/shm/nccl-*", str(count), "0", "readdir"),
            Fix("see who uses them", ["lsof", "+D", "/dev/shm"]),
        )


@check("shm-denied", title="The shared memory may not be used", family="F10", needs=("limits",),
       early=True)  # fmt: skip
def shm_denied(job: Job) -> Iterator[Finding]:
    """What it looks at
        Whether this process may make files in /dev/shm, and SELinux's part in it.

    Why it matters for training
        NCCL between GPUs of one node and the workers of a DataLoader need it: they end with
        “Permission denied”.

    Fix
        Mode 1777 of the mount; a container type or label that has access; a /dev/shm where there is
        none.

    False alarms
        A single rank whose DataLoader has no workers needs none.

    Source
        access(2); shm_overview(7). Seen with a DataLoader of two workers.
    """
    for snapshot in job.snapshots:
        error = snapshot.limits.shm_error if snapshot.limits else None
        if not error:
            continue
        place = snapshot.place
        by = ""
        if place and place.selinux == "enforcing":
            by = f" (SELinux is enforcing; this process is {place.selinux_label or 'unlabelled'})"
        yield _finding(
            "shm-denied",
            "error",
            f"{snapshot.node}: no file can be made in /dev/shm: {error}{by}.",
            snapshot,
            Evidence("/dev/shm", error, "writable", "access"),
            Fix("see its mode and label", ["ls", "-ldZ", "/dev/shm"]),
        )


@check("memlock-low", title="RDMA may not lock the memory that it needs", family="F10",
       severity="warning", needs=("limits",), early=True)  # fmt: skip
def memlock_low(job: Job) -> Iterator[Finding]:
    """What it looks at
        RLIMIT_MEMLOCK of this process, where there is an InfiniBand or RoCE device.

    Why it matters for training
        Buffers that the network card writes to are locked in memory: “ibv_reg_mr … Cannot allocate
        memory”. A limit in a login shell says nothing of the one under sshd, Slurm or MPI.

    Fix
        memlock unlimited in limits.conf and in the unit of the launcher's service; docker run
        --ulimit memlock=-1.

    False alarms
        A job that uses sockets (NCCL_IB_DISABLE=1).

    Source
        getrlimit(2); ibv_reg_mr(3).
    """
    for snapshot in job.snapshots:
        soft = snapshot.limits.memlock_soft_bytes if snapshot.limits else None
        usable = [d.name for d in snapshot.rdma if d.error is None]
        if soft is None or not 0 <= soft < MEMLOCK_BYTES or not usable:
            continue
        if snapshot.env.get("NCCL_IB_DISABLE", "0") == "1":
            continue
        yield _finding(
            "memlock-low",
            "warning",
            f"{snapshot.node}: this process may lock {soft // 1024} KiB of memory, and "
            f"{listed(usable, 4)} will need much more.",
            snapshot,
            Evidence("RLIMIT_MEMLOCK", f"{soft // 1024} KiB", "unlimited", "getrlimit"),
            Fix("raise it in the shell that starts the ranks: ulimit -l unlimited"),
            Fix(
                "for good: “* - memlock unlimited”",
                file="/etc/security/limits.d/ptnet.conf",
                needs_root=True,
            ),
        )


@check("nofile-low", title="A process may not open enough files", family="F16", needs=("limits",),
       early=True)  # fmt: skip
def nofile_low(job: Job) -> Iterator[Finding]:
    """What it looks at
        RLIMIT_NOFILE of this process against the world size.

    Why it matters for training
        Each peer is a socket: one for each group of Gloo, several for each channel of NCCL. “Too
        many open files” comes at four nodes and never at one.

    Fix
        ulimit -n in the script that starts the ranks, up to the hard limit.

    False alarms
        NCCL needs less than 64 files a rank with few channels; it is an error only where Gloo's
        first group needs more than there are.

    Source
        getrlimit(2); NCCL bootstrap.cc. Files of a rank counted with torch 2.13 and Gloo at 1 to 8
        ranks.
    """
    per_rank = FILES_PER_RANK if several_nodes(job) else 0
    for card, snapshot in _firsts(job):
        limits, world = snapshot.limits, _world(card)
        soft, hard = (limits.nofile_soft, limits.nofile_hard) if limits else (None, None)
        if soft is None or soft < 0:
            continue
        least = world + FILES_BESIDE_GLOO
        wanted = max(least, per_rank * world)
        if soft >= wanted:
            continue
        top = wanted if hard is None or hard < 0 else min(hard, max(wanted, 65536))
        yield _finding(
            "nofile-low",
            "error" if soft < least else "warning",
            f"{snapshot.node}: a process may open {soft} files, and one of {world} ranks may need "
            f"{wanted}.",
            snapshot,
            Evidence("RLIMIT_NOFILE", str(soft), f"{wanted} or more", "getrlimit"),
            Fix(f"raise it in the shell that starts the ranks: ulimit -n {top}"),
        )
