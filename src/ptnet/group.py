"""The pre-flight and torch's process group in one call."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from ptnet import dist
from ptnet.stages import require


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    *args: Any,
    wait_s: float | None = None,
    **kwargs: Any,
) -> None:
    """`ptnet.require()`, then `torch.distributed.init_process_group` with the same arguments.

    `wait_s` (seconds, default `PTNET_WAIT` or 300) is how long the ranks wait for each other before
    the pre-flight says who is missing. With an `init_method` other than `env://`, or with a
    `store`, the ranks meet where ptnet cannot know it: then only this host is checked.

    Raises PreflightError, with the same text on every rank, when the network will not carry the
    job.
    """
    store = args[0] if args else kwargs.get("store")
    elsewhere = store is not None or init_method not in (None, "env://")
    require(
        rank=rank if rank >= 0 else None,
        world_size=world_size if world_size > 0 else None,
        wait_s=wait_s,
        meet=not elsewhere,
    )
    dist.start_group(backend, init_method, timeout, world_size, rank, *args, **kwargs)
    dist.stop_serving()
