"""With PTNET_NO_SKIP=1 a skipped test below tests/core, tests/net and tests/dist has failed."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
NEVER_SKIPPED = {"core", "net", "dist"}


def _fail_if_skipped(path: Path, report: pytest.TestReport | pytest.CollectReport) -> None:
    if os.environ.get("PTNET_NO_SKIP", "0") in ("", "0"):
        return
    if not report.skipped or hasattr(report, "wasxfail") or not path.is_relative_to(TESTS):
        return
    if path.relative_to(TESTS).parts[0] in NEVER_SKIPPED:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped, which PTNET_NO_SKIP=1 forbids here: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_if_skipped(item.path, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_if_skipped(collector.path, report)
    return report
