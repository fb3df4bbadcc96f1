"""The repository as the meta tests read it."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "ptnet"
CSRC = ROOT / "csrc"


def tracked() -> list[Path]:
    """Every file of the repository that git knows or would add."""
    argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in sorted(set(names.split("\0"))) if (ROOT / name).is_file()]


def c_files(*suffixes: str) -> list[Path]:
    return sorted(path for path in CSRC.rglob("*") if path.suffix in (suffixes or (".c", ".h")))


def py_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


_C_TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""",
    re.DOTALL,
)


def c_code(text: str) -> str:
    """C without its comments and with empty texts; lines keep their numbers."""

    def blank(match: re.Match[str]) -> str:
        return match["text"][:1] * 2 if match["text"] else "\n" * match[0].count("\n") or " "

    return _C_TOKEN.sub(blank, text)


def c_includes(path: Path) -> Iterator[str]:
    for match in re.finditer(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), re.MULTILINE):
        yield match[1]


def c_functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and lines of each function body, by the braces in the first column."""
    start, name = 0, ""
    for number, line in enumerate(c_code(path.read_text()).splitlines(), 1):
        if match := re.match(r"[A-Za-z_].*?\b(\w+)\(", line):
            name = match[1]
        if line == "{":
            start = number
        elif line == "}" and start:
            yield name, number - start + 1
            start = 0


def module_name(path: Path) -> str:
    """`ptnet.checks.ports` for src/ptnet/checks/ports.py."""
    parts = list(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class _Imports(ast.NodeVisitor):
    """What a module imports when it runs, also inside functions; not what only types need."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.at_top: set[str] = set()
        self.inside: set[str] = set()
        self._depth = 0

    def _add(self, name: str) -> None:
        (self.inside if self._depth else self.at_top).add(name)

    def visit_If(self, node: ast.If) -> None:
        test = ast.unparse(node.test)
        if test.startswith("__name__"):
            self.visit_FunctionDef(node)
        elif "TYPE_CHECKING" not in test:
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.stmt) -> None:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            parents = self.package.split(".")
            base = ".".join(parents[: len(parents) - node.level + 1] + ([base] if base else []))
        for alias in node.names:
            self._add(f"{base}.{alias.name}" if is_module(f"{base}.{alias.name}") else base)


def is_module(name: str) -> bool:
    """Is it a module or package of src/ptnet, or the C module."""
    path = PACKAGE.parent.joinpath(*name.split("."))
    return name == "ptnet._core" or path.with_suffix(".py").exists() or path.is_dir()


def imports(path: Path) -> _Imports:
    name = module_name(path)
    found = _Imports(name if path.name == "__init__.py" else name.rpartition(".")[0])
    found.visit(ast.parse(path.read_text()))
    return found
