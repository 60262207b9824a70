"""What a duckdb task is to do: its call read and checked, before anything is opened.

In: the fields of a call. Out: a `Plan`, or Refused with what was wanted. Looks at which files there are; opens none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

import msgspec

from noetl.errors import UnusableSql
from noetl.references import JSON as JSON_TYPE
from noetl.references import LINES, Reference, reference_of
from noetl.tools.beside import find_file
from noetl.tools.contract import Call, ToolSettings
from noetl.tools.refused import Refused
from noetl.tools.sql_statements import Statement, statements

MEMORY_MB: Final = 1024
DISK_MB: Final = 4096
NAMES_MAX: Final = 100  # of `attach` and of `read`
NAME_CHARACTERS_MAX: Final = 255
IN_MEMORY: Final = ("", ":memory:")
PARQUET_TYPE: Final = "application/vnd.apache.parquet"
SQL_FIELDS: Final = ("command", "query", "commands")
RESERVED_NAMES: Final = frozenset(("temp", "system", "main", "memory"))  # catalogs that are there anyway

WRITE_FORMATS: Final = {"parquet": PARQUET_TYPE, "csv": "text/csv", "json": JSON_TYPE, "ndjson": LINES}
READ_FORMATS: Final = {
    PARQUET_TYPE: "parquet",
    "application/parquet": "parquet",
    "application/x-parquet": "parquet",
    "text/csv": "csv",
    JSON_TYPE: "json",
    LINES: "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
}


class DatabaseFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is opened as a database; its folder is there, the file perhaps not yet."""

    path: Path
    is_read_only: bool = False


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes a table of that name: a stored payload, or rows at hand."""

    name: str
    format: str
    payload: Reference | list[Any]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A task that can be tried."""

    statements: tuple[Statement, ...]
    database: DatabaseFile | None = None  # None: in memory
    attached: dict[str, DatabaseFile] = {}
    reads: tuple[Read, ...] = ()
    write_format: str = ""  # "": the rows are the data
    is_external_allowed: bool = False
    is_autocommit: bool = False
    keeps_all: bool = False  # the rows of every statement, not only of the last that gives any
    memory_mb: int = MEMORY_MB
    disk_mb: int = DISK_MB

    @property
    def files(self) -> tuple[DatabaseFile, ...]:
        return (*((self.database,) if self.database else ()), *self.attached.values())


def plan_of(call: Call, settings: ToolSettings) -> Plan:
    """The plan of a call. Raises Refused."""
    given = call.input
    database = None if given.get("database") in (None, *IN_MEMORY) else given["database"]
    plan = Plan(
        statements=statements_of(call),
        database=None if database is None else database_file("database", database, call, settings),
        attached={
            name: database_file(f"attach.{name}", value, call, settings)
            for name, value in _named("attach", given.get("attach")).items()
        },
        reads=tuple(_read(name, value) for name, value in _named("read", given.get("read")).items()),
        write_format=_write_format(given.get("write")),
        is_external_allowed=_is_external_allowed(call, settings),
        is_autocommit=call.spec.get("autocommit") is True,
        keeps_all=call.is_transparent,
        memory_mb=int(call.spec.get("memory_mb") or MEMORY_MB),
        disk_mb=int(call.spec.get("disk_mb") or DISK_MB),
    )
    _check_each_once(plan)
    return plan


def statements_of(call: Call) -> tuple[Statement, ...]:
    """The statements of the SQL, secrets in their values sealed."""
    sql = next((call.given[field] for field in SQL_FIELDS if call.given.get(field) is not None), "")
    try:
        return tuple(statements(sql, call.given.get("params")))
    except UnusableSql as fault:
        raise Refused("type", str(fault)) from None


def database_file(field: str, value: object, call: Call, settings: ToolSettings) -> DatabaseFile:
    """`path` or `{path, read_only}`: a file beside the playbook, or a new one there."""
    options = dict(value) if isinstance(value, Mapping) else {"path": value}
    if "type" in options:
        raise Refused(
            "type",
            f"{field} can only be a file of DuckDB. Other databases need an extension of DuckDB, which is code from "
            "the network: not available by default. Use kind: postgres or kind: transfer for PostgreSQL",
        )
    path, is_read_only = options.pop("path", None), options.pop("read_only", False)
    if not isinstance(path, str) or not isinstance(is_read_only, bool) or options:
        raise Refused("type", f"{field} must be the path of a file, or {{path, read_only: true or false}}")
    if "://" in path:
        raise Refused("type", f"{field} must be a file beside the playbook; DuckDB opens no URL here")
    return DatabaseFile(path=_place_of(path, call, settings, may_be_new=not is_read_only), is_read_only=is_read_only)


