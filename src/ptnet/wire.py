"""What stands on a board: cards and snapshots, packed, and the verdict. It comes from outside and
may be anything."""

from __future__ import annotations

import json
import zlib

from ptnet import codec
from ptnet.board import BoardLost
from ptnet.errors import UsageError
from ptnet.model import Launch, RankCard, Report, Snapshot

MAX_BYTES = 16 << 20
"""Of one card or snapshot, unpacked."""


def read_card(n: int, packed: bytes, snapshot: bytes | None) -> tuple[RankCard, Snapshot | None]:
    """What participant n put there. One whose card cannot be read takes no part: all learn it."""
    try:
        card = codec.load(RankCard, unpack(packed))
        return card, codec.load(Snapshot, unpack(snapshot)) if snapshot else None
    except (BoardLost, UsageError) as error:
        why = f"its card cannot be read: {error}; is the same ptnet on all nodes?"
        return RankCard(f"participant {n}", 0, Launch("none"), left=why), None


def read_report(value: bytes) -> Report:
    """A verdict from the board."""
    try:
        report = codec.load(Report, json.loads(value))
        if report.verdict not in ("pass", "fail", "unknown"):
            raise UsageError(f"$.verdict: found {report.verdict!r}")
    except (ValueError, RecursionError) as error:
        raise BoardLost(
            f"the verdict on the board cannot be read: {error}; is the same ptnet on all nodes?"
        ) from error
    return report


def pack(data: object) -> bytes:
    return zlib.compress(json.dumps(data).encode(), 1)


def unpack(value: bytes) -> object:
    """What stands on a board comes from outside: it may be anything."""
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(value, MAX_BYTES)
        if unpacker.unconsumed_tail:
            raise BoardLost(f"it is larger than {MAX_BYTES} bytes")
        return json.loads(data)
    except (zlib.error, ValueError, RecursionError) as error:
        raise BoardLost(str(error)) from error
