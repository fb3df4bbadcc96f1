"""`ptnet run [options] [--] LAUNCHER…`: the pre-flight in front of a launcher, then the launcher.

torchrun is started in this process, on the very store that the pre-flight opened; everything else
by exec, so that arguments, signals and the exit code are its own.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from ptnet import codec, dist, redact
from ptnet import launch as launcher
from ptnet.errors import UsageError
from ptnet.model import Report
from ptnet.progress import doing
from ptnet.stages import Preflight, wait_seconds

USAGE = """\
usage: ptnet run [--wait SECONDS] [--report FILE] [--board DIR] [--] LAUNCHER [ARGUMENT ...]

Check the network between the nodes, then start the launcher. Run it on every node, in front of the
command that you would run there without it:

  ptnet run -- torchrun --nnodes 2 --node-rank 0 --master-addr node0 train.py
  ptnet run -- torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint node0:29400 train.py
  ptnet run -- python -m torch.distributed.run train.py
  srun ptnet run -- python train.py

options:
  --wait SECONDS  how long to wait for the other nodes (PTNET_WAIT; default 300)
  --report FILE   write the report there as JSON
  --board DIR     meet in this shared directory instead of on the rendezvous endpoint
  -h, --help      print this

When the check fails, nothing is started and the exit code is 1; otherwise it is the launcher's.
"""
OPTIONS = {"--wait": "wait", "--report": "report", "--board": "board"}


@dataclass
class Options:
    """What stands before the launcher."""

    command: list[str]
    wait: str | None = None
    report: str | None = None
    board: str | None = None


def read(argv: Sequence[str]) -> Options:
    """Split ptnet's options from the launcher's command, which is kept as it is."""
    options = Options([])
    rest = list(argv)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        if word in ("-h", "--help"):
            sys.stdout.write(USAGE)
            raise SystemExit(0)
        name, has_value, value = word.partition("=")
        if name not in OPTIONS:
            raise UsageError(f"unknown option {word}; see ptnet run --help")
        if not has_value:
            if not rest:
                raise UsageError(f"{name} needs a value")
            value = rest.pop(0)
        setattr(options, OPTIONS[name], value)
    if not rest:
        raise UsageError("no command to start; for example: ptnet run -- torchrun …")
    options.command = rest
    return options


def torchrun_arguments(command: Sequence[str]) -> list[str] | None:
    """The arguments of torchrun if the command is torchrun of this Python, None if it is something
    else."""
    program = Path(command[0]).name
    if program == "torchrun":
        _same_python(command[0], _interpreter(command[0]))
        return list(command[1:])
    if program.startswith("python") and "-m" in command:
        at = command.index("-m")
        flags = all(word in ("-u", "-B", "-O", "-s", "-I") for word in command[1:at])
        if flags and command[at + 1 : at + 2] == ["torch.distributed.run"]:
            _same_python(command[0], shutil.which(command[0]))
            return list(command[at + 2 :])
    return None


def _interpreter(script: str) -> str | None:
    """The interpreter that the first line of a script names."""
    path = shutil.which(script)
    if path is None:
        return None
    with open(path, "rb") as file:
        first, second = (file.readline().decode(errors="replace") for _ in range(2))
    words = first.removeprefix("#!").split()
    if words and Path(words[0]).name == "sh" and "exec" in second:
        words = second.split()[1:]  # pip's form for an interpreter whose path is long
    if words and Path(words[0]).name == "env":
        return shutil.which(words[1]) if len(words) > 1 else None
    return words[0] if words else None


def _same_python(command: str, interpreter: str | None) -> None:
    if interpreter is None:
        raise UsageError(f"{command}: not found, or not a Python script")
    ours = Path(sys.executable)
    theirs = Path(interpreter)
    if (
        theirs.parent.resolve() / theirs.resolve().name
        != ours.parent.resolve() / ours.resolve().name
    ):
        raise UsageError(
            f"{command} belongs to {theirs}, but ptnet runs in {ours}; install ptnet "
            f"there: {theirs} -m pip install ptnet"
        )


@contextmanager
def _ending_politely() -> Iterator[None]:
    """While the nodes meet, SIGTERM unwinds the stack, so that the others learn of it."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def main(argv: Sequence[str]) -> int:
    """Run the pre-flight and then the command. Returns an exit code only if nothing was started, or
    torchrun has ended well."""
    options = read(argv)
    arguments = torchrun_arguments(options.command)
    if options.report:
        _writable(options.report)
    try:
        with _ending_politely():
            if arguments is None:
                report = _ranks(options)
            else:
                sys.argv = options.command[: len(options.command) - len(arguments)]
                report = _nodes(options, arguments)
    except KeyboardInterrupt:  # cli leaves those to torchrun, which is imported by now
        print("ptnet run: interrupted", file=sys.stderr)
        return 130
    if options.report:
        _write(options.report, report)
    if report.verdict == "fail" or report.findings:
        print(report, file=sys.stderr, flush=True)
    if report.verdict == "fail":
        return 1
    if arguments is None:
        return _execute(options.command)
    dist.start_torchrun(arguments)
    return 0


def _nodes(options: Options, arguments: list[str]) -> Report:
    """In front of torchrun: one participant a node."""
    if not dist.available():
        raise UsageError(f"{options.command[0]}: torch is not installed in {sys.executable}")
    with doing("loading torch to read its launcher's arguments"):
        plan = dist.read_torchrun(arguments)
    return Preflight(
        plan.launch,
        door="nodes",
        wait_s=wait_seconds(options.wait),
        serve=plan.serves,
        must_serve=plan.must_serve,
        directory=options.board,
    ).conduct(meet=plan.launch.backend in ("static", "c10d") or options.board is not None)


def _ranks(options: Options) -> Report:
    """In front of a script: one participant a rank, whose process becomes the script."""
    if shutil.which(options.command[0]) is None:
        raise UsageError(f"{options.command[0]}: command not found")
    launch = launcher.detect(os.environ)
    first = launch.node_rank if launch.unit == "node" else launch.rank
    return Preflight(
        launch,
        door="exec",
        wait_s=wait_seconds(options.wait),
        serve=first == 0 and not launch.agent_store,
        directory=options.board,
    ).conduct()


def _writable(path: str) -> None:
    """Said before the nodes meet: afterwards the others would start without this one."""
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path) or not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"--report {path}: cannot be written")


def _write(path: str, report: Report) -> None:
    beside = f"{path}.{os.getpid()}"
    try:
        with open(beside, "x") as file:
            json.dump(codec.dump(report), file, indent=2)
        os.replace(beside, path)
    except OSError as error:
        raise UsageError(f"--report {path}: {error.strerror}") from error


def _execute(command: list[str]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"ptnet run: {redact.text(command[0])}: {error.strerror}", file=sys.stderr)
        return 126
