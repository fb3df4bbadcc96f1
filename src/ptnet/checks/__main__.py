"""`python -m ptnet.checks FOLDER` writes the page of every check, and an index, as Markdown."""

from __future__ import annotations

import sys
from pathlib import Path

from ptnet.checks import registry


def pages() -> dict[str, str]:
    """The files by name."""
    found = {}
    index = ["# Checks", "", "| id | problem | family | worst |", "| --- | --- | --- | --- |"]
    for id in registry.ids():
        check = registry.get(id)
        index.append(f"| [{id}]({id}.md) | {check.title} | {check.family} | {check.severity} |")
        found[f"{id}.md"] = f"# {id}\n\n{check.title}.\n\n{_markdown(check.page)}\n"
    return {"index.md": "\n".join(index) + "\n", **found}


def _markdown(page: str) -> str:
    lines = []
    for line in page.splitlines():
        heading = line in registry.HEADINGS
        lines += [f"## {line}", ""] if heading else [line.strip()]
    return "\n".join(lines)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)
