"""Sysctls, limits, the place and the files of names."""

from __future__ import annotations

import json
import os
import platform
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from netns import environment, netns

from ptnet import _core
from ptnet.errors import SystemCallError, UsageError

KEYS = [
    "net.core.somaxconn",
    "net.ipv4.tcp_rmem",
    "kernel.hostname",
    "net.ipv4.ip_local_reserved_ports",
]


def test_values_equal_sysctl() -> None:
    shown = [subprocess.check_output(["sysctl", "-n", k], text=True).rstrip("\n") for k in KEYS]
    rows = _core.sysctl(KEYS)
    assert [r["key"] for r in rows] == KEYS
    assert [r["value"] for r in rows] == shown
    assert [r["type"] for r in rows] == ["int", "ints", "text", "text"]


def test_an_absent_key_has_its_errno() -> None:
    absent, there = _core.sysctl(["net.no.such", "net/core/somaxconn"])
    assert (absent["value"], absent["errno"], absent["writable"]) == (None, 2, None)
    assert there["value"]


def test_a_link_name_with_a_dot_is_written_with_a_slash() -> None:
    with netns() as space:
        space.ip("link add v.1 type veth peer name v2")
        rows = space.python(
            "core.sysctl(['net.ipv4.conf.v/1.rp_filter', 'net/ipv4/conf/v.1/rp_filter'])"
        )
    assert [r["errno"] for r in rows] == [None, None]


def test_scope_and_writability_in_a_namespace() -> None:
    keys = ["net.ipv4.tcp_rmem", "net.core.rmem_max", "net.ipv4.tcp_mem", "kernel.numa_balancing"]
    with netns() as space:
        rows = space.python(f"core.sysctl({keys})")
        low = space.python(f"core.sysctl({keys[:1]})", prelude="import os; os.setuid(65534)")
    assert [r["scope"] for r in rows] == ["namespace", "host", "unknown", "host"]
    assert rows[0]["writable"] is True
    assert rows[1]["writable"] is not True
    assert low[0]["writable"] is False


def test_a_counter_that_is_only_read_is_not_called_the_hosts() -> None:
    """nf_conntrack_count is read-only everywhere, yet each namespace has its own."""
    with netns() as space:
        space.run(
            "nft", "add table inet t; add chain inet t c { type filter hook input priority 0; }"
        )
        space.run("nft", "add rule inet t c ct state new accept")
        (row,) = space.python("core.sysctl(['net.netfilter.nf_conntrack_count'])")
    assert (row["type"], row["writable"], row["scope"]) == ("int", False, "unknown")


def test_a_long_value_is_whole() -> None:
    ports = ",".join(str(port) for port in range(20001, 40000, 2))
    with netns() as space:
        (row,) = space.python(
            "core.sysctl(['net.ipv4.ip_local_reserved_ports'])",
            prelude="import pathlib; pathlib.Path("
            f"'/proc/sys/net/ipv4/ip_local_reserved_ports').write_text('{ports}')",
        )
    assert row["value"] == ports
    assert len(ports) > 50_000


def test_a_zero_byte_ends_no_key() -> None:
    with pytest.raises(UsageError, match="zero byte"):
        _core.sysctl(["net.core.somaxconn\0x"])


@pytest.mark.parametrize("key", ["", "..", "a..b", "/net/core", "net/../../etc/passwd", "x" * 300])
def test_a_text_that_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(UsageError, match="sysctl key"):
        _core.sysctl([key])


