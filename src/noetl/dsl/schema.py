"""The JSON Schema of documents, for completion and hover in editors: written from the tables the checker uses.

`shapes.py` gives the document, the kinds' declarations give the tool fields. An editor cannot see what the checker sees
(names, graphs, templates); what the schema refuses, the checker refuses too.
"""

from __future__ import annotations

from typing import Any

from noetl.dsl.credential_documents import CREDENTIAL, REFERENCES
from noetl.dsl.kinds import Field, Kind, Kinds
from noetl.dsl.playbook_test_shapes import PLAYBOOK_TEST, ROOT, TEST_SHAPES
from noetl.dsl.shapes import SHAPES, Shape
from noetl.dsl.start_shapes import SCHEDULE, START_SHAPES, TRIGGER

DRAFT = "https://json-schema.org/draft/2020-12/schema"
JSON_TYPES = {
    "text": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "mapping": "object",
    "list": "array",
    "null": "null",
}
TEMPLATE = {"type": "string", "pattern": r"\{[\{%]", "description": "A template: {{ … }}"}
Schema = dict[str, Any]


def schema(kinds: Kinds) -> Schema:
    """The whole schema."""
    definitions = {name: shape_schema(shape) for name, shape in SHAPES.items()}
    definitions.update({f"kind.{name}": kind_schema(kinds[name]) for name in kinds})
    definitions["task"] = task_schema(definitions["task"], kinds)
    definitions["tool"] = tool_schema()
    definitions["sugar"] = sugar_schema()
    add_deprecated(definitions)
    root = definitions.pop("root")
    root["properties"]["apiVersion"] = {"const": "noetl.io/v2", "description": SHAPES["apiVersion"].doc}
    root["properties"]["kind"] = {"const": "Playbook", "description": SHAPES["kind"].doc}
    definitions |= {"playbook": root, "credential_document": credential_document_schema()}
    definitions |= {name: shape_schema(shape) for name, shape in (START_SHAPES | TEST_SHAPES).items()}
    return {"$schema": DRAFT, "title": "NoETL document", **by_kind(), "$defs": definitions}


def by_kind() -> Schema:
    """The schema of a document by what it says it is; one that does not say is read as a playbook."""
    found = reference("playbook")
    for kind, name in (
        (TRIGGER, "trigger"),
        (SCHEDULE, "schedule"),
        (PLAYBOOK_TEST, ROOT),
        (CREDENTIAL, "credential_document"),
    ):
        asked = {"required": ["kind"], "properties": {"kind": {"const": kind}}}
        found = {"if": asked, "then": reference(name), "else": found}
    return found


def credential_document_schema() -> Schema:
    """A credential by reference; which fields its kind needs is for the checker to say."""
    text: Schema = {"type": "string", "minLength": 1}
    named = [{"type": "object", "properties": {key: text}, "required": [key]} for key in REFERENCES]
    return {
        "type": "object",
        "properties": {
            "apiVersion": {"const": "noetl.io/v2"},
            "kind": {"const": CREDENTIAL},
            "metadata": {"type": "object", "properties": {"name": text}, "required": ["name"]},
            "spec": {
                "type": "object",
                "properties": {
                    "kind": text,
                    "fields": {
                        "type": "object",
                        "description": "A secret is never written here: {env: VARIABLE} or {file: path}.",
                        "additionalProperties": {"anyOf": [{"type": ["string", "number", "boolean", "null"]}, *named]},
                    },
                },
                "required": ["kind", "fields"],
            },
        },
        "required": ["apiVersion", "kind", "metadata", "spec"],
    }


def reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def shape_schema(shape: Shape) -> Schema:
    """One shape; where it takes templates, a template text is as good as its type."""
    own = {**types_schema(shape.types), **mapping_schema(shape), **bounds(shape.minimum, shape.maximum)}
    if shape.choices:
        own["enum"] = list(shape.choices)
    if shape.items and "list" in shape.types:
        own["items"] = reference(shape.items)
    if shape.types and shape.is_template:
        own = {"anyOf": [own, TEMPLATE]}
    return {"description": shape.doc, **own} if shape.doc else own


def types_schema(types: tuple[str, ...]) -> Schema:
    names = [JSON_TYPES[name] for name in types if name in JSON_TYPES]
    if not names or "any" in types:
        return {}
    return {"type": names[0] if len(names) == 1 else names}


