"""`ptnet snapshot` where little may be read: complete, or with its reasons; never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import jsonschema
import pytest
from netns import environment

from ptnet import checks, codec, json_schema
from ptnet.commands.join import join
from ptnet.model import Snapshot

SNAPSHOT = (sys.executable, "-m", "ptnet", "snapshot")
WHOLE = {"place", "limits", "names", "links", "port_ranges", "sysctls", "socket_counts"}
IN_MOUNTS = ("unshare", "-m", "sh", "-c")
PLACES = {
    "here": (),
    "unprivileged": ("setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set", "-all"),
    "fresh network namespace": ("unshare", "-n"),
    "read-only /proc/sys": (
        *("unshare", "-Ur", "-m", "-p", "-f", "sh", "-c"),
        "mount -t proc proc /proc && mount --bind /proc/sys /proc/sys && "
        'mount -o remount,bind,ro /proc/sys && exec "$@"',
        "sh",
    ),
    "no /sys": (*IN_MOUNTS, 'mount -t tmpfs none /sys && exec "$@"', "sh"),
    "no /dev/shm": (*IN_MOUNTS, 'mount -t tmpfs none /dev && exec "$@"', "sh"),
    "no /etc": (*IN_MOUNTS, 'mount -t tmpfs none /etc && exec "$@"', "sh"),
    "no /proc": (*IN_MOUNTS, 'mount -t tmpfs none /proc && exec "$@"', "sh"),
}
"""Words before ptnet; `unshare -n` alone leaves /sys that of the namespace outside."""
SEEN = {
    "unprivileged": ("place", "uid", 65534),
    "read-only /proc/sys": ("place", "proc_sys_readonly", True),
    "no /dev/shm": ("limits", "shm_error", "ENOENT"),
    "no /etc": ("names", "hosts", []),
    "no /proc": ("place", "boot_id", None),
}
"""What shows that the place is what it is called."""


def taken(front: tuple[str, ...]) -> dict[str, Any]:
    done = subprocess.run(
        [*front, *SNAPSHOT], capture_output=True, text=True, timeout=60, env=environment()
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", PLACES)
def test_a_snapshot_is_complete_or_says_why(name: str) -> None:
    data = taken(PLACES[name])
    jsonschema.validate(data, json.loads(json_schema.text(Snapshot)))
    reasons = {gap["fact"].split(".")[0]: gap["reason"] for gap in data["gaps"]}
    for part in WHOLE:
        assert data.get(part) or reasons.get(part), f"{part} is absent without a reason"
    assert all(reasons.values())
    if name in SEEN:
        part, fact, value = SEEN[name]
        assert data[part][fact] == value
    if name == "fresh network namespace":
        assert [link["name"] for link in data["links"]] == ["lo"]
    assert not checks.judge(join([codec.load(Snapshot, data)])).crashed