def test_limits_equal_resource() -> None:
    code = "core.limits()"
    prelude = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (111, 222)); "
        "resource.setrlimit(resource.RLIMIT_MEMLOCK, (4096, 8192))"
    )
    with netns() as space:
        limits = space.python(code, prelude=prelude)
    assert (limits["nofile_soft"], limits["nofile_hard"]) == (111, 222)
    assert (limits["memlock_soft_bytes"], limits["memlock_hard_bytes"]) == (4096, 8192)
    shm = os.statvfs("/dev/shm")
    assert limits["shm_size_bytes"] == shm.f_blocks * shm.f_frsize
    assert _core.limits()["nofile_soft"] == resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def limits_with_shm(options: str, prelude: str = "") -> dict[str, object]:
    """The limits where /dev/shm is a private mount."""
    mount = f"mount -t tmpfs -o {options} shm /dev/shm && touch /dev/shm/nccl-a /dev/shm/sem.b"
    code = f"import json, os; from ptnet import _core as core; {prelude}\n"
    code += "print(json.dumps(core.limits()))"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f'{mount} && exec "$0" -c "$1"', sys.executable, code],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_shared_memory() -> None:
    limits = limits_with_shm("size=1m")
    assert limits["shm_size_bytes"] == 1 << 20
    assert (limits["shm_error"], limits["shm_nccl_files"]) == (None, 1)
    denied = limits_with_shm("size=1m,mode=0755", "os.setuid(65534)")
    assert (denied["shm_error"], denied["shm_nccl_files"]) == ("EACCES", 1)


