"""What ptnet raises.

    PtnetError
    ├── SystemCallError (OSError)          a question could not be asked; errno says why
    │   ├── PermissionDenied (PermissionError)
    │   ├── DeadlineExceeded (TimeoutError)
    │   └── Cancelled
    ├── InconsistentRead                   the kernel's tables kept changing while being read
    ├── LimitExceeded                      more items than ptnet reads
    ├── UsageError (ValueError)            an argument, option or file is unusable
    └── PreflightError                     the pre-flight found an error; carries the report

A bad answer (refused, timed out, no such host) is a result and never raised. The texts quote
arguments and files: secrets in them are masked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptnet.model import Report


class PtnetError(Exception):
    """Base of everything that ptnet raises on its own."""

    def __init__(self, *args: object) -> None:
        from ptnet import redact

        super().__init__(*(redact.text(a) if isinstance(a, str) else a for a in args))


class SystemCallError(PtnetError, OSError):
    """A system call failed: the question could not be asked."""


class PermissionDenied(SystemCallError, PermissionError):
    """The kernel does not let this user ask."""


class DeadlineExceeded(SystemCallError, TimeoutError):
    """The answer did not come before the deadline."""


class Cancelled(SystemCallError):
    """The wait was stopped."""


class InconsistentRead(PtnetError):
    """The kernel's tables changed during each of several reads."""


class LimitExceeded(PtnetError):
    """There is more than ptnet is willing to read."""


class UsageError(PtnetError, ValueError):
    """An argument, an option or a file cannot be used; the text says what would be right."""


class PreflightError(PtnetError):
    """The pre-flight found at least one error. `report` is the whole result, equal on all ranks."""

    def __init__(self, message: str, report: Report | None = None) -> None:
        super().__init__(message)
        self.report = report

    def __reduce__(self) -> tuple[type[PreflightError], tuple[str, Report | None]]:
        return type(self), (str(self), self.report)
