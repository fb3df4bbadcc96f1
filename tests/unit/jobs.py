"""Jobs for the checks: two healthy nodes, and ways to break them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ptnet.model import (
    Address,
    BindTry,
    Conflict,
    Connect,
    HostsEntry,
    InvalidValue,
    Job,
    Launch,
    Limits,
    Link,
    Listener,
    Names,
    Place,
    PortRanges,
    RankCard,
    Reach,
    Resolution,
    Resolved,
    Route,
    Snapshot,
    SocketCounts,
    Sysctl,
)

ADDRESSES = {"nodea": "10.77.0.1", "nodeb": "10.77.0.2"}


def rank(n: int, node: str, **fields: object) -> Launch:
    """A rank by plain variables."""
    launch = Launch(
        "variables",
        rank=n,
        world_size=2,
        master_addr="nodea",
        master_port=29500,
        sources={"rank": "RANK", "world_size": "WORLD_SIZE", "master_addr": "MASTER_ADDR"},
    )
    return replace(launch, **fields)


def agent(n: int | None, **fields: object) -> Launch:
    """A node in front of torchrun."""
    launch = Launch(
        "torchrun",
        unit="node",
        node_rank=n,
        nnodes=2,
        master_addr="nodea",
        master_port=29500,
        backend="static",
        sources={"master_addr": "--master-addr"},
    )
    return replace(launch, **fields)


def resolution(*addresses: str, error: str | None = None) -> Resolution:
    found = [Resolved(a, "inet6" if ":" in a else "inet", local=False) for a in addresses]
    return Resolution("nodea", found, error=error, error_text=error and "Name or service not known")


def reach(outcome: str, role: str = "join", **fields: object) -> Reach:
    made = Reach("nodea", 29500, role, outcome, resolution=resolution("10.77.0.1"), waited_s=20.0)
    return replace(made, **fields)


def connect(verdict: str, said: str | None = None) -> Connect:
    return Connect("10.77.0.1", 29500, "inet", verdict, said=said)


def own(node: str, *addresses: str) -> Resolution:
    """What a node's own name resolves to: addresses of its own."""
    found = [Resolved(a, "inet6" if ":" in a else "inet", local=True) for a in addresses]
    return Resolution(node, found)


def names(node: str, resolved: Resolution | None = None, *entries: HostsEntry) -> Names:
    address = ADDRESSES.get(node, "10.77.0.9")
    return Names(node, node, resolved or own(node, address), hosts=list(entries))


def link(name: str, *addresses: str, kind: str = "physical") -> Link:
    return Link(
        name=name,
        index=2,
        altnames=[],
        kind=kind,
        info_kind=None,
        flags=["up", "running"],
        state="up",
        carrier=True,
        mtu=1500,
        mac="02:00:00:00:00:01",
        perm_mac=None,
        master=None,
        lower=None,
        peer_netns=None,
        numa_node=None,
        pci_address=None,
        driver=None,
        speed_mbps=25000,
        duplex="full",
        autoneg=None,
        counters=None,
        addresses=[
            Address(a, 64 if ":" in a else 24, "inet6" if ":" in a else "inet", "global")
            for a in addresses
        ],
    )


def place(node: str, **fields: object) -> Place:
    made = Place(
        kernel="6.1.0",
        machine="x86_64",
        os_id="rocky",
        os_version="9.4",
        os_name="Rocky Linux 9.4",
        boot_id=f"boot-{node}",
        container=None,
        kubernetes=False,
        wsl=None,
        vm=None,
        signs=[],
        namespaces={"net": 1, "pid": 2},
        cgroup="0::/user.slice",
        uid=1000,
        cap_net_admin=False,
        cap_net_raw=False,
        cap_net_bind=False,
        proc_sys_readonly=False,
        cpus=64,
        unix_time_s=1.0,
        uptime_s=1.0,
        clock_synchronized=True,
        ipv6=True,
        gpus=0,
    )
    return replace(made, **fields)


def limits(**fields: object) -> Limits:
    made = Limits(1024, 524288, 8 << 20, 8 << 20, 64 << 30, 64 << 30, None, 0)
    return replace(made, **fields)


def sysctls(**values: int) -> list[Sysctl]:
    """By the last part of the key."""
    known = {
        "net.core.somaxconn": 4096,
        "net.ipv4.tcp_abort_on_overflow": 0,
        "net.netfilter.nf_conntrack_count": 100,
        "net.netfilter.nf_conntrack_max": 262144,
        "net.netfilter.nf_conntrack_tcp_be_liberal": 0,
    }
    return [
        Sysctl(key, str(values.get(key.rpartition(".")[2], value))) for key, value in known.items()
    ]


def listener(port: int, **fields: object) -> Listener:
    return replace(Listener("0.0.0.0", port, "inet", None, None, 0, 7, 128), **fields)


def snapshot(node: str, launch: Launch, **fields: object) -> Snapshot:
    """A healthy node without a GPU."""
    made = Snapshot(
        "0.1.0",
        node,
        1.0,
        place=place(node),
        limits=limits(),
        launch=launch,
        names=names(node),
        links=[
            link("lo", "127.0.0.1", kind="loopback"),
            link("eth0", ADDRESSES.get(node, "10.77.0.9")),
        ],
        default_routes=[Route("default", gateway="10.77.0.254", interface="eth0")],
        listeners=[listener(22, pid=800, ppid=1, command="sshd")],
        socket_counts=SocketCounts(20, 3, 0, 0, 1),
        port_ranges=PortRanges(32768, 60999, [], 1024),
        sysctls=sysctls(),
        torch="2.13.0",
    )
    return replace(made, **fields)


