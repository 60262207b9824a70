"""Values between JSON data and PostgreSQL, in both directions.

Out of the database, by the type of the column:

    boolean, integers              as they are
    float                          a number; NaN and the infinities as text
    numeric                        a whole number within 64 bits as a number, any other as its exact text: no rounding
    json, jsonb                    data, with the bounds that JSON of strangers has
    timestamp, timestamptz         ISO 8601, with the offset if the type has one
    bytea                          {base64: …}
    arrays                         lists, nested as they are
    everything else                the text that the server gives: dates, times, intervals, uuid, enums, ranges, inet …

Into the database: text is sent without a type, so that the server reads it as what stands there (a timestamp, a
number, JSON); a mapping as jsonb; a list as an array or as JSON, as the server says of that parameter (`bound_list`).

Nothing here talks to a server.
"""

from __future__ import annotations

import base64
import re
from typing import Any

import msgspec
import psycopg
from psycopg import pq
from psycopg.adapt import AdaptersMap, Buffer, Loader
from psycopg.types.json import Jsonb
from psycopg.types.string import TextLoader

from noetl.tools.copy_text import array_literal
from noetl.web.json_body import INTEGER_MAX, INTEGER_MIN, NotJson, parsed_json

KEPT_LOADERS = frozenset("bool int2 int4 int8 oid".split())  # psycopg reads these as we want them
JSON_TYPES = frozenset(("json", "jsonb"))

_encode = msgspec.json.Encoder().encode
_STAMP = re.compile(r"(\d{4,6}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d)?(:\d\d)?(:\d\d)?")


class FloatOf(Loader):
    def load(self, data: Buffer) -> Any:
        number = float(bytes(data))
        return number if number - number == 0 else str(data, "utf-8")  # NaN and Infinity are no JSON


class NumericOf(Loader):
    """Whole numbers as numbers; a fraction as text, because a float would round it."""

    def load(self, data: Buffer) -> Any:
        text = str(data, "utf-8")
        if len(text) > 20 or not text.lstrip("-").isdigit():
            return text
        number = int(text)
        return number if INTEGER_MIN <= number <= INTEGER_MAX else text


class StampOf(Loader):
    def load(self, data: Buffer) -> Any:
        text = str(data, "utf-8")
        found = _STAMP.fullmatch(text)
        if found is None:  # infinity, BC, or a DateStyle that the author set
            return text
        date, time, hours, minutes, seconds = found.groups()
        return f"{date}T{time}{hours + (minutes or ':00') + (seconds or '') if hours else ''}"


class BytesOf(Loader):
    def load(self, data: Buffer) -> Any:
        raw = pq.Escaping().unescape_bytea(bytes(data))  # reads both formats that a server may write
        return {"base64": base64.b64encode(raw).decode("ascii")}


class JsonOf(Loader):
    def load(self, data: Buffer) -> Any:
        try:
            return parsed_json(bytes(data))
        except NotJson:  # deeper than we keep, or numbers that no float holds: the text is all of it
            return str(data, "utf-8")


def _adapters() -> AdaptersMap:
    """psycopg's own, with what is no JSON data read as above."""
    made = AdaptersMap(psycopg.adapters)
    special: dict[str, Any] = {
        **dict.fromkeys(("float4", "float8"), FloatOf),
        **dict.fromkeys(("timestamp", "timestamptz"), StampOf),
        **dict.fromkeys(JSON_TYPES, JsonOf),
        "numeric": NumericOf,
        "bytea": BytesOf,
    }
    for info in made.types:
        if info.name not in KEPT_LOADERS:
            made.register_loader(info.oid, special.get(info.name, TextLoader))
    made.register_loader(0, TextLoader)  # types that no table of ours knows
    return made


ADAPTERS = _adapters()


def bound(value: Any) -> Any:
    """A value as psycopg sends it; a list must have gone through `bound_list`."""
    return Jsonb(value, dumps=_encode) if isinstance(value, dict) else value


def bound_list(value: list[Any], type_name: str) -> str:
    """A list for a parameter of this type: an array's literal if it is an array, else JSON."""
    return array_literal(value) if type_name.endswith("[]") else _encode(value).decode()
