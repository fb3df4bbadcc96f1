"""A report as plain text: the verdict first, then each finding with what mends it.

The text is equal on all ranks: it holds nothing of the process that prints it. Names come from
other hosts and from files: what could steer a terminal is shown as `?`.
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator
from itertools import groupby

from ptnet.model import Finding, Fix, Report, Skipped
from ptnet.terminal import printable

WIDTH = 80
INDENT = "    "
ALIKE = 3
"""Findings of one check that are shown in full."""
VERDICTS = {"pass": "PASS", "fail": "FAIL", "unknown": "UNKNOWN"}


def render(report: Report, width: int = WIDTH) -> str:
    """The report in lines of at most `width` columns."""
    lines = _wrap(f"ptnet: {VERDICTS[report.verdict]}: {_summary(report)}", width, "  ")
    for _, same in groupby(report.findings, lambda f: (f.severity, f.id)):
        findings = list(same)
        for finding in findings[:ALIKE]:
            lines += ["", *_finding(finding, width)]
        lines += _rest(findings[ALIKE:], width)
    for crashed in report.crashed:
        lines += ["", *_wrap(f"crash  {crashed.check}: {crashed.reason}", width, INDENT)]
    if report.skipped:
        lines += ["", *_wrap(f"skipped: {'; '.join(_skipped(report.skipped))}", width, "  ")]
    return "\n".join(map(printable, lines))


def _rest(findings: list[Finding], width: int) -> list[str]:
    if not findings:
        return []
    nodes = list(dict.fromkeys(node for f in findings for node in f.nodes))
    where = f" on {', '.join(nodes[:8])}" if nodes else ""
    more = f" and {len(nodes) - 8} more" if len(nodes) > 8 else ""
    text = f"{INDENT}and {len(findings)} more like {'this' if len(findings) == 1 else 'these'}"
    return ["", *_wrap(text + where + more, width, INDENT)]


def _skipped(skipped: list[Skipped]) -> Iterator[str]:
    """By reason; long lists of checks are counted."""
    reasons: dict[str, list[str]] = {}
    for one in skipped:
        reasons.setdefault(one.reason, []).append(one.check)
    for reason, checks in reasons.items():
        names = ", ".join(checks) if len(checks) <= ALIKE else f"{len(checks)} checks"
        yield f"{names} ({reason})"


def _summary(report: Report) -> str:
    counts = {
        name: sum(f.severity == name for f in report.findings)
        for name in ("error", "warning", "note")
    }
    parts = [_count(n, name) for name, n in counts.items() if n]
    if report.crashed:
        parts.append(_count(len(report.crashed), "crashed check"))
    parts = parts or [f"{_count(len(report.passed), 'check')} found nothing"]
    return f"{', '.join(parts)} ({_nodes(report.nodes)})"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _nodes(nodes: list[str]) -> str:
    if len(nodes) > 4:
        return f"{len(nodes)} nodes"
    return ", ".join(nodes) or "this host"


def _finding(finding: Finding, width: int) -> list[str]:
    head = f"{finding.severity}  {finding.id}"
    if finding.nodes:
        head += f"  {_nodes(finding.nodes)}"
    lines = _wrap(head, width, INDENT)
    lines += _wrap(INDENT + finding.message, width, INDENT)
    for fix in finding.fixes:
        lines += _fix(fix, width)
    lines.append(f"{INDENT}more: ptnet explain {finding.id}")
    return lines


def _fix(fix: Fix, width: int) -> list[str]:
    lines = _wrap(f"{INDENT}fix:  {fix.text}", width, INDENT + "      ")
    if fix.command:
        root = "# " if fix.needs_root else "$ "
        lines.append(f"{INDENT}      {root}{shlex.join(fix.command)}")
    if fix.undo:
        lines.append(f"{INDENT}      undo: {shlex.join(fix.undo)}")
    return lines


def _wrap(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        subsequent_indent=indent,
        drop_whitespace=True,
        break_long_words=False,
        break_on_hyphens=False,
    )
