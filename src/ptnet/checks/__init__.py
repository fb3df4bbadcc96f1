"""Checks judge a Job and collect nothing: each is a pure function `Job -> Iterator[Finding]` whose
docstring is its page (`ptnet explain ID`).

A check whose facts are missing is skipped with the reason, never passed; one that raises is a
crashed result, and the others go on.
"""

from __future__ import annotations

from ptnet.checks.registry import Check, ids, judge, page, title

__all__ = ["Check", "ids", "judge", "page", "title"]
