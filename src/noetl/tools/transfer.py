"""kind: transfer — rows from a query, a file or HTTP into a table, in chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.dsl.kinds import BOOLEAN, INTEGER, LIST, MAPPING, TEXT, Field, Kind

if TYPE_CHECKING:
    from noetl.tools.contract import Hands, Tool

KIND = Kind(
    name="transfer",
    summary="Moves rows into a table in chunks, in bounded memory; continues where it stopped.",
    fields=(
        Field(
            name="source",
            types=(MAPPING,),
            required=True,
            doc="Where the rows come from: {kind: http, url, method, headers, params, auth}, {kind: file, path}, "
            "{kind: ref, ref}, {kind: postgres, auth} or {kind: duckdb, database}, the last two with `query`; "
            "`format` (ndjson, json, csv) where it cannot be told.",
        ),
        Field(
            name="target",
            types=(MAPPING,),
            required=True,
            doc="Where they go: {kind: postgres, auth, table}, or {kind: file, format} for a result reference.",
        ),
        Field(name="query", is_sql=True, doc="The SQL that gives the rows, of a source that is a database."),
        Field(name="params", types=(MAPPING, LIST), doc="Values for the placeholders of the query."),
        Field(
            name="columns",
            types=(LIST, MAPPING),
            doc="Which columns, in this order; or a mapping of their names in the source to those in the target.",
        ),
        Field(
            name="mode",
            choices=("append", "replace", "upsert"),
            doc="append if not given. replace: the old rows go when all new ones are there.",
        ),
        Field(name="key", types=(TEXT, LIST), doc="The columns that say which row is which, for an upsert."),
        Field(name="chunk_rows", types=(INTEGER,), minimum=1, maximum=1_000_000, doc="Rows per transaction: 50000."),
    ),
    knobs=(
        Field(
            name="restartable",
            types=(BOOLEAN,),
            doc="true if not given: each chunk is kept, and a transfer that stopped goes on after the last one. "
            "false: everything in one transaction, or nothing.",
        ),
    ),
    defaults={"timeout": {"connect": 10, "read": 60}},
    result="{rows, chunks, skipped}: skipped are those that an earlier attempt had moved",
    extra="postgres",
    module="psycopg",
    helper="transfer",
    helper_fields=("rows", "chunks", "skipped"),
)


def make(hands: Hands) -> Tool:
    from noetl.tools.transfer_tool import TransferTool  # brings drivers, which looking at the declaration does not need

    return TransferTool(hands)
