"""Builds ptnet._core from every .c file below csrc/.

Switches, by environment: PTNET_WERROR=1, PTNET_SANITIZE=1 (ASan and UBSan), PTNET_COVERAGE=1.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel

ROOT = Path(__file__).parent
LIMITED_API = "0x030A0000"
LIBNL = ["libnl-3.0"]
MISSING_LIBNL = """
ptnet needs pkg-config and libnl 3 with its headers to build:
  Debian, Ubuntu:        apt-get install gcc pkg-config python3-dev libnl-3-dev
  RHEL, CentOS, Fedora:  dnf install gcc pkgconf-pkg-config python3-devel libnl3-devel
pkg-config said: {said}
"""


def pkg_config(*args: str) -> list[str]:
    tool = os.environ.get("PKG_CONFIG", "pkg-config")
    if not shutil.which(tool):
        sys.exit(MISSING_LIBNL.format(said=f"{tool}: command not found"))
    done = subprocess.run([tool, *args, *LIBNL], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(MISSING_LIBNL.format(said=done.stderr.strip()))
    return done.stdout.split()


def is_on(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


cflags = [
    "-std=gnu11",
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wstrict-prototypes",
    "-Wmissing-prototypes",
    "-Wvla",
    "-Wformat=2",
    "-fvisibility=hidden",
]
ldflags: list[str] = []
if is_on("PTNET_WERROR"):
    cflags.append("-Werror")
if is_on("PTNET_SANITIZE"):
    sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    cflags += [*sanitize, "-O1", "-g", "-fno-omit-frame-pointer"]
    ldflags += sanitize
else:
    cflags += ["-O2", "-D_FORTIFY_SOURCE=2", "-fstack-protector-strong"]
if is_on("PTNET_COVERAGE"):
    cflags += ["--coverage", "-O0"]
    ldflags.append("--coverage")


class abi3_wheel(bdist_wheel):
    """One wheel for every CPython from 3.10 on."""

    def finalize_options(self) -> None:
        self.py_limited_api = "cp310"
        super().finalize_options()


setup(
    ext_modules=[
        Extension(
            "ptnet._core",
            sources=sorted(str(p.relative_to(ROOT)) for p in (ROOT / "csrc").rglob("*.c")),
            depends=sorted(str(p.relative_to(ROOT)) for p in (ROOT / "csrc").rglob("*.h")),
            include_dirs=["csrc"],
            define_macros=[("_GNU_SOURCE", "1"), ("Py_LIMITED_API", LIMITED_API)],
            extra_compile_args=cflags + pkg_config("--cflags"),
            extra_link_args=ldflags + pkg_config("--libs"),
            py_limited_api=True,
        )
    ],
    cmdclass={"bdist_wheel": abi3_wheel},
)
