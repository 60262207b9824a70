"""Rows in bulk, with COPY: what the field `copy` asks for.

    copy: {into: schema.table, columns: [a, b], rows: …}      rows: a list, or a reference to JSON, JSON lines or CSV
    copy: {from: SELECT … | table, format: csv|ndjson|json}   output.ref is what was stored

The mapping in, a plan out: a `Load`, which postgres_load carries out, or an `Unload`, for postgres_unload. Nothing here
talks to a server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from noetl.references import JSON, LINES, Reference, reference_of
from noetl.sql import Name, Sql
from noetl.tools.postgres_failures import Failed
from noetl.tools.sql_params import Params
from noetl.tools.sql_statements import Statement, statements

FORMATS = {"csv": "text/csv", "ndjson": LINES, "json": JSON}
LOAD_KEYS = frozenset(("into", "columns", "rows", "header"))
UNLOAD_KEYS = frozenset(("from", "format"))

_PART = r'(?:[^\W\d][\w$]*|"(?:[^"\x00]|"")+")'
_NAME = re.compile(rf"\s*({_PART}(?:\.{_PART})*)\s*")


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Rows into a table."""

    into: Name
    rows: list[Any] | Reference
    columns: tuple[str, ...] = ()  # none: those that the rows have
    has_header: bool = True  # of CSV


class Unload(msgspec.Struct, frozen=True, kw_only=True):
    """A query's rows into a reference."""

    statement: Statement
    format: str


def plan_of(copy: object, params: Params) -> Load | Unload:
    """What `copy` asks for; raises Failed, or UnusableSql."""
    if not isinstance(copy, Mapping) or ("into" in copy) == ("from" in copy):
        raise Failed("type", "copy must be {into, columns, rows} or {from, format}")
    unknown = sorted(copy.keys() - (LOAD_KEYS if "into" in copy else UNLOAD_KEYS))
    if unknown:
        raise Failed(
            "type", f"copy has no {', '.join(map(str, unknown))[:200]}: {{into, columns, rows}}, {{from, format}}"
        )
    return _load_of(copy) if "into" in copy else _unload_of(copy, params)


def _load_of(copy: Mapping[str, Any]) -> Load:
    given, columns = copy.get("rows"), copy.get("columns")
    rows = given if isinstance(given, list) else _reference_in(given)
    if rows is None:
        raise Failed("type", "copy.rows must be a list of rows, or a reference such as {{ fetch.ref }}")
    if not (columns is None or (isinstance(columns, list) and all(isinstance(name, str) for name in columns))):
        raise Failed("type", "copy.columns must be a list of names")
    return Load(
        into=table_name(copy["into"]),
        rows=rows,
        columns=tuple(columns or ()),
        has_header=copy.get("header") is not False,
    )


def _reference_in(given: object) -> Reference | None:
    """A reference, or that of an output which has one."""
    return reference_of(given) or (reference_of(given.get("ref")) if isinstance(given, Mapping) else None)


def _unload_of(copy: Mapping[str, Any], params: Params) -> Unload:
    sql, form = copy["from"], copy.get("format", "csv")
    if not isinstance(sql, Sql):
        raise Failed("type", "copy.from must be SQL, or the name of a table, that stands in the playbook itself")
    if not isinstance(form, str) or form not in FORMATS:
        raise Failed("type", f"copy.format must be one of {', '.join(FORMATS)}")
    if len(sql.pieces) == 1 and isinstance(sql.pieces[0], str) and _NAME.fullmatch(sql.pieces[0]):
        sql = Sql((f"TABLE {sql.pieces[0]}",))
    found = statements(sql, params)
    if len(found) != 1:
        raise Failed("type", f"copy.from must be one statement, but has {len(found)}")
    return Unload(statement=found[0], format=form)


def table_name(given: object, field: str = "copy.into") -> Name:
    """`table`, `schema.table` or [schema, table], each as it is written: a name is never folded to lower case."""
    if isinstance(given, list) and given and all(isinstance(part, str) and part for part in given):
        return Name(tuple(given))
    if isinstance(given, str) and _NAME.fullmatch(given):
        parts = re.findall(_PART, given)
        return Name(tuple(part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts))
    raise Failed("type", f"{field} must be the name of a table: orders, shop.orders or [shop, orders]")
