"""What a transfer is to do: its call read and checked, before anything is opened.

In: the fields of a call. Out: a `Plan`, or Refused with what was wanted. Nothing here reaches a network or a file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from noetl.tools.contract import Call
from noetl.tools.refused import Refused
from noetl.tools.row_streams import FORMATS

CHUNK_ROWS = 50_000
SOURCES = ("http", "file", "ref", "postgres", "duckdb")
TARGETS = ("postgres", "file")
MODES = ("append", "replace", "upsert")
DATABASES = ("postgres", "duckdb")
COLUMNS_MAX = 1_600  # what a table of PostgreSQL can have


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A transfer that can be tried."""

    source: dict[str, Any]
    target: dict[str, Any]
    columns: dict[str, str] | None  # source to target; None: those that come
    mode: str
    key: tuple[str, ...]
    chunk_rows: int
    is_restartable: bool

    @property
    def source_names(self) -> tuple[str, ...] | None:
        return tuple(self.columns) if self.columns is not None else None

    def sources_of(self, targets: Collection[str]) -> frozenset[str]:
        """What columns of the target are called in the source."""
        pairs = (self.columns or {}).items()
        return frozenset(source for source, target in pairs if target in targets) if pairs else frozenset(targets)

    def target_names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """What the columns of the source are called in the target."""
        return tuple(self.columns.get(name, name) for name in names) if self.columns else names


def plan_of(call: Call) -> Plan:
    given = call.input
    source = _side("source", given.get("source"), SOURCES)
    target = _side("target", given.get("target"), TARGETS)
    if "query" in source:
        raise Refused("type", "write query beside source, not in it: there, a template in it becomes a bound parameter")
    if (source["kind"] in DATABASES) != (given.get("query") is not None):
        words = "needs query" if source["kind"] in DATABASES else "takes no query"
        raise Refused("type", f"a source of kind {source['kind']} {words}")
    mode = given.get("mode") or "append"
    key = _names("key", given.get("key") or ())
    _check_mode(mode, key, target)
    return Plan(
        source=source,
        target=target,
        columns=_columns(given.get("columns")),
        mode=mode,
        key=key,
        chunk_rows=_chunk_rows(given.get("chunk_rows")),
        is_restartable=call.spec.get("restartable") is not False,
    )


def _side(field: str, value: object, kinds: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, Mapping) or value.get("kind") not in kinds:
        raise Refused("type", f"{field} must be a mapping whose kind is one of: {', '.join(kinds)}")
    row_format = value.get("format")
    if row_format is not None and row_format not in FORMATS:
        raise Refused("type", f"{field}.format must be one of: {', '.join(FORMATS)}")
    return dict(value)


def _check_mode(mode: object, key: tuple[str, ...], target: Mapping[str, Any]) -> None:
    if mode not in MODES:
        raise Refused("type", f"mode must be one of: {', '.join(MODES)}")
    if target["kind"] == "postgres" and not target.get("table"):
        raise Refused("type", "target.table must name the table that the rows go into")
    if target["kind"] == "file" and mode != "append":
        raise Refused("type", f"mode {mode} is for tables; a file is always made anew")
    if (mode == "upsert") != bool(key):
        words = "needs key, the columns that say which row is which" if mode == "upsert" else "takes no key"
        raise Refused("type", f"mode {mode} {words}")


def _names(field: str, value: object) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) and name for name in names):
        raise Refused("type", f"{field} must be the name of a column, or a list of names")
    if len(names) > COLUMNS_MAX or len(set(names)) != len(names):
        raise Refused("type", f"{field} may have {COLUMNS_MAX} columns, each of them once")
    return tuple(names)


def _columns(value: object) -> dict[str, str] | None:
    if value is None:
        return None
    if isinstance(value, Mapping):
        pairs = dict(zip(_names("columns", list(value)), _names("columns", list(value.values())), strict=True))
    else:
        pairs = {name: name for name in _names("columns", value)}
    if not pairs:
        raise Refused("type", "columns must name at least one column; leave it out to take all")
    return pairs


def _chunk_rows(value: object) -> int:
    if value is None:
        return CHUNK_ROWS
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise Refused("type", "chunk_rows must be a whole number of at least 1")
    return value
