"""The data: what one node is (Snapshot), what all of them are (Job), and what was found (Report).

Everything here is plain data with a JSON form (`ptnet.codec`): `load(Snapshot, dump(x)) == x`.
A fact that could not be had is None (or an empty list) with its reason in `gaps`. Units are in the
names; a field without one is a count or a text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")

SNAPSHOT_SCHEMA = "ptnet/snapshot/1"
JOB_SCHEMA = "ptnet/job/1"
REPORT_SCHEMA = "ptnet/report/1"

ERROR = "error"
WARNING = "warning"
NOTE = "note"
SEVERITIES = (ERROR, WARNING, NOTE)


def adopt(cls: type[T], row: dict[str, Any]) -> T:
    """A dataclass whose fields are the row itself, which has them all. For rows by the thousand:
    nothing is copied."""
    made = cls.__new__(cls)
    made.__dict__ = row
    return made


@dataclass
class Gap:
    """A fact that could not be had, and why."""

    fact: str
    """Name of the part of the snapshot, e.g. `listeners`."""
    reason: str


# ---------------------------------------------------------------- links, addresses, routes


@dataclass
class Address:
    """One address of a link."""

    address: str
    prefix: int
    """Prefix length in bits."""
    family: str
    """`inet` or `inet6`."""
    scope: str
    """`global`, `site`, `link`, `host`, or the number as text."""
    flags: list[str] = field(default_factory=list)
    """`secondary`, `tentative`, `deprecated`, `dadfailed`, `permanent`, `noprefixroute`, …"""
    label: str | None = None
    """IPv4 label such as `eth0:1`; None for IPv6."""
    peer: str | None = None
    """The other end of a point-to-point address."""


@dataclass
class Counters:
    """64-bit counters since the link came up."""

    rx_bytes: int
    tx_bytes: int
    rx_packets: int
    tx_packets: int
    rx_errors: int
    tx_errors: int
    rx_dropped: int
    tx_dropped: int


@dataclass
class LinkDetail:
    """What the driver says on request (`links(detail=True)`); None where it does not say."""

    rx_ring: int | None = None
    rx_ring_max: int | None = None
    tx_ring: int | None = None
    tx_ring_max: int | None = None
    combined_channels: int | None = None
    combined_channels_max: int | None = None
    rx_channels: int | None = None
    tx_channels: int | None = None
    pause_autoneg: bool | None = None
    pause_rx: bool | None = None
    pause_tx: bool | None = None
    fec: list[str] = field(default_factory=list)
    """Active FEC modes, e.g. `RS`."""
    offloads: list[str] = field(default_factory=list)
    """Active features by the kernel's names, e.g. `tx-tcp-segmentation`."""


@dataclass
class Link:
    """One interface of this network namespace."""

    name: str
    index: int
    altnames: list[str]
    kind: str
    """`loopback`, `physical`, `veth`, `bridge`, `bond`, `vlan`, `macvlan`, `ipvlan`, `tunnel`,
    `tun`, `ib`, `vxlan`, `wireguard`, `team`, `dummy`, `ifb`, `vrf`, `wireless`, or the kernel's
    own kind."""
    info_kind: str | None
    """The kernel's IFLA_INFO_KIND; None for physical links and loopback."""
    flags: list[str]
    """`up`, `broadcast`, `loopback`, `pointopoint`, `running`, `noarp`, `promisc`, `multicast`,
    `master`, `slave`, `lower_up`, `dormant`, …"""
    state: str
    """Operational state: `up`, `down`, `lowerlayerdown`, `dormant`, `testing`, `notpresent`,
    `unknown`."""
    carrier: bool | None
    mtu: int
    mac: str | None
    perm_mac: str | None
    """The MAC in the hardware, where the driver tells it."""
    master: str | None
    """Name of the bridge, bond, team or VRF that owns this link."""
    lower: str | None
    """Name of the link below (vlan, macvlan, …), when it is in this namespace."""
    peer_netns: int | None
    """IFLA_LINK_NETNSID: the link below or at the other end lies in another namespace."""
    numa_node: int | None
    pci_address: str | None
    driver: str | None
    speed_mbps: int | None
    duplex: str | None
    """`full` or `half`."""
    autoneg: bool | None
    counters: Counters | None
    addresses: list[Address] = field(default_factory=list)
    detail: LinkDetail | None = None


