"""Redaction at collection: secrets never get as far as a snapshot, so no output has to hide them.

Rather too much is masked than too little. What is recognised: user and password in URLs and in
`user:password@host`, values of variables and options whose name says secret, what follows
`Bearer`, and the shapes of well-known tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

MASK = "***"

_SECRET_NAME = re.compile(
    r"token(?!iz)|secret|passw|passphrase|credential|auth|signature|cookie|api_?key"
    r"|(?:^|[_.-])(?:keys?|pass|pwd|psk|pat|sas|jwt)(?:$|[_.-])"
    r"|^UV_INDEX_\w+_USERNAME$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\s\"'<>]+")
_NEXT_URL = re.compile(r"(?<=[,;|])(?=[A-Za-z][A-Za-z0-9+.-]{0,20}://)")
_PLAIN_HOST = re.compile(r"(?:\[[^\]]*\]|[^:@]*)(?::\d*)?")
_HALF_URL = re.compile(r"(://)[^/?#:\[\]]*:(?!\d{0,5}(?:[/?#,;.]|$))[^/?#]*")
"""Where `@host` was cut off: what stands there in place of a port is a password."""
_BARE_USER = re.compile(r"(?<![^,;=])[^/@:,;=*]+:(?!//)")
_NAMED = re.compile(r"(?<![\w.-])([\w.-]+)([\"']?\s*[=:]\s*|[ \t]+)")
_NAMED_VALUE = re.compile(
    r"(?:(?:basic|bearer|digest|token)\s+)?(?:\"[^\"]*\"|'[^']*'|[^\s&,;\"']+)", re.IGNORECASE
)
_BEARER = re.compile(r"\b(bearer\s+)[^\s\"',;]+", re.IGNORECASE)
_TOKEN = re.compile(
    r"\b(?:hf_\w{16,}|gh[opsur]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|sk-[\w-]{16,}"
    r"|xox[a-z]-[\w-]{10,}|A[KS]IA[0-9A-Z]{16}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*)"
)
_MAY_HOLD = re.compile(r"[=@:_\s-]|eyJ|A[KS]IA")
"""Without one of these there is none in it: most texts are short words."""
_ASSIGNMENT = re.compile(r"[\w.-]+=")
_USER_OPTIONS = frozenset(["-u", "-U", "--user", "--proxy-user"])

_MATTERS = re.compile(
    r"""
      (?:NCCL|TORCH|TORCHELASTIC|GLOO|TP|C10D|PET|MASTER)_.*            # libraries, rendezvous
    | (?:LOCAL_|GROUP_|ROLE_)?(?:RANK|WORLD_SIZE) | NODE_RANK | ROLE_NAME | NPROC_PER_NODE
    | LOCAL_SIZE | CROSS_RANK | CROSS_SIZE | USE_LIBUV | LOGLEVEL | OMP_NUM_THREADS
    | (?:SLURM|PMI|I_MPI|HYDRA|OMPI_COMM_WORLD|MV2_COMM_WORLD|JSM_NAMESPACE)_.*   # launchers
    | OMPI_MCA_(?:btl|oob|pml|mtl).* | OMPI_MCA_orte_default_hostfile | OMPI_UNIVERSE_SIZE
    | MPI_LOCAL(?:RANKID|NRANKS) | PMIX_(?:RANK|HOSTNAME|NAMESPACE)
    | LSB_(?:JOBID|HOSTS|MCPU_HOSTS|DJOB_.*) | RAY_(?:JOB_ID|NODE_ID|RAYLET_PID|ADDRESS)
    | SM_(?:HOSTS|CURRENT_HOST|NUM_GPUS|NETWORK_INTERFACE_NAME)
    | AZ_BATCH_MASTER_NODE | AZ_BATCHAI_MPI_MASTER_NODE
    | (?:KUBERNETES|PYTORCHJOB|JOBSET|LWS|ISTIO_META)_.* | JOB_COMPLETION_INDEX | HOSTNAME
    | (?:UCX|FI|IBV|MLX5)_.* | (?:CUDA|NVIDIA|HIP|ROCR)_VISIBLE_DEVICES           # devices
    | LD_LIBRARY_PATH | LD_PRELOAD | VLLM_HOST_IP | VLLM_NCCL_SO_PATH
    | HOSTALIASES | LOCALDOMAIN | RES_OPTIONS                                     # resolver
    | PIP_(?:.*INDEX.*|FIND_LINKS|TRUSTED_HOST|PROXY|CERT|CONFIG_FILE)            # downloads
    | UV_.*INDEX.* | HF_ENDPOINT | (?i:.*_proxy)
    """,
    re.VERBOSE,
)


def is_secret(name: str) -> bool:
    """Does the name of a variable or option say that its value is a secret."""
    return _SECRET_NAME.search(name) is not None


def _without_users(match: re.Match[str]) -> str:
    word = match[0]
    return "".join(map(_without_user, _NEXT_URL.split(word))) if ":" in word else word


def _without_user(word: str) -> str:
    if "@" not in word:
        return _HALF_URL.sub(rf"\1{MASK}", word)
    before, _at, host = word.rpartition("@")
    scheme, mark, rest = before.partition("//" if before.startswith("//") else "://")
    if mark:
        # Passwords hold unescaped /, ? and @: only a whole `host:port` is taken for the end.
        is_host = _PLAIN_HOST.fullmatch(re.split("[/?#]", rest, maxsplit=1)[0])
        return word if is_host and "/" in rest else f"{scheme}{mark}{MASK}@{host}"
    user = _BARE_USER.search(before)
    return f"{before[: user.start()]}{MASK}@{host}" if user else word


def _without_named(text: str) -> str:
    """Masks what follows `name=`, `name:` and `--name ` where the name says secret."""
    parts = []
    done = 0
    for match in _NAMED.finditer(text):
        name, mark = match.groups()
        if match.start() < done or not is_secret(name):
            continue
        found = _NAMED_VALUE.match(text, match.end())
        if not found or found[0].startswith(MASK):
            continue
        if mark.isspace() and (not name.startswith("-") or found[0].startswith("-")):
            continue
        parts += [text[done : match.end()], MASK]
        done = found.end()
    return "".join([*parts, text[done:]])


def text(value: str) -> str:
    """`value` with the secrets in it masked.

    >>> text("http://ann:pw@proxy:3128, https://idx/simple?token=abc")
    'http://***@proxy:3128, https://idx/simple?token=***'
    """
    value = _WORD.sub(_without_users, value)
    value = _BEARER.sub(rf"\1{MASK}", _without_named(value))
    return _TOKEN.sub(MASK, value)


def value(name: str, value: str) -> str:
    """The value of the variable `name` as it may be shown.

    >>> value("HF_TOKEN", "abc"), value("NCCL_IB_PKEY", "0x7fff")
    ('***', '0x7fff')
    """
    return MASK if value and is_secret(name) else text(value)


def within(data: Any) -> Any:
    """The same lists and dicts with `text` of every text in them.

    >>> within([{"port": 80, "command": "s --token abc"}])
    [{'port': 80, 'command': 's --token ***'}]
    """
    if isinstance(data, str):
        return text(data) if _MAY_HOLD.search(data) else data
    if isinstance(data, list):
        return [within(item) for item in data]
    if isinstance(data, dict):
        return {key: within(item) for key, item in data.items()}
    return data


def argv(args: Iterable[str]) -> list[str]:
    """A command line as it may be shown.

    >>> argv(["train.py", "--token", "abc", "--password=x", "--lr", "1e-4"])
    ['train.py', '--token', '***', '--password=***', '--lr', '1e-4']
    """
    shown: list[str] = []
    before = ""
    for arg in args:
        name, equals, rest = arg.partition("=")
        if before.startswith("-") and "=" not in before and is_secret(before):
            shown.append(text(arg) if arg.startswith("--") else MASK)
        elif before in _USER_OPTIONS and ":" in arg:
            shown.append(MASK)
        elif _ASSIGNMENT.match(arg):
            shown.append(f"{name}{equals}{value(name, rest)}")
        else:
            shown.append(text(arg))
        before = arg
    return shown


def matters(name: str) -> bool:
    """Does the variable `name` say something about the network of a job.

    Those of NCCL, Gloo, TensorPipe and torch, of the launchers, of containers, of proxies and
    package indexes, the devices that are visible and the paths of the loader. User names, tokens
    and whatever else a training script reads are left out.
    """
    return _MATTERS.fullmatch(name) is not None


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that a snapshot holds: those that matter to the network, secrets masked.

    >>> environment({"NCCL_DEBUG": "INFO", "https_proxy": "http://a:b@p:1", "HF_TOKEN": "x"})
    {'NCCL_DEBUG': 'INFO', 'https_proxy': 'http://***@p:1'}
    """
    return {name: value(name, environ[name]) for name in sorted(environ) if matters(name)}