def test_the_place_is_this_process() -> None:
    place = _core.place()
    assert place["kernel"] == platform.release()
    assert place["machine"] == platform.machine()
    assert place["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert place["cpus"] == len(os.sched_getaffinity(0))
    assert place["uid"] == os.geteuid()
    for name, inode in place["namespaces"].items():
        assert os.readlink(f"/proc/self/ns/{name}") == f"{name}:[{inode}]"
    assert len(place["namespaces"]) >= 7
    assert place["ipv6"] is socket.has_ipv6
    release = dict(
        line.split("=", 1)
        for line in Path("/etc/os-release").read_text().splitlines()
        if "=" in line
    )
    assert place["os_id"] == release["ID"].strip('"')


def test_capabilities_are_the_effective_ones() -> None:
    with netns() as space:
        low = space.python("core.place()", prelude="import os; os.setuid(65534)")
    assert (low["cap_net_admin"], low["cap_net_raw"], low["cap_net_bind"]) == (False, False, False)
    assert low["uid"] == 65534
    assert _core.place()["cap_net_admin"] is True


@pytest.mark.parametrize(
    ("files", "fields"),
    [
        ({}, {"container": None, "kubernetes": False, "wsl": None, "vm": None, "signs": []}),
        ({".dockerenv": ""}, {"container": "docker", "signs": ["/.dockerenv exists"]}),
        ({"run/.containerenv": ""}, {"container": "podman"}),
        (
            {"proc/1/cgroup": "0::/kubepods/besteffort/pod1\n"},
            {"container": "kubernetes", "kubernetes": True},
        ),
        ({".dockerenv": "", "run/secrets/kubernetes.io/x": ""}, {"container": "kubernetes"}),
        (
            {"proc/self/environ": "A=1\0KUBERNETES_SERVICE_HOST=10.0.0.1\0"},
            {"container": "kubernetes", "kubernetes": True},
        ),
        ({"proc/self/environ": "A=1\0APPTAINER_CONTAINER=/x.sif\0"}, {"container": "apptainer"}),
        ({"run/systemd/container": "lxc\n"}, {"container": "lxc"}),
        ({"run/systemd/container": "other\n"}, {"container": "unknown"}),
        ({"proc/version": "Linux version 5.15 microsoft-standard-WSL2\n"}, {"wsl": 2}),
        ({"proc/version": "Linux version 4.4.0-19041-Microsoft\n"}, {"wsl": 1}),
        ({"sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n"}, {"vm": None}),
        ({"sys/class/dmi/id/product_name": "Virtual Machine\n"}, {"vm": "microsoft"}),
        ({"sys/class/dmi/id/sys_vendor": "QEMU\n"}, {"vm": "qemu"}),
        ({"sys/class/dmi/id/product_name": "Google Compute Engine\n"}, {"vm": "google"}),
        ({"etc/os-release": 'ID="centos"\nVERSION_ID=7\n'}, {"os_id": "centos", "os_version": "7"}),
        ({"usr/lib/os-release": "ID=fedora\n"}, {"os_id": "fedora"}),
        ({"dev/null": ""}, {"gpus": 0}),
        ({"dev/nvidia0": "", "dev/nvidia11": "", "dev/nvidiactl": ""}, {"gpus": 2}),
        ({"dev/kfd": "", "dev/dri/renderD128": "", "dev/dri/card0": ""}, {"gpus": 1}),
        ({"dev/dri/renderD128": ""}, {"gpus": 0}),
        ({"dev/dxg": ""}, {"gpus": None}),
        (
            {"sys/fs/selinux/enforce": "1", "proc/self/attr/current": "u:r:container_t:s0\0"},
            {"selinux": "enforcing", "selinux_label": "u:r:container_t:s0"},
        ),
        ({"sys/fs/selinux/enforce": "0"}, {"selinux": "permissive", "selinux_label": None}),
        (
            {"proc/self/attr/current": "docker-default (enforce)\n"},
            {"selinux": None, "selinux_label": None},
        ),
    ],
)
def test_signs_of_a_place(files: dict[str, str], fields: dict[str, object], tmp_path: Path) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    place = _core.place(str(tmp_path))
    assert {field: place[field] for field in fields} == fields


def test_rdma_devices(tmp_path: Path) -> None:
    for name, uverbs in (("mlx5_1", "uverbs1"), ("mlx5_0", "uverbs0"), ("rxe0", None)):
        folder = tmp_path / "sys/class/infiniband" / name / "device/infiniband_verbs"
        folder.mkdir(parents=True)
        if uverbs:
            (folder / uverbs).mkdir()
    (tmp_path / "dev/infiniband").mkdir(parents=True)
    (tmp_path / "dev/infiniband/uverbs0").touch()
    zero, one, rxe = _core.rdma(str(tmp_path))
    assert zero == {"name": "mlx5_0", "uverbs": "/dev/infiniband/uverbs0", "error": None}
    assert one == {"name": "mlx5_1", "uverbs": "/dev/infiniband/uverbs1", "error": "ENOENT"}
    assert rxe == {"name": "rxe0", "uverbs": None, "error": "ENOENT"}
    assert _core.rdma() == [] or Path("/sys/class/infiniband").is_dir()


def test_the_files_of_names(tmp_path: Path) -> None:
    etc = tmp_path / "etc"
    etc.mkdir()
    (etc / "hosts").write_text("# all\n127.0.0.1\tlocalhost lo # own\n\n127.0.1.1  vm\r\nbroken\n")
    (etc / "resolv.conf").write_text(
        "; x\nsearch old\nnameserver 10.0.0.1\nnameserver fd00::1\nsearch a.b c\n"
        "options ndots:2 rotate\n"
    )
    (etc / "nsswitch.conf").write_text("passwd: files\nhosts:  files dns [NOTFOUND=return]\n")
    files = _core.name_files(str(tmp_path))
    assert files == {
        "hosts": [
            {"address": "127.0.0.1", "names": ["localhost", "lo"], "line": 2},
            {"address": "127.0.1.1", "names": ["vm"], "line": 4},
            {"address": "broken", "names": [], "line": 5},
        ],
        "nameservers": ["10.0.0.1", "fd00::1"],
        "search": ["a.b", "c"],
        "resolv_options": ["ndots:2", "rotate"],
        "nsswitch_hosts": ["files", "dns", "[NOTFOUND=return]"],
        "gaps": [],
    }


def test_resolv_and_nsswitch_are_read_as_glibc_does(tmp_path: Path) -> None:
    etc = tmp_path / "etc"
    etc.mkdir()
    (etc / "hosts").write_text("")
    (etc / "resolv.conf").write_text(
        " nameserver 10.0.0.1\nnameserver 10.0.0.2 10.0.0.3\nsearch a b\ndomain c d\n"
    )
    (etc / "nsswitch.conf").write_text("  hosts:files dns # both\n")
    files = _core.name_files(str(tmp_path))
    assert files["nameservers"] == ["10.0.0.2"]
    assert files["search"] == ["c"]
    assert files["nsswitch_hosts"] == ["files", "dns"]


def test_files_that_are_not_there_are_gaps(tmp_path: Path) -> None:
    gaps = _core.name_files(str(tmp_path))["gaps"]
    assert [g["fact"] for g in gaps] == ["/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf"]
    assert {g["reason"] for g in gaps} == {"No such file or directory"}


def test_a_root_that_is_not_there_is_an_error() -> None:
    with pytest.raises(SystemCallError, match="/no/such/root"):
        _core.place("/no/such/root")
