"""Does a call leave something behind: heap, Python objects, file descriptors, threads."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

CALLS = 40
ROUNDS = 10
_libc = ctypes.CDLL(None)


class _Mallinfo2(ctypes.Structure):
    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = tuple((name, ctypes.c_size_t) for name in _names.split())


_libc.mallinfo2.restype = _Mallinfo2


@dataclass
class Held:
    """What the process holds."""

    heap_bytes: int
    objects: int
    files: int
    threads: int

    def minus(self, other: Held) -> Held:
        return Held(*(getattr(self, f) - getattr(other, f) for f in self.__dataclass_fields__))


def held() -> Held:
    gc.collect()
    info = _libc.mallinfo2()
    return Held(
        info.uordblks + info.hblkhd,
        sys.getallocatedblocks(),
        len(os.listdir("/proc/self/fd")),
        len(os.listdir("/proc/self/task")),
    )


def leaks(call: Callable[[], object]) -> dict[str, int]:
    """What grows, per CALLS calls. A leak grows in every round, a cache or a late thread does not:
    the least growth of several rounds is compared with half of the least possible leak."""
    for _ in range(CALLS // 2):
        call()
    growth = []
    for _ in range(ROUNDS):
        before = held()
        for _ in range(CALLS):
            call()
        growth.append(held().minus(before))
    smallest_leak = {"heap_bytes": 24, "objects": 1, "files": 1, "threads": 1}
    least = {field: min(getattr(g, field) for g in growth) for field in smallest_leak}
    return {f: n for f, n in least.items() if n >= CALLS * smallest_leak[f] / 2}