def _place_of(path: str, call: Call, settings: ToolSettings, *, may_be_new: bool) -> Path:
    """The real path of a database file by the rules of beside.py; a new one is made beside the playbook only."""
    try:
        return find_file(path, call.folder, settings.script_roots)
    except Refused as refused:
        if refused.kind != "not_found" or not may_be_new or call.folder is None:
            raise
        place = call.folder / PurePosixPath(path)
        try:
            is_free = not os.path.lexists(place)  # a link to nowhere is there, and not ours to follow
            parent = place.parent.resolve()
            is_inside = parent.is_dir() and parent.is_relative_to(call.folder.resolve())
        except (OSError, RuntimeError, ValueError):
            raise refused from None
        if not (is_free and is_inside and os.access(parent, os.W_OK)):
            raise
        return parent / place.name


def _named(field: str, value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or len(value) > NAMES_MAX:
        raise Refused("type", f"{field} must be a mapping of at most {NAMES_MAX} names")
    for name in value:
        if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARACTERS_MAX or "\0" in name:
            raise Refused("type", f"{field} has a name that is none: it must be text of 1 to {NAME_CHARACTERS_MAX}")
    return dict(value)


def _read(name: str, value: object) -> Read:
    options = value if isinstance(value, Mapping) and "ref" in value else {"ref": value}
    payload, chosen = options["ref"], options.get("format")
    if set(options) - {"ref", "format"} or (chosen is not None and chosen not in WRITE_FORMATS):
        raise Refused("type", f"read.{name} takes ref and format, which is one of: {', '.join(WRITE_FORMATS)}")
    if isinstance(payload, list):
        return Read(name=name, format="json", payload=payload)
    reference = reference_of(payload)
    if reference is None:
        found = "nothing" if payload is None else type(payload).__name__
        raise Refused(
            "ref_misuse",
            f"read.{name} must be a reference, such as {{{{ step_name.ref }}}}, or a list of rows, but is {found}. A "
            "small result has no reference: write {{ step_name.ref or step_name.data }}",
        )
    content_type = reference.content_type.partition(";")[0].strip().lower()
    found_format = chosen or READ_FORMATS.get(content_type)
    if found_format is None:
        raise Refused(
            "type",
            f"read.{name} is {content_type[:80]}, which does not tell how its rows are written: write "
            f"{{ref, format}} with one of: {', '.join(WRITE_FORMATS)}",
        )
    return Read(name=name, format=found_format, payload=reference)


def _write_format(value: object) -> str:
    if value is None:
        return ""
    options = dict(value) if isinstance(value, Mapping) else {"format": value}
    chosen = options.pop("format", "parquet")
    if options or chosen not in WRITE_FORMATS:
        raise Refused("type", f"write takes {{format}}, which is one of: {', '.join(WRITE_FORMATS)}")
    return str(chosen)


def _is_external_allowed(call: Call, settings: ToolSettings) -> bool:
    if call.spec.get("allow_external_access") is not True:
        return False
    if not settings.is_duckdb_external_allowed:
        raise Refused(
            "exception",
            "spec.allow_external_access is true, but this worker lets no SQL reach files and networks. An operator who "
            "trusts all authors can allow it with duckdb.external_access (NOETL_DUCKDB_EXTERNAL_ACCESS)",
        )
    return True


def _check_each_once(plan: Plan) -> None:
    """DuckDB opens a file once, whoever asks, and has catalogs whose names nobody else can have."""
    paths = [file.path for file in plan.files]
    if len(set(paths)) != len(paths):
        raise Refused("type", "database and attach must be different files")
    taken = {*RESERVED_NAMES, *({plan.database.path.stem.lower()} if plan.database else ())}
    for name in plan.attached:
        if name.lower() in taken:
            raise Refused("type", f'attach cannot use the name "{name}": it is the name of another database here')
