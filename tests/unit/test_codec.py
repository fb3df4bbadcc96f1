"""The JSON form: what is loaded is what was dumped, and it fits the shipped schema."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from importlib import resources
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptnet import codec, json_schema, model
from ptnet.errors import UsageError
from ptnet.model import Job, Report, Snapshot

CLASSES = (Snapshot, Job, Report)
TEXT = st.text(max_size=12) | st.builds(
    lambda b: b.decode("utf-8", "surrogateescape"), st.binary(max_size=4)
)


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type hint of the model."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*(values(a) for a in args))
    if origin is list:
        return st.lists(values(args[0]), max_size=2)
    if origin is dict:
        return st.dictionaries(TEXT, values(args[1]), max_size=2)
    if dataclasses.is_dataclass(hint):
        return objects(hint)
    return {
        str: TEXT,
        int: st.integers(-(2**63), 2**64),
        bool: st.booleans(),
        float: st.floats(allow_nan=False, allow_infinity=False),
        type(None): st.none(),
    }[hint]


def objects(cls: Any) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(cls, vars(model))
    given_fields = {
        f.name: values(hints[f.name]) for f in dataclasses.fields(cls) if f.name != "schema"
    }
    return st.builds(cls, **given_fields)


@pytest.mark.parametrize("cls", CLASSES)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_is_loaded_was_dumped(cls: Any, data: st.DataObject) -> None:
    made = data.draw(objects(cls))
    text = json.dumps(codec.dump(made))
    assert codec.load(cls, json.loads(text)) == made
    jsonschema.validate(json.loads(text), codec.schema(cls))


@pytest.mark.parametrize("cls", CLASSES)
def test_the_shipped_schema_is_the_model(cls: type) -> None:
    shipped = resources.files("ptnet").joinpath(f"schema/{cls.__name__.lower()}.json").read_text()
    assert shipped == json_schema.text(cls)
    jsonschema.Draft202012Validator.check_schema(json.loads(shipped))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": "ptnet/snapshot/9"}, "ptnet/snapshot/1"),
        ({"node": 7}, "node"),
        ({"links": [{"name": "lo"}]}, r"links\[0\]"),
        ({"taken_at_s": "now"}, "taken_at_s"),
    ],
)
def test_a_wrong_file_is_explained(change: dict[str, Any], says: str) -> None:
    good = codec.dump(Snapshot("0.1.0", "nodea", 1.0))
    assert codec.load(Snapshot, good).node == "nodea"
    with pytest.raises(UsageError, match=says):
        codec.load(Snapshot, {**good, **change})


def test_newer_fields_are_passed_over() -> None:
    data = {**codec.dump(Snapshot("0.1.0", "nodea", 1.0)), "from_the_future": 1}
    assert codec.load(Snapshot, data).node == "nodea"
