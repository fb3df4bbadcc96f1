"""Secrets do not get into a snapshot."""

from __future__ import annotations

import json

import pytest

from ptnet import codec, redact
from ptnet.collect import collect

SECRET = "s3cr3t-Pa55"
PLANTED = {
    "http_proxy": f"http://user:{SECRET}@proxy:3128",
    "HTTPS_PROXY": f"user:{SECRET}@proxy:3128",
    "no_proxy": f"http://u:{SECRET}@a,b",
    "HF_TOKEN": SECRET,
    "NCCL_SECRET_KEY": SECRET,
    "TORCH_API_KEY": SECRET,
    "SLURM_JWT_TOKEN": SECRET,
    "PIP_INDEX_URL": f"https://me:{SECRET}@index/simple",
    "MASTER_PASSWORD": SECRET,
    "TORCH_EXTRA": f"Authorization: Bearer {SECRET}",
    "AWS_SECRET_ACCESS_KEY": SECRET,
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_secret_is_nowhere(name: str) -> None:
    assert SECRET not in json.dumps(codec.dump(collect(environ={name: PLANTED[name]})))


def test_what_is_no_secret_stays() -> None:
    environ = {
        "NCCL_SOCKET_IFNAME": "eth0",
        "MASTER_ADDR": "nodea",
        "http_proxy": "http://proxy:3128",
        "EDITOR": "vi",
    }
    kept = redact.environment(environ)
    assert kept == {k: v for k, v in environ.items() if k != "EDITOR"}


def test_arguments_are_masked() -> None:
    words = redact.argv(["train.py", "--token", SECRET, f"--password={SECRET}", "--lr=0.1"])
    assert SECRET not in " ".join(words)
    assert words[0] == "train.py"
    assert words[-1] == "--lr=0.1"