@dataclass
class Route:
    """A route: either what the kernel answered for `target`, or an entry of a table."""

    target: str
    """The address asked for, or the destination prefix (`default` for 0/0)."""
    address: str | None = None
    """The destination address that was looked up, when `target` is a name."""
    family: str = "inet"
    interface: str | None = None
    source: str | None = None
    """The source address that the kernel would use."""
    gateway: str | None = None
    type: str = "unicast"
    """`unicast`, `local`, `broadcast`, `unreachable`, `blackhole`, `prohibit`, …"""
    table: int | None = None
    metric: int | None = None
    mtu_bytes: int | None = None
    """Path MTU that the route or the kernel's cache holds."""
    error: str | None = None
    """`unreachable`, `prohibited`, `blackhole`, `no-such-name`, or an errno name; None when a
    route exists."""


@dataclass
class Rule:
    """A policy rule (`ip rule`)."""

    priority: int
    family: str
    table: int
    action: str
    """`lookup`, `unreachable`, `blackhole`, `prohibit`, `goto`, …"""
    source: str | None = None
    destination: str | None = None
    iif: str | None = None
    oif: str | None = None
    fwmark: int | None = None
    inverted: bool = False
    """`not`: the rule is for packets that do not match, as wg-quick's is."""


@dataclass
class Neighbour:
    """An entry of the ARP or ND table."""

    address: str
    family: str
    interface: str | None
    mac: str | None
    state: str
    """`reachable`, `stale`, `delay`, `probe`, `failed`, `incomplete`, `permanent`, `noarp`,
    `none`."""


# ---------------------------------------------------------------- ports, sysctls


@dataclass
class Listener:
    """A TCP socket in LISTEN."""

    address: str
    """`0.0.0.0` and `::` are the wildcards."""
    port: int
    family: str
    v6only: bool | None
    """For `inet6`: does the socket refuse IPv4."""
    interface: str | None
    """The interface that the socket is bound to."""
    uid: int
    inode: int
    backlog: int | None
    pid: int | None = None
    """None when the owner is another user's process or lies in another PID namespace."""
    command: str | None = None
    ppid: int | None = None
    """The owner's parent; 1 when whoever started it has ended."""


@dataclass
class SocketCounts:
    """TCP sockets of this namespace by state."""

    established: int
    time_wait: int
    syn_sent: int
    close_wait: int
    listen: int


@dataclass
class PortRanges:
    """What the kernel hands out and what an ordinary user may bind."""

    ephemeral_first: int | None
    ephemeral_last: int | None
    reserved: list[list[int]]
    """Pairs [first, last] of net.ipv4.ip_local_reserved_ports."""
    unprivileged_start: int | None


@dataclass
class BindTry:
    """A bind and listen as torch's store does them, closed at once."""

    port: int
    address: str
    """`::` (dual stack) or `0.0.0.0`."""
    ok: bool
    errno: int | None = None
    error: str | None = None
    """`in-use`, `not-permitted`, `no-such-address`, `no-family`, or an errno name."""


@dataclass
class Sysctl:
    """One kernel setting as this namespace shows it."""

    key: str
    value: str | None
    """The text without the line end; tabs between numbers stay. None when it cannot be read."""
    type: str | None = None
    """`int`, `ints` or `text`, by its form."""
    scope: str | None = None
    """`namespace` or `host`; `unknown` where it cannot be told."""
    writable: bool | None = None
    errno: int | None = None
    """Why `value` is None: 2 (absent), 13 (not permitted), …"""
    error: str | None = None


