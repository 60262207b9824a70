"""Values between JSON and DuckDB. Used inside its child.

Into SQL: text, numbers, booleans and null as they are, a list of such of one sort as a list, and every other list and
every mapping as JSON, which DuckDB turns into a STRUCT or MAP where a column is one.

Out of SQL: rows as mappings of JSON data. What Python's types would change or lose (time zones, months of an interval,
nanoseconds, infinity, keys of maps) is cast to text in the query itself. Whole numbers are numbers, a fraction of a
DECIMAL is text since a float would round it, and so are integers of more than 64 bits, NaN and infinities; bytes are
{base64}; dates and times ISO texts.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

import duckdb

from noetl.sql import Name
from noetl.tools.json_data import INTEGER_MAX, INTEGER_MIN
from noetl.web.json_body import NotJson, parsed_json

Reader = Callable[[Any], Any]

STAMPS: Final = frozenset(
    ("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone", "timestamp_tz")
)
AS_JSON: Final = frozenset(("json", "union", "variant", "tuple"))
WHOLE: Final = frozenset(("hugeint", "uhugeint"))
PLAIN: Final = frozenset(
    "boolean tinyint smallint integer bigint utinyint usmallint uinteger ubigint varchar enum bit null sqlnull".split()
)
JSON: Final[Any] = "JSON"  # a name is taken for the type, which its declaration leaves out
_STAMP: Final = re.compile(r"(\d{4,6}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d)?(:\d\d)?(:\d\d)?")


class Reading(NamedTuple):
    """How a type is read: cast to this one in SQL, then by a function, if it needs one."""

    cast: str
    read: Reader | None = None


def bound(value: Any) -> Any:
    """A value as DuckDB's client takes it."""
    if isinstance(value, dict) or (isinstance(value, list) and not _is_uniform(value)):
        return duckdb.Value(json.dumps(value), JSON)
    return value


def _is_uniform(values: list[Any]) -> bool:
    """Whether a list is one of DuckDB's too: all of one sort, lists of such included."""
    there = [value for value in values if value is not None]
    sorts = {float if type(value) is int else type(value) for value in there}
    if not there or sorts == {list}:
        return all(map(_is_uniform, there))
    return len(sorts) == 1 and dict not in sorts


def reading_of(kind: Any) -> Reading:
    """How values of a type (duckdb's DuckDBPyType) are read."""
    name = str(kind.id)
    if name in AS_JSON or str(kind) == "JSON":
        return Reading("JSON", _json)
    if name in PLAIN:
        return Reading(str(kind))
    if name in NESTED:
        return NESTED[name](dict(kind.children))
    return LEAVES.get(name) or Reading("VARCHAR", _stamp if name in STAMPS else None)


def _list_reading(children: dict[str, Any]) -> Reading:
    inner = reading_of(children["child"])
    return Reading(f"{inner.cast}[]", lambda values: [_applied(inner.read, value) for value in values])


def _struct_reading(children: dict[str, Any]) -> Reading:
    inner = {name: reading_of(kind) for name, kind in children.items()}
    casts = ", ".join(f"{Name((name,)).quoted} {one.cast}" for name, one in inner.items())
    return Reading(
        f"STRUCT({casts})",
        lambda value: {name: _applied(inner[name].read, part) for name, part in value.items()},
    )


def _map_reading(children: dict[str, Any]) -> Reading:
    inner = reading_of(children["value"])
    return Reading(
        f"MAP(VARCHAR, {inner.cast})",
        lambda value: {key: _applied(inner.read, part) for key, part in value.items()},
    )


def _applied(read: Reader | None, value: Any) -> Any:
    return value if read is None or value is None else read(value)


def _whole(number: int) -> int | str:
    return number if INTEGER_MIN <= number <= INTEGER_MAX else str(number)


def _decimal(number: Decimal) -> int | str:
    return str(number) if number.as_tuple().exponent else _whole(int(number))


def _double(number: float) -> float | str:
    return number if math.isfinite(number) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(number)]


def _float(text: str) -> float | str:
    return _double(float(text))


def _bignum(text: str) -> int | str:
    return _whole(int(text)) if len(text) <= 20 else text


def _blob(data: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(data).decode("ascii")}


def _stamp(text: str) -> str:
    """2020-01-02 03:04:05+01 as ISO; infinity and years BC stay as they are."""
    found = _STAMP.fullmatch(text)
    if found is None:
        return text
    date, clock, hours, minutes, seconds = found.groups()
    return f"{date}T{clock}{hours + (minutes or ':00') + (seconds or '') if hours else ''}"


def _json(text: str) -> Any:
    try:
        return parsed_json(text.encode())
    except NotJson:  # deeper than we keep, or numbers that no float holds: the text is all of it
        return text


LEAVES: Final = {
    "hugeint": Reading("HUGEINT", _whole),
    "uhugeint": Reading("UHUGEINT", _whole),
    "bignum": Reading("VARCHAR", _bignum),
    "float": Reading("VARCHAR", _float),  # as text, for 0.1 is 0.10000000149 as a double
    "double": Reading("DOUBLE", _double),
    "blob": Reading("BLOB", _blob),
}
NESTED: Final[dict[str, Callable[[dict[str, Any]], Reading]]] = {
    "list": _list_reading,
    "array": _list_reading,
    "struct": _struct_reading,
    "map": _map_reading,
    "decimal": lambda size: Reading(f"DECIMAL({size['precision']}, {size['scale']})", _decimal),
}


class Columns:
    """The columns of a result: what to select of it, and how its rows become mappings."""

    def __init__(self, names: Sequence[str], kinds: Sequence[Any]) -> None:
        self.names = list(names)
        self._readings = [reading_of(kind) for kind in kinds]
        self._needs_cast = [reading.cast != str(kind) for reading, kind in zip(self._readings, kinds, strict=True)]

    @property
    def projection(self) -> str:
        """The columns by their place, since two may have one name."""
        return ", ".join(
            f"CAST(#{place} AS {reading.cast})" if needs_cast else f"#{place}"
            for place, (reading, needs_cast) in enumerate(zip(self._readings, self._needs_cast, strict=True), 1)
        )

    def rows(self, fetched: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
        """Rows as they were fetched, as mappings of JSON data."""
        if not fetched:
            return []
        columns = [
            values if reading.read is None else [_applied(reading.read, value) for value in values]
            for reading, values in zip(self._readings, zip(*fetched, strict=True), strict=True)
        ]
        return [dict(zip(self.names, row, strict=True)) for row in zip(*columns, strict=True)]