def mapping_schema(shape: Shape) -> Schema:
    if "mapping" not in shape.types:
        return {}
    made: Schema = {"properties": {key: reference(name) for key, name in shape.keys.items()}} if shape.keys else {}
    if shape.required:
        made["required"] = list(shape.required)
    if shape.is_open and shape.items:
        made["additionalProperties"] = reference(shape.items)
    elif not shape.is_open and not shape.is_spec and shape.keys:
        made["additionalProperties"] = False
    return made


def bounds(minimum: float | None, maximum: float | None) -> Schema:
    made: Schema = {}
    if minimum is not None:
        made["minimum"] = minimum
    if maximum is not None:
        made["maximum"] = maximum
    return made


def kind_schema(kind: Kind) -> Schema:
    """The fields of a kind, written on the task or under its input."""
    fields = {field.name: field_schema(field) for field in kind.fields}
    knobs = {field.name: field_schema(field) for field in kind.knobs}
    made: Schema = {"description": kind.summary, "properties": fields}
    made["properties"] = {
        **fields,
        "input": {"type": ["object", "null"], "properties": fields},
        "spec": {"type": ["object", "null"], "properties": knobs},
    }
    return made


def field_schema(field: Field) -> Schema:
    own = {**types_schema(field.types), **bounds(field.minimum, field.maximum)}
    if field.choices:
        own["enum"] = list(field.choices)
    is_text = field.types == ("text",) and not field.choices
    if own and field.is_template and not is_text:
        own = {"anyOf": [own, TEMPLATE]}
    return {"description": field.doc, **own}


def task_schema(common: Schema, kinds: Kinds) -> Schema:
    """A task: what all have, and by its kind the fields of that kind and no others."""
    properties = dict(common["properties"])
    properties["kind"] = {"enum": sorted(kinds), "description": SHAPES["task.kind"].doc}
    allowed = dict.fromkeys((*properties, "args"), True)
    per_kind = [
        {
            "if": {"properties": {"kind": {"const": name}}, "required": ["kind"]},
            "then": {
                **reference(f"kind.{name}"),
                "properties": {**allowed, **{field.name: True for field in kinds[name].fields}},
                "additionalProperties": False,
            },
        }
        for name in kinds
    ]
    return {"description": common["description"], "type": "object", "properties": properties, "allOf": per_kind}


def tool_schema() -> Schema:
    """A task, or a list of tasks, labelled tasks (deprecated) and sugar."""
    single = {**reference("task"), "required": ["kind"]}
    labelled = {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "propertyNames": {"not": {"enum": ["kind", "choose", "while", "until"]}},
        "additionalProperties": single,
        "deprecated": True,
        "description": "A task under its label; write name: instead.",
    }
    items = {"anyOf": [single, reference("sugar"), labelled]}
    return {"description": SHAPES["tool"].doc, "anyOf": [single, {"type": "array", "minItems": 1, "items": items}]}


def sugar_schema() -> Schema:
    """choose, while, until."""
    body = {"type": "object", "properties": {"tool": reference("tool")}, "required": ["tool"]}
    case = {"type": "object", "properties": {"when": reference("when"), "then": body, "else": {"type": "object"}}}
    loop = {
        "type": "object",
        "properties": {"when": reference("when"), "tool": reference("tool")},
        "required": ["when", "tool"],
        "additionalProperties": False,
    }
    words = {
        "choose": {"type": "array", "minItems": 1, "items": case, "description": "The first case that holds."},
        "while": {**loop, "description": "Run the tasks while the condition holds."},
        "until": {**loop, "description": "Run the tasks until the condition holds."},
    }
    return {
        "type": "object",
        "properties": {"name": reference("task.name"), **words},
        "oneOf": [{"required": [word]} for word in words],
        "additionalProperties": False,
    }


def add_deprecated(definitions: Schema) -> None:
    """The v10 spellings: accepted, struck through by editors (DI-02)."""
    values = {"type": "object", "deprecated": True}
    definitions["step"]["properties"]["args"] = {**values, "description": "Write input instead."}
    definitions["task"]["properties"]["args"] = {**values, "description": "Write input instead."}
    definitions["then"]["properties"]["set_ctx"] = {**values, "description": "Write set: {ctx.key: …} instead."}
    definitions["then"]["properties"]["set_iter"] = {**values, "description": "Write set: {iter.key: …} instead."}
    definitions["arc"]["properties"]["args"] = {**reference("arc.args"), "deprecated": True}
