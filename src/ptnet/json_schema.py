"""The JSON Schemas that the package ships, made from the hints and texts of ptnet.model."""

from __future__ import annotations

import ast
import inspect
import json
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

from ptnet import model
from ptnet.codec import fields_of, optional_of

ROOTS: dict[str, type] = {
    "snapshot": model.Snapshot,
    "job": model.Job,
    "report": model.Report,
}
FOLDER = Path(__file__).parent / "schema"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def of(cls: type) -> dict[str, Any]:
    """The JSON Schema of one class; the classes inside it stand in `$defs`."""
    definitions: dict[str, Any] = {}
    _type_schema(cls, definitions)
    root = definitions.pop(cls.__name__)
    out: dict[str, Any] = {"$schema": DIALECT, "title": cls.__name__, **root}
    if definitions:
        out["$defs"] = dict(sorted(definitions.items()))
    return out


def text(cls: type) -> str:
    """The file that is shipped for one class."""
    return json.dumps(of(cls), indent=1) + "\n"


def write_all() -> None:
    for name, cls in ROOTS.items():
        (FOLDER / f"{name}.json").write_text(text(cls))


def _type_schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if hint in JSON_TYPES:
        return {"type": JSON_TYPES[hint]}
    if is_dataclass(hint):
        name = hint.__name__  # type: ignore[union-attr]
        if name not in definitions:
            definitions[name] = {}
            definitions[name] = _class_schema(hint, definitions)
        return {"$ref": f"#/$defs/{name}"}
    if inner := optional_of(hint):
        return {"anyOf": [_type_schema(inner, definitions), {"type": "null"}]}
    if get_origin(hint) is list:
        return {"type": "array", "items": _type_schema(get_args(hint)[0], definitions)}
    values = _type_schema(get_args(hint)[1], definitions)
    return {"type": "object", "additionalProperties": values}


def _class_schema(cls: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    notes = _field_notes(cls)
    properties = {}
    for f, hint, version, _needed in fields_of(cls):
        part = {"const": version} if version else _type_schema(hint, definitions)
        note = {"description": notes[f.name]} if f.name in notes else {}
        properties[f.name] = part | note
    return {
        "description": (cls.__doc__ or "").strip(),
        "type": "object",
        "properties": properties,
        "required": [f.name for f, _hint, _version, needed in fields_of(cls) if needed],
    }


def _field_notes(cls: type) -> dict[str, str]:
    """The texts that stand below the fields in the source."""
    (body,) = ast.parse(inspect.getsource(cls)).body
    notes: dict[str, str] = {}
    name = None
    for node in body.body if isinstance(body, ast.ClassDef) else []:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
        elif isinstance(node, ast.Expr) and name and isinstance(node.value, ast.Constant):
            notes[name] = " ".join(str(node.value.value).split())
    return notes
