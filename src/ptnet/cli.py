"""The command `ptnet`: its verbs, exit codes and how it ends.

Exit codes: 0 no finding at or above --fail-on, 1 at least one, 2 wrong usage, 3 could not tell, 130
interrupted. `ptnet run` ends with the launcher's.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

VERBS = {
    "run": "check the network between the nodes, then start a launcher",
    "preflight": "check this process's job, or rehearse one on this host",
    "check": "judge this host, or snapshots from files",
    "snapshot": "write what this node is as JSON",
    "links": "show the interfaces of this network namespace",
    "route": "show the way that the kernel would take to a target",
    "ports": "show who listens on which TCP port",
    "explain": "print the page of a check, or list all checks",
}


def usage() -> str:
    """What `ptnet --help` prints."""
    verbs = "\n".join(f"  {name:<10} {text}" for name, text in VERBS.items())
    return (
        "usage: ptnet VERB [OPTION ...]\n\n"
        "Say before a PyTorch job starts which rank, host, link, port or setting will break it.\n\n"
        f"{verbs}\n\n"
        "Every verb has --help, and all but run have --json. Exit codes: 0 nothing\n"
        "found, 1 an error was found, 2 wrong usage, 3 could not tell, 130 interrupted.\n"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help"):
        sys.stdout.write(usage())
        return 0 if words else 2
    if words[0] == "--version":
        from ptnet.version import VERSION

        print(f"ptnet {VERSION}")
        return 0
    verb, rest = words[0], words[1:]
    if verb not in VERBS:
        _say(f"ptnet: unknown verb {verb}; see ptnet --help")
        return 2
    return _end(verb, rest)


def _say(text: str) -> None:
    """One line of an error, which may show an argument: without the secrets in it."""
    from ptnet import redact

    print(redact.text(text), file=sys.stderr)


def _end(verb: str, rest: list[str]) -> int:
    from ptnet.errors import PtnetError, UsageError

    module = "ptnet.run" if verb == "run" else f"ptnet.commands.{verb}"
    try:
        code = int(importlib.import_module(module).main(rest))
        sys.stdout.flush()
        return code
    except UsageError as error:
        _say(f"ptnet {verb}: {error}")
        return 2
    except PtnetError as error:
        _say(f"ptnet {verb}: {error}")
        return 3
    except OSError as error:
        if verb == "run":
            raise  # it may be the job's own, and its launcher's exit code counts
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 0
        _say(f"ptnet {verb}: {error}")
        return 3
    except KeyboardInterrupt:
        if verb == "run" and sys.modules.get("torch.distributed.run"):
            raise
        print(f"ptnet {verb}: interrupted", file=sys.stderr)
        return 130
