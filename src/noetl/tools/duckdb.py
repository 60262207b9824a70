"""kind: duckdb — SQL on DuckDB, in a child process.

The declaration, which costs nothing to import; the work is done in duckdb_tool.py, loaded when a task needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.dsl.kinds import BOOLEAN, INTEGER, LIST, MAPPING, TEXT, Field, Kind

if TYPE_CHECKING:
    from noetl.tools.contract import Hands, Tool

KIND = Kind(
    name="duckdb",
    summary="Runs SQL on DuckDB: files, memory, attached databases.",
    fields=(
        Field(
            name="database",
            types=(TEXT, MAPPING),
            doc="A file beside the playbook, made if it is not there; or {path, read_only}. In memory if not given.",
        ),
        Field(name="command", is_sql=True, doc="SQL, one or more statements."),
        Field(name="query", is_sql=True, doc="The same as command, for a statement that gives rows."),
        Field(name="commands", types=(LIST,), is_sql=True, doc="Several commands, run in order."),
        Field(name="params", types=(MAPPING, LIST), doc="Values for the placeholders of the SQL."),
        Field(
            name="attach",
            types=(MAPPING,),
            doc="Further database files, by the name that the SQL has for them: {name: path}, or "
            "{name: {path, read_only}}.",
        ),
        Field(
            name="read",
            types=(MAPPING,),
            doc="Tables made of results, by name: a reference (JSON, JSON lines, CSV, Parquet), a list of rows, or "
            "{ref, format} where the content type does not tell.",
        ),
        Field(
            name="write",
            types=(MAPPING, TEXT),
            doc="Store the rows of the last statement as a reference: {format}, which is parquet, csv, json or ndjson.",
        ),
        Field(
            name="auth",
            types=(TEXT, MAPPING),
            doc="Accepted, since upstream playbooks have it, and not used: a file of DuckDB has no login.",
        ),
    ),
    one_of=(("command", "query", "commands"),),
    at_most_one_of=(("command", "query", "commands"),),
    knobs=(
        Field(name="autocommit", types=(BOOLEAN,), doc="Each statement in a transaction of its own."),
        Field(
            name="allow_external_access",
            types=(BOOLEAN,),
            doc="Let the SQL read and write files and networks; only where the operator set duckdb.external_access.",
        ),
        Field(name="memory_mb", types=(INTEGER,), minimum=64, doc="Memory that the query may use: 1024."),
        Field(
            name="disk_mb",
            types=(INTEGER,),
            minimum=1,
            doc="Disk for what it reads, for what it writes and for what does not fit into memory, each: 4096.",
        ),
    ),
    defaults={"memory_mb": 1024, "disk_mb": 4096},
    result="the rows of the last statement that gives rows, as mappings; [] if there are none",
    helper="duckdb",
    helper_fields=("affected_rows",),
    extra="duckdb",
    module="duckdb",
)


def make(hands: Hands) -> Tool:
    from noetl.tools.duckdb_tool import DuckdbTool  # looking at the declaration does not need it

    return DuckdbTool(hands)
