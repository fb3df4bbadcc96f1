"""ptnet says, before `torch.distributed` starts, which rank, host, link, port or setting will break
or slow the job.

    import ptnet

    ptnet.init_process_group("nccl")   # the pre-flight, then torch's own
    ptnet.require()                    # the pre-flight alone; raises PreflightError
    ptnet.preflight()                  # the same, as a report

Nothing is loaded, opened or started before the first use.
"""

TYPE_CHECKING = False  # as typing's, whose import would cost more than everything else here

_HOMES = {
    "init_process_group": "group",
    "preflight": "stages",
    "require": "stages",
    "snapshot": "collect:collect",
    "links": "collect",
    "route_to": "collect",
    "listeners": "collect",
    "sysctl": "collect",
    "share": "masking",
    **dict.fromkeys(
        (
            "Finding",
            "Fix",
            "Job",
            "Launch",
            "Link",
            "Listener",
            "RankCard",
            "Report",
            "Route",
            "Snapshot",
            "Sysctl",
        ),
        "model",
    ),
    **dict.fromkeys(
        (
            "Cancelled",
            "DeadlineExceeded",
            "InconsistentRead",
            "LimitExceeded",
            "PermissionDenied",
            "PreflightError",
            "PtnetError",
            "SystemCallError",
            "UsageError",
        ),
        "errors",
    ),
}

__all__ = [
    "Cancelled",
    "DeadlineExceeded",
    "Finding",
    "Fix",
    "InconsistentRead",
    "Job",
    "Launch",
    "LimitExceeded",
    "Link",
    "Listener",
    "PermissionDenied",
    "PreflightError",
    "PtnetError",
    "RankCard",
    "Report",
    "Route",
    "Snapshot",
    "Sysctl",
    "SystemCallError",
    "UsageError",
    "init_process_group",
    "links",
    "listeners",
    "preflight",
    "require",
    "route_to",
    "share",
    "snapshot",
    "sysctl",
]

if TYPE_CHECKING:
    from ptnet.collect import collect as snapshot
    from ptnet.collect import links, listeners, route_to, sysctl
    from ptnet.errors import (
        Cancelled,
        DeadlineExceeded,
        InconsistentRead,
        LimitExceeded,
        PermissionDenied,
        PreflightError,
        PtnetError,
        SystemCallError,
        UsageError,
    )
    from ptnet.group import init_process_group
    from ptnet.masking import share
    from ptnet.model import (
        Finding,
        Fix,
        Job,
        Launch,
        Link,
        Listener,
        RankCard,
        Report,
        Route,
        Snapshot,
        Sysctl,
    )
    from ptnet.stages import preflight, require


def __getattr__(name: str) -> object:
    import importlib

    if name == "__version__":
        from ptnet.version import VERSION

        return VERSION
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'ptnet' has no attribute {name!r}")
    module, _, attribute = home.partition(":")
    value: object = getattr(importlib.import_module(f"ptnet.{module}"), attribute or name)
    globals()[name] = value
    return value
