"""docs/reference/api.md: every operation of the API, from the OpenAPI document that a server answers with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from links import slug

from noetl.api.openapi import document
from noetl.api.table import OPERATIONS
from reference.tables import code, page, table

INTRO = """Every operation: its role, parameters, body and answers, as `GET /api/v1/openapi.json` declares them.
[The HTTP API](../api.md) explains how to ask, errors, paging and streams. Every operation may also answer with a
[problem](../api.md#errors)."""


def api_page() -> str:
    found = document(OPERATIONS)
    groups: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in found["paths"].items():
        for method, one in methods.items():
            groups.setdefault(one["tags"][0], []).append((method.upper(), path, one))
    lines = [line for tag, ones in groups.items() for line in group(tag, ones)]
    return page("API: reference", INTRO, [*lines, *shapes("\n".join(lines), found["components"]["schemas"])])


def group(tag: str, ones: list[tuple[str, str, dict[str, Any]]]) -> Iterator[str]:
    yield from (f"## Operations: {tag}", "")
    for method, path, one in ones:
        yield from (f"### {method} {path}", "", f"{one['summary']}. {one.get('description', '')}".strip(), "")
        rows = [
            (code(given["name"]), given["in"], typed(given["schema"]), meaning(given))
            for given in one.get("parameters", [])
        ]
        yield from table(("parameter", "in", "type", "is"), rows)
        yield from body(one)
        yield from table(("answer", "with"), list(answers(one)))


def meaning(given: dict[str, Any]) -> str:
    words = [given.get("description", ""), given["schema"].get("description", "")]
    if "default" in given["schema"] and given["schema"]["default"] is not None:
        words.append(f"default {code(given['schema']['default'])}")
    return "; ".join(["required"] * bool(given.get("required")) + [word for word in dict.fromkeys(words) if word])


def body(one: dict[str, Any]) -> Iterator[str]:
    content = one.get("requestBody", {}).get("content", {})
    shapes = [
        f"{code(media)}" + (f": {typed(held['schema'])}" if held["schema"] else "") for media, held in content.items()
    ]
    if shapes:
        yield from (f"Body: {'; or '.join(shapes)}.", "")


def answers(one: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What it answers with when it goes well; then the problems, in one row."""
    problems = []
    for status, answer in one["responses"].items():
        content = answer.get("content", {})
        if "application/problem+json" in content:
            problems.append(status)
        else:
            held = "; or ".join(f"{code(media)} {typed(it['schema'])}" for media, it in content.items())
            yield status, f"{answer['description']}{': ' if held else ''}{held}"
    yield ", ".join(problems), "a problem"


def typed(schema: dict[str, Any]) -> str:
    """A schema in a few words; a named one is a link to its table."""
    if name := schema.get("$ref", "").rpartition("/")[2]:
        return f"[{short(name)}](#{slug(short(name))})"
    if choices := schema.get("anyOf"):
        return " or ".join(dict.fromkeys(typed(choice) for choice in choices))
    if "enum" in schema:
        return " or ".join(code(value if value is not None else "null") for value in schema["enum"])
    if "const" in schema:
        return code(schema["const"])
    kind = schema.get("type", "any value")
    if kind == "array":
        return f"list of {typed(schema.get('items', {}))}"
    return {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(kind, kind)


def short(name: str) -> str:
    """A name without where it comes from; two of one name keep the last part of that."""
    return " ".join(reversed(name.split(".")[-2:])) if "." in name else name


def shapes(text: str, named: dict[str, Any]) -> Iterator[str]:
    """The types that the operations link to, and those that these link to."""
    yield from ("## Shapes", "", "What the operations above name.", "")
    sections = {short(name): list(shape(short(name), schema)) for name, schema in named.items()}
    reached: dict[str, None] = {}
    waiting = [text]
    while waiting:
        words = waiting.pop()
        new = [name for name in sections if f"(#{slug(name)})" in words and name not in reached]
        reached.update(dict.fromkeys(new))
        waiting += ["\n".join(sections[name]) for name in new]
    for name in sorted(reached, key=str.lower):
        yield from sections[name]


def shape(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield from (f"### {name}", "")
    if schema.get("description"):
        yield from (schema["description"], "")
    needed = schema.get("required", [])
    fields = schema.get("properties", {}).items()
    rows = [(code(key), typed(held), field_words(key in needed, held)) for key, held in fields]
    yield from table(("field", "type", "is"), rows) or [f"{typed({**schema, 'description': ''})}.", ""]


def field_words(is_needed: bool, held: dict[str, Any]) -> str:
    words = ["required"] * is_needed + ([held["description"]] if "description" in held else [])
    if not is_needed and held.get("default") not in (None, "", [], {}):
        words.append(f"default {code(held['default'])}")
    return "; ".join(words)