# ---------------------------------------------------------------- names


@dataclass
class Resolved:
    """One address that a name resolved to."""

    address: str
    family: str
    local: bool | None = None
    """Can a socket of this host be bound to it."""
    reverse: str | None = None
    reverse_ms: float | None = None


@dataclass
class Resolution:
    """What getaddrinfo said about a name, in its own order."""

    name: str
    addresses: list[Resolved] = field(default_factory=list)
    canonical: str | None = None
    error: str | None = None
    """`no-such-name`, `try-again`, `failed`, `no-data`, `timeout`, …; None when it resolved."""
    error_text: str | None = None
    time_ms: float | None = None


@dataclass
class HostsEntry:
    """One line of /etc/hosts."""

    address: str
    names: list[str]
    line: int


@dataclass
class Names:
    """This host's own names and what resolution is configured to do."""

    hostname: str | None
    fqdn: str | None
    """socket.getfqdn()'s rule: what torchrun's c10d agent hands out as MASTER_ADDR."""
    own: Resolution | None
    master: Resolution | None = None
    """The rendezvous host, where the launcher names one."""
    hosts: list[HostsEntry] = field(default_factory=list)
    nameservers: list[str] = field(default_factory=list)
    search: list[str] = field(default_factory=list)
    resolv_options: list[str] = field(default_factory=list)
    nsswitch_hosts: list[str] = field(default_factory=list)


# ---------------------------------------------------------------- host, limits, place


@dataclass
class Limits:
    """Limits of this process; -1 = unlimited."""

    nofile_soft: int | None
    nofile_hard: int | None
    memlock_soft_bytes: int | None
    memlock_hard_bytes: int | None
    shm_size_bytes: int | None
    """Of /dev/shm, as this user may use it."""
    shm_free_bytes: int | None
    shm_error: str | None = None
    """Why this process may not create files there, such as `EACCES`; None where it may."""
    shm_nccl_files: int | None = None
    """Files called `nccl-*` in it: of jobs that run, or that were killed."""


@dataclass
class Place:
    """Where this process runs."""

    kernel: str
    machine: str
    os_id: str | None
    """ID of os-release: `rhel`, `centos`, `debian`, …"""
    os_version: str | None
    os_name: str | None
    boot_id: str | None
    container: str | None
    """`docker`, `podman`, `kubernetes`, `lxc`, `systemd-nspawn`, `apptainer`, or `unknown`; None
    outside a container."""
    kubernetes: bool
    wsl: int | None
    """1 or 2."""
    vm: str | None
    """The hypervisor's or cloud's name."""
    signs: list[str]
    """What the four above were read from, e.g. `/.dockerenv exists`."""
    namespaces: dict[str, int]
    """Inode of each of this process's namespaces: net, pid, uts, user, mnt, ipc, cgroup, time."""
    cgroup: str | None
    uid: int
    cap_net_admin: bool
    cap_net_raw: bool
    cap_net_bind: bool
    proc_sys_readonly: bool | None
    cpus: int
    unix_time_s: float
    uptime_s: float
    clock_synchronized: bool | None
    ipv6: bool | None = None
    """Can a socket be opened for IPv6."""
    gpus: int | None = None
    """Number of NVIDIA device files (/dev/nvidia0, …) and AMD's compute nodes that are visible."""
    selinux: str | None = None
    """`enforcing` or `permissive`; None without SELinux."""
    selinux_label: str | None = None
    """The context of this process."""


@dataclass
class RdmaDevice:
    """An InfiniBand or RoCE device."""

    name: str
    uverbs: str | None
    """Its device file, e.g. `/dev/infiniband/uverbs0`."""
    error: str | None = None
    """Why this process may not open it: `ENOENT` where the container lacks it, `EACCES`."""


# ---------------------------------------------------------------- launch