def job(*cards: RankCard, **fields: object) -> Job:
    made = Job(
        cards=list(cards),
        snapshots=[snapshot(card.node, card.launch) for card in cards],
        expected=2,
    )
    return replace(made, **fields)


def card(launch: Launch, node: str, **fields: object) -> RankCard:
    made = RankCard(node, 100, launch, boot_id=f"boot-{node}", netns=1, pidns=2)
    return replace(made, **fields)


def ranks(*, of_b: Launch | None = None, reach_of_b: Reach | None = None) -> Job:
    """Two ranks, one on each node."""
    return job(
        card(rank(0, "nodea"), "nodea", reach=reach("ok", "serve")),
        card(of_b or rank(1, "nodeb"), "nodeb", reach=reach_of_b or reach("ok")),
    )


def agents(*, of_b: Launch | None = None) -> Job:
    """Two nodes in front of torchrun."""
    return job(
        card(agent(0), "nodea", reach=reach("ok", "serve")),
        card(of_b or agent(1), "nodeb", reach=reach("ok")),
    )


def alone() -> Job:
    """One process without a launcher."""
    return job(card(Launch("none"), "nodea"), expected=None)


HEALTHY: dict[str, Callable[[], Job]] = {"ranks": ranks, "agents": agents, "alone": alone}


def _b(outcome: str, **fields: object) -> Callable[[], Job]:
    return lambda: ranks(reach_of_b=reach(outcome, **fields))


def _serve(outcome: str, **fields: object) -> Callable[[], Job]:
    def make() -> Job:
        made = ranks()
        made.cards[0].reach = reach(outcome, "serve", **fields)
        return made

    return make


def _held() -> Listener:
    return listener(29500, uid=1000, pid=4711, command="nginx")


def _loopback() -> Job:
    made = ranks(reach_of_b=reach("loopback", resolution=resolution("127.0.1.1")))
    entry = HostsEntry("127.0.1.1", ["nodea"], 3)
    made.snapshots[1].names = names("nodeb", None, entry)
    return made


def _missing() -> Job:
    made = ranks()
    return replace(made, cards=made.cards[:1], complete=False, waited_s=20.0)


def _left() -> Job:
    made = ranks()
    made.cards[1].left = "interrupted"
    return made


def _nameless() -> Job:
    made = agents()
    for one in made.snapshots:
        one.launch = agent(None, backend="c10d", master_addr="10.77.0.1")
        one.names = names(one.node, resolution(error="no-such-name"))
    return made


def _loopback_names() -> Job:
    made = ranks()
    made.snapshots[0].names = names("nodea", own("nodea", "127.0.1.1"))
    return made


FAULTS: dict[str, Callable[[], Job]] = {
    "master-unresolved": _b("unresolved", resolution=resolution(error="no-such-name")),
    "master-port-busy": _serve("port-busy", holder=_held()),
    "master-port-not-permitted": _serve("not-permitted", bind=BindTry(97, "::", False, 13)),
    "master-not-a-store": _b("not-a-store", connects=[connect("not-a-store", "HTTP/1.1 400")]),
    "master-loopback": _loopback,
    "master-refused": _b("refused", connects=[connect("refused")]),
    "master-unreachable": _b(
        "unreachable", connects=[connect("unreachable")], route=Route("nodea", error="unreachable")
    ),
    "master-prohibited": _b("prohibited", connects=[connect("prohibited")]),
    "master-timeout": _b("timeout", connects=[connect("timeout")]),
    "master-not-local": _serve("not-local"),
    "master-without-rank-0": _b("no-rank-0", connects=[connect("refused")]),
    "store-failed": _b("failed", detail="Broken pipe"),
    "rank-duplicate": lambda: ranks(of_b=rank(0, "nodeb")),
    "world-size-mismatch": lambda: agents(of_b=agent(1, nnodes=3)),
    "master-mismatch": lambda: ranks(of_b=rank(1, "nodeb", master_port=29501)),
    "ranks-missing": _missing,
    "participant-left": _left,
    "launch-invalid": lambda: ranks(
        of_b=rank(1, "nodeb", invalid=[InvalidValue("MASTER_PORT", "70000", "1 to 65535")])
    ),
    "launch-incomplete": lambda: ranks(of_b=rank(1, "nodeb", master_addr=None)),
    "launcher-conflict": lambda: ranks(
        of_b=rank(
            1, "nodeb", conflicts=[Conflict("world_size", {"WORLD_SIZE": "2", "SLURM_NTASKS": "4"})]
        )
    ),
    "own-name-unresolved": _nameless,
    "hostname-loopback": _loopback_names,
}
"""For every check a job that has its fault."""

WORDS = {
    "master-unresolved": ("nodea", "nodeb"),
    "master-port-busy": ("29500", "nginx", "4711", "1000"),
    "master-not-a-store": ("answers, but is not a c10d store", "HTTP/1.1 400"),
    "master-loopback": ("127.0.1.1", "nodeb"),
    "master-timeout": ("timed out, not refused",),
    "rank-duplicate": ("nodea", "nodeb", "rank 0"),
    "world-size-mismatch": ("2 on nodea", "3 on nodeb"),
    "ranks-missing": ("rank 1", "nodea", "20 s"),
    "launch-invalid": ("MASTER_PORT", "70000", "1 to 65535"),
    "launch-incomplete": ("MASTER_ADDR",),
    "launcher-conflict": ("WORLD_SIZE=2", "SLURM_NTASKS=4"),
    "own-name-unresolved": ("MASTER_ADDR",),
    "hostname-loopback": ("nodea is 127.0.1.1", "Gloo"),
}
"""What the sentence must contain."""
