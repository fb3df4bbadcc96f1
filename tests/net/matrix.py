"""Which faults strike at which door, and what has to come of it: one table for tests and bench.

A *door* is a way to start a job of two nodes, one rank each. A *fault* is what is wrong, on a lab
of two hosts `nodea` (the master) and `nodeb`. A *cell* is a pair of them that can occur.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab import ROOT, Lab, Running

ADDRESSES = {"nodea": "10.77.0.1/24", "nodeb": "10.77.0.2/24"}
NODES = tuple(ADDRESSES)
PORT = 29500  # below the ephemeral range, so no connection of the kernel's choice takes it
WAIT_S = 20
END_S = 8
"""What a node may need beyond its deadline: two imports of torch on a busy machine, and the end."""

SCRIPT = str(Path(__file__).with_name("script.py"))
STRANGER = str(Path(__file__).with_name("stranger.py"))
EXAMPLE = str(ROOT / "examples" / "train_ddp.py")


# ---------------------------------------------------------------- doors


@dataclass(frozen=True)
class Node:
    """What one node is told."""

    rank: int
    nodes: int = 2
    master: str = "nodea"


@dataclass(frozen=True)
class Door:
    name: str
    kind: str
    """`static` and `c10d` are torchrun's rendezvous, `plain` is RANK and its like."""
    front: tuple[str, ...] = ()
    """Words in front of the launcher."""

    def command(self, node: Node, script: list[str]) -> tuple[list[str], dict[str, str]]:
        """The words and the environment that start the script on one node."""
        if self.kind == "plain":
            env = {"RANK": str(node.rank), "WORLD_SIZE": str(node.nodes)}
            env |= {"MASTER_ADDR": node.master, "MASTER_PORT": str(PORT)}
            return [*self.front, sys.executable, *script], env
        endpoint = {
            "static": [
                *("--node-rank", str(node.rank)),
                *("--master-addr", node.master, "--master-port", str(PORT)),
            ],
            "c10d": [
                *("--rdzv-backend", "c10d", "--rdzv-id", "job"),
                *("--rdzv-endpoint", f"{node.master}:{PORT}"),
            ],
        }[self.kind]
        size = ["--nnodes", str(node.nodes), "--nproc-per-node", "1"]
        return [*self.front, "torchrun", *size, *endpoint, *script], {}


_RUN = (sys.executable, "-m", "ptnet", "run", "--wait", str(WAIT_S), "--")

RUN_STATIC = Door("run-static", "static", _RUN)
RUN_C10D = Door("run-c10d", "c10d", _RUN)
PLAIN = Door("plain", "plain")
TORCHRUN_STATIC = Door("torchrun-static", "static")
TORCHRUN_C10D = Door("torchrun-c10d", "c10d")
BARE = (TORCHRUN_STATIC, TORCHRUN_C10D, PLAIN)


# ---------------------------------------------------------------- faults


@dataclass(frozen=True)
class Expect:
    """How a node has to end: not with 0, in time, and with words that help."""

    finding: str
    within_s: float
    words: tuple[str, ...] = ()
    """Patterns for its output; `{name}` stands for what the fault's `arrange` returned."""


def _nothing(lab: Lab) -> dict[str, str]:
    return {}


@dataclass(frozen=True)
class Fault:
    name: str
    kinds: tuple[str, ...] = ("static", "c10d", "plain")
    arrange: Callable[[Lab], Mapping[str, str]] = _nothing
    """Does the damage; returns what the words may refer to."""
    nodes: tuple[Node | None, ...] = (Node(0), Node(1))
    """What nodea and nodeb are told; None: not started."""
    expect: tuple[Expect | None, ...] = (None, None)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By kind of door: more patterns for nodea's output."""

    @property
    def healthy(self) -> bool:
        return not any(self.expect)


def _stranger(mode: str) -> Callable[[Lab], Mapping[str, str]]:
    def arrange(lab: Lab) -> Mapping[str, str]:
        server = lab["nodea"].start([sys.executable, STRANGER, str(PORT), mode])
        server.wait_for("listening")
        return {"pid": str(server.pid)}

    return arrange


def _master_is_loopback_on(name: str) -> Callable[[Lab], Mapping[str, str]]:
    def arrange(lab: Lab) -> Mapping[str, str]:
        names = {host.name: host.address for host in lab}
        lab[name].hosts(names | {"nodea": "127.0.1.1"})
        return {}

    return arrange


