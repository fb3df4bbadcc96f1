"""The JSON form of the data: dump, load and schema, all read off the type hints of ptnet.model.

Every field is written. On reading, a field that has a default may be missing, a field that is not
known is passed over (a newer ptnet wrote it), and everything else is refused with the place in the
file, what stands there and what would be right. `python -m ptnet.codec` writes the JSON Schemas
(draft 2020-12) into the package from the same hints.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ptnet import redact
from ptnet.errors import UsageError

T = TypeVar("T")
Reader = Callable[[Any], Any]

SHOWN_CHARS = 60


class _Unfit(Exception):
    """A value that does not fit; the containers around it put their part of the path in front."""

    def __init__(self, why: str, path: str = "") -> None:
        self.why = why
        self.path = path


def dump(obj: Any) -> dict[str, Any]:
    """The JSON form of an object of ptnet.model: dicts, lists, text, numbers, booleans and None.

    Text keeps bytes that are no UTF-8 as surrogate escapes; `json.dumps` with its default
    `ensure_ascii=True` carries them through.
    """
    kind: Any = type(obj)
    return {name: _plain(getattr(obj, name)) for name in _names(kind)}


def load(cls: type[T], data: Any) -> T:
    """The object of class `cls` that `data` (parsed JSON) describes: `load(C, dump(x)) == x`.

    Raises UsageError that names the place (`$.links[3].mtu`), what stands there and what would be
    right: another schema version, a wrong type, a missing field.
    """
    hint: Any = cls
    try:
        obj: T = _reader(hint)(data)
    except _Unfit as unfit:
        raise UsageError(f"${unfit.path}: {unfit.why}") from None
    return obj


def schema(cls: type) -> dict[str, Any]:
    """The JSON Schema (2020-12) of `cls`. It lets unknown fields pass, as `load` does."""
    from ptnet import json_schema

    return json_schema.of(cls)


def write(obj: Any, path: str) -> None:
    """Writes `obj` as a JSON file of mode 0600, beside the old one first and then in its place.

    A symbolic link is followed; what is no regular file (`/dev/stdout`, a pipe) is written to as it
    is. Raises UsageError that names the file when it cannot be written.
    """
    text = json.dumps(dump(obj), indent=1) + "\n"
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        else:
            _replace(os.path.realpath(path), text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


def _replace(path: str, text: str) -> None:
    import tempfile

    folder, name = os.path.split(path)
    fd, beside = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(fd, "w", encoding="ascii") as file:
            file.write(text)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def read(cls: type[T], path: str) -> T:
    """The object of class `cls` in the JSON file at `path`; `-` is standard input.

    Raises UsageError that names the file: it cannot be read, is no JSON, or is not a `cls`.
    """
    try:
        if path == "-":
            text = sys.stdin.read()
        else:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        return load(cls, json.loads(text))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except UsageError as error:
        raise UsageError(f"{path}: not a {cls.__name__} of ptnet: {error}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON: {error}") from None


# ---------------------------------------------------------------- dump


@cache
def _names(cls: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls))


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is int or value is None or kind is bool or kind is float:
        return value
    if kind is list:
        return [_plain(item) for item in value]
    if kind is dict:
        return {key: _plain(item) for key, item in value.items()}
    return dump(value)


# ---------------------------------------------------------------- load


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = redact.text(json.dumps(value))
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def _refuse(expected: str, value: Any) -> _Unfit:
    return _Unfit(f"expected {expected}, found {_shown(value)}")


def _read_text(value: Any) -> str:
    if type(value) is not str:
        raise _refuse("a text", value)
    return value


def _read_int(value: Any) -> int:
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    raise _refuse("an integer", value)


def _read_float(value: Any) -> float:
    if type(value) not in (int, float):
        raise _refuse("a number", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _refuse("a finite number", value)
    return number


def _read_bool(value: Any) -> bool:
    if type(value) is not bool:
        raise _refuse("true or false", value)
    return value


SCALARS: dict[Any, Reader] = {
    str: _read_text,
    int: _read_int,
    float: _read_float,
    bool: _read_bool,
}


def optional_of(hint: Any) -> Any:
    """X of `X | None`, else None."""
    if get_origin(hint) not in (Union, UnionType):
        return None
    (inner,) = (arg for arg in get_args(hint) if arg is not NoneType)
    return inner


@cache
def _reader(hint: Any) -> Reader:
    if hint in SCALARS:
        return SCALARS[hint]
    if is_dataclass(hint):
        return _object_reader(hint)
    if inner := optional_of(hint):
        return _optional_reader(_reader(inner))
    if get_origin(hint) is list:
        return _list_reader(_reader(get_args(hint)[0]))
    return _dict_reader(_reader(get_args(hint)[1]))


def _optional_reader(inner: Reader) -> Reader:
    def read(value: Any) -> Any:
        return None if value is None else inner(value)

    return read


def _list_reader(inner: Reader) -> Reader:
    def read(value: Any) -> list[Any]:
        if type(value) is not list:
            raise _refuse("a list", value)
        out: list[Any] = []
        try:
            for item in value:
                out.append(inner(item))
        except _Unfit as unfit:
            raise _Unfit(unfit.why, f"[{len(out)}]{unfit.path}") from None
        return out

    return read


def _dict_reader(inner: Reader) -> Reader:
    def read(value: Any) -> dict[str, Any]:
        if type(value) is not dict:
            raise _refuse("an object", value)
        out: dict[str, Any] = {}
        for key, item in value.items():
            try:
                out[key] = inner(item)
            except _Unfit as unfit:
                raise _Unfit(unfit.why, f"[{json.dumps(key)}]{unfit.path}") from None
        return out

    return read


def _version_reader(version: str) -> Reader:
    def read(value: Any) -> str:
        if value != version:
            raise _refuse(json.dumps(version), value)
        return version

    return read


def fields_of(cls: Any) -> list[tuple[Field[Any], Any, str | None, bool]]:
    """Each field with its type, the fixed value of a schema field, and whether it must be there."""
    hints = get_type_hints(cls)
    out = []
    for f in fields(cls):
        version = f.default if f.name == "schema" and isinstance(f.default, str) else None
        bare = f.default is MISSING and f.default_factory is MISSING
        out.append((f, hints[f.name], version, bare or version is not None))
    return out


def _object_reader(cls: Any) -> Reader:
    parts = [
        (f.name, _version_reader(version) if version else _reader(hint), needed)
        for f, hint, version, needed in fields_of(cls)
    ]
    parts.sort(key=lambda part: part[0] != "schema")

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _refuse(f"an object ({cls.__name__})", value)
        known: dict[str, Any] = {}
        for name, inner, needed in parts:
            if name in value:
                try:
                    known[name] = inner(value[name])
                except _Unfit as unfit:
                    raise _Unfit(unfit.why, f".{name}{unfit.path}") from None
            elif needed:
                raise _Unfit(f"missing; every {cls.__name__} has it", f".{name}")
        return cls(**known)

    return read


if __name__ == "__main__":
    from ptnet import json_schema

    json_schema.write_all()