@dataclass
class Conflict:
    """One quantity that two variables say differently."""

    field: str
    values: dict[str, str]
    """By variable."""


@dataclass
class InvalidValue:
    """A variable or option whose value cannot be used."""

    variable: str
    value: str
    expected: str


@dataclass
class Launch:
    """What the launcher told this process."""

    launcher: str
    """`torchrun`, `slurm`, `openmpi`, `mpich`, `mvapich2`, `pytorchjob`, `kubeflow-trainer`,
    `mpijob`, `deepspeed`, `ray`, `sagemaker`, `lsf`, `pmix`, `variables` (RANK and WORLD_SIZE
    alone), or `none`."""
    unit: str = "rank"
    """`rank`: this is one rank; `node`: this stands for a node whose launcher starts the ranks."""
    rank: int | None = None
    local_rank: int | None = None
    world_size: int | None = None
    local_world_size: int | None = None
    node_rank: int | None = None
    nnodes: int | None = None
    """Number of nodes, or the least number of an elastic job."""
    nnodes_max: int | None = None
    """The greatest number of nodes of an elastic job; None when it is fixed."""
    master_addr: str | None = None
    master_port: int | None = None
    run_id: str | None = None
    restart_count: int = 0
    agent_store: bool = False
    """TORCHELASTIC_USE_AGENT_STORE: the agent serves the store, no rank binds the port."""
    backend: str | None = None
    """Rendezvous back end of torchrun: `static`, `c10d`, `etcd`, …"""
    local_addr: str | None = None
    """torchrun's --local-addr: what it tells the others in place of its own name."""
    is_host: bool | None = None
    """`is_host` of --rdzv-conf: whether this node serves the rendezvous; None: torch guesses."""
    interactive: bool = False
    """Is this a Python prompt or a notebook."""
    sources: dict[str, str] = field(default_factory=dict)
    """The variable or option that each field came from."""
    conflicts: list[Conflict] = field(default_factory=list)
    invalid: list[InvalidValue] = field(default_factory=list)


# ---------------------------------------------------------------- a node


@dataclass
class Snapshot:
    """What one node is, seen from one process."""

    ptnet: str
    """Version that wrote it."""
    node: str
    """Host name, unique in the job as far as the host names are."""
    taken_at_s: float
    """Unix time."""
    schema: str = SNAPSHOT_SCHEMA
    place: Place | None = None
    limits: Limits | None = None
    env: dict[str, str] = field(default_factory=dict)
    """Variables that matter to the job's network; secrets are masked."""
    launch: Launch | None = None
    names: Names | None = None
    links: list[Link] = field(default_factory=list)
    default_routes: list[Route] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    neighbours: list[Neighbour] = field(default_factory=list)
    listeners: list[Listener] = field(default_factory=list)
    socket_counts: SocketCounts | None = None
    port_ranges: PortRanges | None = None
    sysctls: list[Sysctl] = field(default_factory=list)
    rdma: list[RdmaDevice] = field(default_factory=list)
    torch: str | None = None
    """Version of the torch that would be imported; None without one."""
    gaps: list[Gap] = field(default_factory=list)


# ---------------------------------------------------------------- reaching the master, the job


@dataclass
class Connect:
    """One try to connect to one address."""

    address: str
    port: int
    family: str
    verdict: str
    """`store` (a c10d store answered), `not-a-store` (something else answered), `silent`
    (connected, no answer), `refused`, `unreachable`, `prohibited`, `timeout`, `local-error`."""
    errno: int | None = None
    connect_ms: float | None = None
    source: str | None = None
    """The local address that was used."""
    said: str | None = None
    """The first bytes of an answer that is not a store's, printable."""


