"""Everything that needs torch, which is imported inside the functions and nowhere else."""

from __future__ import annotations

import importlib.util
import os
import queue
import threading
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ptnet import redact
from ptnet.errors import UsageError
from ptnet.model import InvalidValue, Launch

if TYPE_CHECKING:
    pass

STORE_TIMEOUT = timedelta(seconds=20)
JOIN_S = 30.0
"""A store that was just greeted lets a client in within this time, also where name servers are
silent."""

_servers: dict[int, Any] = {}
"""Stores that this process serves, by port. torch's own TCPStore of the same port reuses the server
of one that still exists (`multi_tenant`), so they are kept until torch has opened its own."""


def available() -> bool:
    """Can torch be imported here; does not import it."""
    return importlib.util.find_spec("torch") is not None


def _open(host: str, port: int, serve: bool) -> Any:
    import torch.distributed

    tcp_store: Any = getattr(torch.distributed, "TCPStore")  # noqa: B009  not in its stubs

    def store(use_libuv: bool) -> Any:
        return tcp_store(
            host,
            port,
            None,
            serve,
            timeout=STORE_TIMEOUT,
            wait_for_workers=False,
            multi_tenant=serve,
            use_libuv=use_libuv,
        )

    use_libuv = os.environ.get("USE_LIBUV", "1") == "1"
    try:
        return store(use_libuv)
    except RuntimeError as error:
        if not use_libuv or "libuv" not in str(error):
            raise
        return store(False)  # a torch built without libuv, as Debian's


def serve_store(port: int) -> Any:
    """A store on all addresses of this host, as torch's own would be; reuses this process's.

    The server's own client goes over loopback: whether the job's name for this host leads here is
    asked separately.
    """
    if port not in _servers:
        _servers[port] = _open("127.0.0.1", port, serve=True)
    return _servers[port]


def serves(port: int) -> bool:
    """Does this process serve a store on that port already."""
    return port in _servers


def stop_serving() -> None:
    """Leave this process's servers to torch: they end with its own stores, or now."""
    _servers.clear()


def join_store(address: str, port: int) -> Any:
    """A client of the store that was just greeted at this address.

    Opened in a thread: while a server that accepted the connection says nothing, torch's
    constructor heeds neither its time-out nor Ctrl-C (2.13).
    """
    import torch.distributed  # noqa: F401  not first in a thread

    opened: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def join() -> None:
        try:
            opened.put(_open(address, port, serve=False))
        except Exception as error:
            opened.put(error)

    threading.Thread(target=join, name="ptnet-join", daemon=True).start()
    try:
        store = opened.get(timeout=JOIN_S)
    except queue.Empty:
        raise RuntimeError(
            f"the store answered the greeting, but lets no client in for {JOIN_S:.0f} s"
        ) from None
    if isinstance(store, Exception):
        raise store
    return store


@dataclass
class Torchrun:
    """A torchrun command, read with torch's own parser."""

    argv: list[str]
    """Its arguments, without the program."""
    launch: Launch
    serves: bool
    """Will torch make this node the host of the rendezvous store."""
    must_serve: bool
    """Is it an error when it cannot: otherwise torch goes on as a client."""


def read_torchrun(argv: list[str]) -> Torchrun:
    """What `torchrun ARGV…` will do, `PET_*` variables and `--standalone` included.

    Raises UsageError with torch's own words for a value that torch refuses; an unknown option ends
    the process with torchrun's usage, as torchrun does.
    """
    from torch.distributed import run
    from torch.distributed.elastic.rendezvous import utils

    args = run.get_args_parser().parse_args(argv)
    try:
        least, most = run.parse_min_max_nnodes(args.nnodes)
        conf = utils._parse_rendezvous_config(args.rdzv_conf)
    except (ValueError, RuntimeError) as error:
        raise UsageError(f"torchrun: {error}") from error
    launch = Launch(
        launcher="torchrun",
        unit="node",
        nnodes=least,
        nnodes_max=most if most != least else None,
        backend=args.rdzv_backend,
        run_id=redact.text(args.rdzv_id),
        local_addr=redact.text(args.local_addr) if args.local_addr else None,
    )
    if args.nproc_per_node.isdigit():
        launch.local_world_size = int(args.nproc_per_node)
    if _alone(args, most):
        launch.backend = "c10d"
        launch.nnodes, launch.nnodes_max = 1, None
        return Torchrun(argv, launch, serves=False, must_serve=False)
    _read_endpoint(args, launch)
    if args.rdzv_backend == "static":
        launch.node_rank = args.node_rank
        serves_it, must = args.node_rank == 0, True
    elif args.rdzv_backend == "c10d" and launch.master_addr is not None:
        explicit = conf.get("is_host")
        must = explicit is not None
        launch.is_host = _is_true(explicit) if must else None
        serves_it = _is_here(launch) if launch.is_host is None else launch.is_host
    else:
        serves_it = must = False
    return Torchrun(argv, launch, serves_it, must)


def _alone(args: Any, most: int) -> bool:
    """torch's rule for a rendezvous that stays on this host."""
    if args.standalone:
        return True
    static_default = args.rdzv_backend == "static" and not args.rdzv_endpoint
    return bool(static_default and args.master_port is None and most == 1)


def _is_true(text: str | None) -> bool:
    return text is not None and text.lower() in ("1", "true", "t", "yes", "y")


def _is_here(launch: Launch) -> bool:
    """torch's guess whether the endpoint is this host."""
    import socket

    from torch.distributed.elastic.rendezvous import utils

    try:
        return utils._matches_machine_hostname(launch.master_addr or "")
    except socket.gaierror:
        return False  # torch raises here: the check own-name-unresolved says so


def _read_endpoint(args: Any, launch: Launch) -> None:
    from torch.distributed.elastic.rendezvous import utils

    endpoint = args.rdzv_endpoint
    if args.rdzv_backend == "static" and not endpoint:  # as torch's get_rdzv_endpoint
        endpoint = f"{args.master_addr}:{args.master_port or 29500}"
    default_port = 29400 if args.rdzv_backend == "c10d" else -1
    shown = redact.text(endpoint)
    option = "--rdzv-endpoint" if args.rdzv_endpoint else "--master-addr"
    try:
        address, launch.master_port = utils.parse_rendezvous_endpoint(endpoint, default_port)
    except ValueError as error:
        launch.invalid.append(InvalidValue(option, shown, redact.text(str(error))))
        return
    launch.master_addr = redact.text(address)
    launch.sources["master_addr"] = option
    if not 0 < launch.master_port < 65536:
        launch.invalid.append(InvalidValue(option, shown, "a port from 1 to 65535"))
        launch.master_port = None


def start_torchrun(argv: list[str]) -> None:
    """torchrun itself, in this process: its store reuses the server that is open here."""
    from torch.distributed import run

    run.main(argv)


def start_group(*args: Any, **kwargs: Any) -> None:
    """torch.distributed.init_process_group."""
    import torch.distributed

    torch.distributed.init_process_group(*args, **kwargs)
