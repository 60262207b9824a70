"""The part of JSON Schema (2020-12) that we read ourselves: where data departs from a schema.

A schema and data in, the first departure out: where in the data, what was wanted, what was found. The data itself is
never shown, only what sort of thing it is. Every keyword means what the standard says; one that is not in CHECKS is
found by `needs_library`, and whoever checks data asks a library then (the extra `schema`) or refuses: no keyword is
passed over. `pattern` is among those, because Python's expressions can take for ever on a text of a stranger's, and the
library's cannot. Without `$ref` a schema is a tree, so a check goes no deeper than the schema is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

Schema = dict[str, Any] | bool
Path = tuple[str | int, ...]

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
OF_THE_LIBRARY = frozenset(
    "pattern format multipleOf uniqueItems contains minContains maxContains propertyNames patternProperties if then "
    "else dependentRequired dependentSchemas unevaluatedItems unevaluatedProperties $ref $defs $anchor $dynamicRef "
    "$dynamicAnchor $vocabulary contentEncoding contentMediaType contentSchema definitions dependencies "
    "additionalItems".split()
)
WANTED_CHARACTERS_MAX = 200
PATH_CHARACTERS_MAX = 200


class Mismatch(NamedTuple):
    """The first place where data is not as its schema says."""

    path: Path
    wanted: str
    found: str

    def __str__(self) -> str:
        return f"{shown(self.path)}: wanted {self.wanted}, found {self.found}"


class Spot(NamedTuple):
    """Where a check stands: in the data, and in which schema."""

    path: Path
    schema: dict[str, Any]

    def fault(self, wanted: str, found: str) -> Mismatch:
        return Mismatch(self.path, wanted, found)


def shown(path: Path) -> str:
    """`data.rows[3].id`"""
    words = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return shortened(f"data{words}", PATH_CHARACTERS_MAX)


def shortened(text: str, characters_max: int = WANTED_CHARACTERS_MAX) -> str:
    return text if len(text) <= characters_max else f"{text[:characters_max]}…"


def needs_library(schema: Schema) -> str | None:
    """A keyword of the schema that is not read here; None: there is none."""
    for _, one in each_schema(schema):
        for keyword in one if isinstance(one, dict) else ():
            if keyword in OF_THE_LIBRARY:
                return str(keyword)
    return None


def mismatch(schema: Schema, data: Any, path: Path = ()) -> Mismatch | None:
    """Where data departs from a schema; None: nowhere."""
    if isinstance(schema, bool):
        return None if schema else Mismatch(path, "nothing here", described(data))
    at = Spot(path, schema)
    for keyword, wanted in schema.items():
        check = CHECKS.get(keyword)
        found = check(wanted, data, at) if check else None
        if found is not None:
            return found
    return None


def described(data: Any) -> str:
    """What sort of thing data is, without showing it."""
    if data is None:
        return "null"
    if isinstance(data, bool):
        return "a boolean"
    if isinstance(data, str):
        return f"a string of {len(data)} characters"
    if isinstance(data, list):
        return f"an array of {len(data)} items"
    if isinstance(data, dict):
        return f"an object of {len(data)} properties"
    return "an integer" if is_type("integer", data) else "a number"


# --- one keyword each: its value, the data, and where both stand ------------------------------------------------------

Check = Callable[[Any, Any, Spot], Mismatch | None]


def is_type(name: str, data: Any) -> bool:
    if name == "integer":
        return is_number(data) and (isinstance(data, int) or data.is_integer())
    if name == "number":
        return is_number(data)
    kinds = {"null": type(None), "boolean": bool, "string": str, "array": list, "object": dict}
    return isinstance(data, kinds[name])


def is_number(data: Any) -> bool:
    return isinstance(data, int | float) and not isinstance(data, bool)


def is_same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is 1.0, and true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(value, other[name]) for name, value in one.items())
    return bool(one == other)


def of_type(wanted: Any, data: Any, at: Spot) -> Mismatch | None:
    names = wanted if isinstance(wanted, list) else [wanted]
    if any(is_type(name, data) for name in names):
        return None
    return at.fault(" or ".join(names), described(data))


def of_enum(wanted: Any, data: Any, at: Spot) -> Mismatch | None:
    if any(is_same(value, data) for value in wanted):
        return None
    return at.fault(f"one of {as_json(wanted)}", f"another value ({described(data)})")


def of_const(wanted: Any, data: Any, at: Spot) -> Mismatch | None:
    return None if is_same(wanted, data) else at.fault(as_json(wanted), f"another value ({described(data)})")


def of_properties(wanted: Any, data: Any, at: Spot) -> Mismatch | None:
    if not isinstance(data, dict):
        return None
    found = (mismatch(one, data[name], (*at.path, name)) for name, one in wanted.items() if name in data)
    return next((fault for fault in found if fault), None)


def of_additional(wanted: Any, data: Any, at: Spot) -> Mismatch | None:
    if wanted is True or not isinstance(data, dict):
        return None
    known = at.schema.get("properties", {})
    for name, value in data.items():
        if name not in known and (fault := mismatch(wanted, value, (*at.path, name))):
            return at.fault("no further properties", f'"{shortened(name, 80)}"') if wanted is False else fault
    return None


def of_required(wanted: Any, data: Any, at: Spot) -> Mismatch | None:
    missing = [name for name in wanted if name not in data] if isinstance(data, dict) else []
    return at.fault(f'the property "{shortened(missing[0], 80)}"', "none of that name") if missing else None


def of_items(wanted: Any, data: Any, at: Spot) -> Mismatch | None:
    if wanted is True or not isinstance(data, list):
        return None
    first = len(at.schema.get("prefixItems", ()))
    found = (mismatch(wanted, data[index], (*at.path, index)) for index in range(first, len(data)))
    return next((fault for fault in found if fault), None)


def of_prefix_items(wanted: Any, data: Any, at: Spot) -> Mismatch | None:
    if not isinstance(data, list):
        return None
    found = (
        mismatch(one, item, (*at.path, index)) for index, (one, item) in enumerate(zip(wanted, data, strict=False))
    )
    return next((fault for fault in found if fault), None)


def of_any(wanted: Any, data: Any, at: Spot) -> Mismatch | None:
    faults = [mismatch(one, data, at.path) for one in wanted]
    if not all(faults):
        return None
    ways = "; ".join(f"{shown(fault.path)} {fault.wanted}" for fault in faults if fault)
    return at.fault(f"one of these: {shortened(ways)}", described(data))


def of_one(wanted: Any, data: Any, at: Spot) -> Mismatch | None:
    fitting = sum(mismatch(one, data, at.path) is None for one in wanted)
    if fitting == 1:
        return None
    return at.fault(f"exactly one of {len(wanted)} schemas to fit", f"{fitting} that do ({described(data)})")


def of_all(wanted: Any, data: Any, at: Spot) -> Mismatch | None:
    return next((fault for one in wanted if (fault := mismatch(one, data, at.path))), None)


def of_not(wanted: Any, data: Any, at: Spot) -> Mismatch | None:
    if mismatch(wanted, data, at.path):
        return None
    return at.fault(f"anything but {as_json(wanted)}", described(data))


def bound(words: str, sort: Callable[[Any], bool], is_kept: Callable[[Any, Any], bool]) -> Check:
    """A check that compares data of one sort with a number."""

    def check(wanted: Any, data: Any, at: Spot) -> Mismatch | None:
        if not sort(data) or is_kept(data, wanted):
            return None
        found = "another number" if is_number(data) else described(data)
        return at.fault(words.format(wanted), found)

    return check


def is_text(data: Any) -> bool:
    return isinstance(data, str)


def is_array(data: Any) -> bool:
    return isinstance(data, list)


def is_object(data: Any) -> bool:
    return isinstance(data, dict)


CHECKS: dict[str, Check] = {
    "type": of_type,
    "enum": of_enum,
    "const": of_const,
    "properties": of_properties,
    "required": of_required,
    "additionalProperties": of_additional,
    "prefixItems": of_prefix_items,
    "items": of_items,
    "anyOf": of_any,
    "oneOf": of_one,
    "allOf": of_all,
    "not": of_not,
    "minimum": bound("at least {}", is_number, lambda data, limit: data >= limit),
    "maximum": bound("at most {}", is_number, lambda data, limit: data <= limit),
    "exclusiveMinimum": bound("more than {}", is_number, lambda data, limit: data > limit),
    "exclusiveMaximum": bound("less than {}", is_number, lambda data, limit: data < limit),
    "minLength": bound("at least {} characters", is_text, lambda data, limit: len(data) >= limit),
    "maxLength": bound("at most {} characters", is_text, lambda data, limit: len(data) <= limit),
    "minItems": bound("at least {} items", is_array, lambda data, limit: len(data) >= limit),
    "maxItems": bound("at most {} items", is_array, lambda data, limit: len(data) <= limit),
    "minProperties": bound("at least {} properties", is_object, lambda data, limit: len(data) >= limit),
    "maxProperties": bound("at most {} properties", is_object, lambda data, limit: len(data) <= limit),
}


# --- schemas within schemas -------------------------------------------------------------------------------------------

BELOW = ("additionalProperties", "items", "not", "contains", "propertyNames", "if", "then", "else")
NAMED_BELOW = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
LISTED_BELOW = ("anyOf", "oneOf", "allOf", "prefixItems")


def each_schema(schema: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """A schema and all that stand in it, whatever they are, with their places."""
    yield path, schema
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        if keyword in BELOW:
            yield from each_schema(value, (*path, keyword))
        elif keyword in NAMED_BELOW and isinstance(value, dict):
            for name, one in value.items():
                yield from each_schema(one, (*path, keyword, name))
        elif keyword in LISTED_BELOW and isinstance(value, list):
            for index, one in enumerate(value):
                yield from each_schema(one, (*path, keyword, index))


def as_json(value: Any) -> str:
    return shortened(msgspec.json.encode(value).decode())