def _drop_syns(lab: Lab) -> Mapping[str, str]:
    lab["nodea"].nft(
        """
        table inet lab {
            chain input {
                type filter hook input priority 0;
                iifname "eth0" tcp flags & (syn | ack) == syn drop;
            }
        }
        """
    )
    return {}


def _missing(within_s: float = WAIT_S + END_S) -> Expect:
    return Expect("ranks-missing", within_s)


_NODE_1 = (r"(node|rank)s? 1\b",)
_NODE_1_IS_MISSING = {
    "static": _NODE_1,
    "plain": _NODE_1,
    # c10d gives node ranks only once all have come, so only the count can be known.
    "c10d": (r"(node|rank)s? 1\b|\b1 of (the )?2\b|one of (the )?two",),
}
_BUSY = Expect("master-port-busy", 10, (rf"\b{PORT}\b", r"\b{pid}\b"))
_NO_STORE = (rf"(nodea|10\.77\.0\.1)\D.*\b{PORT}\b",)
_TWICE = Expect("rank-duplicate", 15, NODES)
_SIZES = Expect("world-size-mismatch", 15, (*NODES, r"(?<![\d.])2(?!\d)", r"(?<![\d.])3(?!\d)"))

FAULTS = (
    Fault("none"),
    Fault(
        "master-unresolved",
        nodes=(Node(0, master="nosuchhost"), Node(1, master="nosuchhost")),
        expect=(Expect("master-unresolved", 10, ("nosuchhost",)),) * 2,
    ),
    Fault(
        "stranger-answers",
        arrange=_stranger("answers"),
        expect=(
            _BUSY,
            Expect("master-not-a-store", 10, (*_NO_STORE, "answers, but is not a c10d store")),
        ),
    ),
    Fault(
        "stranger-silent",
        arrange=_stranger("silent"),
        expect=(_BUSY, Expect("master-not-a-store", 10, _NO_STORE)),
    ),
    Fault(
        "loopback-on-node-1",
        arrange=_master_is_loopback_on("nodeb"),
        expect=(_missing(), Expect("master-loopback", 10, ("nodea", r"127\.0\.1\.1"))),
        words=_NODE_1_IS_MISSING,
    ),
    Fault("loopback-on-master", arrange=_master_is_loopback_on("nodea")),
    Fault(
        "node-1-missing",
        nodes=(Node(0), None),
        expect=(_missing(), None),
        words=_NODE_1_IS_MISSING,
    ),
    Fault(
        "syns-dropped",
        arrange=_drop_syns,
        expect=(_missing(), Expect("master-timeout", 15, ("nodea", "tim(ed|e) ?out"))),
        words=_NODE_1_IS_MISSING,
    ),
    Fault(
        "rank-0-twice",
        kinds=("static", "plain"),
        nodes=(Node(0), Node(0)),
        expect=(_TWICE, _TWICE),
    ),
    Fault(
        "rank-1-twice",
        kinds=("static",),
        nodes=(Node(1), Node(1)),
        expect=(_TWICE, _TWICE),
    ),
    Fault(
        # Without LOCAL_RANK nobody can tell that rank 0 is not only late on the master's host.
        "nobody-is-rank-0",
        kinds=("plain",),
        nodes=(Node(1), Node(1)),
        expect=(
            Expect("master-refused", WAIT_S + END_S, ("nodea is the master itself", "rank 0")),
            Expect("master-refused", WAIT_S + END_S, ("nodeb", "rank 0")),
        ),
    ),
    Fault("sizes-differ", nodes=(Node(0, nodes=2), Node(1, nodes=3)), expect=(_SIZES, _SIZES)),
)


# ---------------------------------------------------------------- cells


@dataclass(frozen=True)
class Cell:
    door: Door
    fault: Fault

    @property
    def name(self) -> str:
        return f"{self.door.name}-{self.fault.name}"

    def start(self, lab: Lab, script: list[str]) -> dict[str, Running]:
        """Start the script on the nodes that the fault lets start."""
        programs = {}
        for name, node in zip(NODES, self.fault.nodes, strict=True):
            if node is not None:
                argv, env = self.door.command(node, script)
                programs[name] = lab[name].start(argv, env | {"PTNET_WAIT": str(WAIT_S)})
        return programs


def cells(doors: tuple[Door, ...], faults: tuple[Fault, ...] = FAULTS) -> list[Cell]:
    return [Cell(door, fault) for fault in faults for door in doors if door.kind in fault.kinds]


CELLS = [
    *cells((RUN_STATIC, RUN_C10D, PLAIN)),
    *cells((TORCHRUN_STATIC, TORCHRUN_C10D), FAULTS[:1]),
]
BARE_CELLS = cells(BARE)
