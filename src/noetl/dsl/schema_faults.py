"""What is wrong with a JSON Schema that an author wrote: a schema in, faults with their places in it out.

A keyword that JSON Schema does not have is a fault, though the standard would pass it over: `requird` checks nothing.
Keywords that only the library reads are taken as they are; the library refuses what it cannot use.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from noetl.json_schema import (
    CHECKS,
    LISTED_BELOW,
    OF_THE_LIBRARY,
    TYPES,
    Path,
    described,
    each_schema,
    is_number,
    is_type,
    shortened,
)

TYPE_WORDS = {"text": "string", "str": "string", "int": "integer", "float": "number", "bool": "boolean"} | {
    **dict.fromkeys(("list", "sequence"), "array"),
    **dict.fromkeys(("mapping", "dict", "map"), "object"),
    **dict.fromkeys(("none", "nil"), "null"),
}
SAID_ONLY = frozenset("title description default examples deprecated readOnly writeOnly $schema $id $comment".split())
WORDS = tuple(sorted({*CHECKS, *SAID_ONLY, *OF_THE_LIBRARY}))


class SchemaFault(NamedTuple):
    """What is wrong with a schema, and where in it."""

    path: Path
    message: str
    word: str = ""  # the word that is wrong, or what is commonly meant by it, and those that would be right
    near: tuple[str, ...] = ()
    is_about_key: bool = False


def schema_faults(schema: Any) -> Iterator[SchemaFault]:
    """Everything wrong with a schema."""
    for path, one in each_schema(schema):
        if isinstance(one, bool):
            continue
        if not isinstance(one, dict):
            yield SchemaFault(path, f"a schema is a mapping, or true or false, but this is {described(one)}")
            continue
        for keyword, value in one.items():
            yield from keyword_faults(keyword, value, (*path, keyword))


def keyword_faults(keyword: str, value: Any, path: Path) -> Iterator[SchemaFault]:
    if keyword not in CHECKS:
        if keyword not in SAID_ONLY and keyword not in OF_THE_LIBRARY and not keyword.startswith("x-"):
            yield SchemaFault(path, f'"{shortened(keyword, 80)}" is no keyword of JSON Schema', keyword, WORDS, True)
    elif keyword == "type":
        yield from type_faults(value, path)
    elif keyword in LISTED_BELOW or keyword == "enum":
        if not isinstance(value, list) or not value:
            yield SchemaFault(path, f"{keyword} is a list with at least one item, but this is {described(value)}")
    elif keyword == "required":
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            yield SchemaFault(path, f"required is a list of names, but this is {described(value)}")
    elif keyword == "properties":
        if not isinstance(value, dict):
            yield SchemaFault(path, f"properties is a mapping of names to schemas, but this is {described(value)}")
    elif keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if not is_number(value):
            yield SchemaFault(path, f"{keyword} is a number, but this is {described(value)}")
    elif keyword.startswith(("min", "max")) and not (is_type("integer", value) and value >= 0):
        yield SchemaFault(path, f"{keyword} is a whole number from 0, but this is {described(value)}")


def type_faults(value: Any, path: Path) -> Iterator[SchemaFault]:
    names = value if isinstance(value, list) and value else [value]
    for name in names:
        if not isinstance(name, str):
            yield SchemaFault(
                path, f"type is one of {', '.join(TYPES)}, or a list of them, but this is {described(name)}"
            )
        elif name not in TYPES:
            meant = TYPE_WORDS.get(name.lower(), name)
            yield SchemaFault(path, f'JSON Schema has no type "{shortened(name, 80)}"', meant, TYPES)