@dataclass
class Reach:
    """How a process tried to get to the rendezvous endpoint, and how it ended."""

    host: str
    port: int
    role: str
    """`serve` (this process must hold the port) or `join`."""
    outcome: str
    """`ok`, or the reason: `unresolved`, `refused`, `unreachable`, `prohibited`, `timeout`,
    `not-a-store`, `silent`, `port-busy`, `not-permitted`, `not-local`, `loopback`, `no-rank-0`,
    `failed`."""
    resolution: Resolution | None = None
    route: Route | None = None
    connects: list[Connect] = field(default_factory=list)
    """The last try of each address."""
    bind: BindTry | None = None
    holder: Listener | None = None
    """Who holds the port, when it is busy."""
    tries: int = 0
    waited_s: float = 0.0
    unresolved_s: float = 0.0
    """For how long the name did not resolve, before it did."""
    detail: str | None = None
    """What torch said, when the outcome is `failed`."""


@dataclass
class RankCard:
    """What each participant (a rank, or a node in front of its launcher) puts on the board."""

    node: str
    pid: int
    launch: Launch
    boot_id: str | None = None
    netns: int | None = None
    pidns: int | None = None
    reach: Reach | None = None
    devices: str | None = None
    """CUDA_VISIBLE_DEVICES (or HIP_, ROCR_) as this rank was given it."""
    asked: list[Resolution] = field(default_factory=list)
    """What it makes of the names that other participants give out for themselves."""
    left: str | None = None
    """Set when the participant left before the verdict: why, e.g. `interrupted by SIGINT`."""


@dataclass
class Job:
    """All nodes and participants that are known."""

    schema: str = JOB_SCHEMA
    snapshots: list[Snapshot] = field(default_factory=list)
    cards: list[RankCard] = field(default_factory=list)
    complete: bool = True
    """False while participants are still expected: checks that need all of them are skipped."""
    expected: int | None = None
    """Number of participants that the job waits for."""
    waited_s: float | None = None
    """How long the board was kept open, when somebody never came."""
    other_worlds: list[str] = field(default_factory=list)
    """Run ids that others used on the same board."""


# ---------------------------------------------------------------- findings


@dataclass
class Evidence:
    """Where a finding was seen."""

    fact: str
    observed: str
    expected: str | None = None
    source: str | None = None
    """File, variable, sysctl or call that it was read from."""


@dataclass
class Fix:
    """A way to mend it: a command, or a change of a file, or words where neither can be given."""

    text: str
    command: list[str] | None = None
    """An argv list."""
    file: str | None = None
    needs_root: bool = False
    undo: list[str] | None = None
    risk: str | None = None


@dataclass
class Finding:
    """One thing that will break or slow the job, in one sentence."""

    id: str
    severity: str
    message: str
    nodes: list[str] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    fixes: list[Fix] = field(default_factory=list)


@dataclass
class Skipped:
    """A check that could not be asked."""

    check: str
    reason: str


@dataclass
class Missing:
    """A participant that never came."""

    rank: int | None
    """Rank, or node rank in front of a launcher; None where ranks are not known beforehand."""
    node: str | None
    unit: str = "rank"


@dataclass
class Stage:
    """One stage of the pre-flight."""

    name: str
    """`look`, `self`, `reach`, `gather`, `verdict`."""
    seconds: float
    outcome: str
    """`ok`, `findings`, `failed`, `skipped`."""
    detail: str | None = None


@dataclass
class Report:
    """The result: equal on all ranks of a job."""

    verdict: str
    """`pass`, `fail` or `unknown`."""
    schema: str = REPORT_SCHEMA
    ptnet: str = ""
    nodes: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Other names of hosts that the sentences may hold: masters, FQDNs."""
    findings: list[Finding] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    """Ids of the checks that found nothing."""
    skipped: list[Skipped] = field(default_factory=list)
    crashed: list[Skipped] = field(default_factory=list)
    """Checks that raised, with the exception's text: a fault of ptnet, not of the job."""
    missing: list[Missing] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        from ptnet import codec

        return codec.dump(self)

    def __str__(self) -> str:
        from ptnet.report import text

        return text.render(self)
