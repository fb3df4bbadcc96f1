"""What holds for the repository as a whole."""

from __future__ import annotations

import re

from meta.source import ROOT, relative, tracked

HOSTS = re.compile(
    r"pypi\.org|pythonhosted\.org|pypi\.python\.org|test\.pypi|deb\.debian\.org|archive\.ubuntu\.com"
    r"|mirror\.centos\.org|dl\.fedoraproject\.org|download\.pytorch\.org|anaconda\.org|quay\.io"
)
PLACES = re.compile(
    r"(?<![\w.$}/-])/(?:work|root|home/[a-z]\w*|tmp/(?:wt|venv)|opt/(?:pypi|wheels))(?=[/\s\"']|$)"
)
ALLOWED = {
    "tests/meta/test_repository.py",
    "LICENSE",
}


def test_no_registry_and_no_place_of_a_machine() -> None:
    found = []
    for path in tracked():
        if relative(path) in ALLOWED:
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if HOSTS.search(line) or PLACES.search(line):
                found.append(f"{relative(path)}:{number}: {line.strip()[:100]}")
    assert not found


def version() -> str:
    text = (ROOT / "src" / "ptnet" / "version.py").read_text()
    match = re.search(r'^VERSION = "(.+)"$', text, re.MULTILINE)
    assert match
    return match[1]


def test_changelog_knows_the_version() -> None:
    heads = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heads[0] == version()


def verbs() -> set[str]:
    text = (ROOT / "Makefile").read_text()
    return set(re.findall(r"^([a-z]+):.*## ", text, re.MULTILINE))


def test_documented_verbs_exist() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "csrc/README.md", ".ci/run"):
        used = set(re.findall(r"\bmake ([a-z]+)\b", "\n".join(_code(name))))
        assert used <= verbs(), name


def _code(name: str) -> list[str]:
    """Code of a Markdown page, or the whole of a script."""
    text = (ROOT / name).read_text()
    if not name.endswith(".md"):
        return [text]
    return re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL)


def test_every_verb_is_phony_and_explained() -> None:
    text = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony
    assert set(phony[1].split()) == verbs()
    assert len(text.splitlines()) <= 150


def test_readme_begins_with_the_first_command() -> None:
    blocks = re.findall(r"```\w*\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks[0].split("\n")[0].startswith("make preflight")
