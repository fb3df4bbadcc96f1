"""The pages say what the sources do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptnet.cli import VERBS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PATH = re.compile(r'"/?((?:proc|sys|etc|dev|run|var|usr|\.[a-z]+)(?:/[\w.%/-]*)?)"')
OF_FIXES = ("/etc/hosts.bak", "/etc/security/")
"""Files that only a proposed fix names."""
OF_VARIABLES = ("/etc/mpi",)
"""Text that is looked for in the value of a variable."""


def paths_in_sources() -> set[str]:
    """Every path of the system in a string of C or Python."""
    files = [*(ROOT / "csrc").rglob("*.[ch]"), *(ROOT / "src" / "ptnet").glob("*.py")]
    found: set[str] = set()
    for file in files:
        for line in file.read_text().splitlines():
            if not line.startswith("#include"):
                found |= {f"/{m[1]}" for m in PATH.finditer(line)}
    cut = {path.partition("%")[0].rstrip("/.") for path in found}
    return {p for p in cut if not p.startswith((*OF_FIXES, *OF_VARIABLES))}


def test_every_path_that_is_read_stands_on_the_page() -> None:
    page = (DOCS / "reads-sends-changes.md").read_text()
    paths = paths_in_sources()
    assert {"/etc/hosts", "/proc/1/cgroup", "/.dockerenv", "/sys/class/infiniband"} <= paths
    assert [path for path in sorted(paths) if path not in page] == []


def test_every_verb_has_its_door() -> None:
    page = (DOCS / "doors" / "command-line.md").read_text()
    named = {verb for verb in VERBS if re.search(rf"`(?:ptnet )?{verb}[ `]", page)}
    assert named == set(VERBS)


@pytest.mark.parametrize("page", [*DOCS.rglob("*.md"), ROOT / "README.md"], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target
