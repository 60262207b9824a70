"""kind: transfer — rows from a query, a file or HTTP into a table, in chunks."""

from noetl.dsl.kinds import INTEGER, LIST, MAPPING, TEXT, Field, Kind

KIND = Kind(
    name="transfer",
    summary="Moves rows into a table in chunks; continues where it stopped.",
    fields=(
        Field(name="source", types=(MAPPING,), required=True, doc="{kind: postgres|duckdb|http|file|ref, …}"),
        Field(name="target", types=(MAPPING,), required=True, doc="{kind: postgres|duckdb|file, table, auth, …}"),
        Field(name="columns", types=(LIST, MAPPING), doc="Which columns, and their names in the target."),
        Field(name="mode", choices=("append", "replace", "upsert"), doc="append if not given."),
        Field(name="key", types=(TEXT, LIST), doc="The key columns of an upsert."),
        Field(name="chunk_rows", types=(INTEGER,), minimum=1, maximum=1_000_000, doc="Rows per chunk."),
    ),
    result="{rows, chunks}",
    helper="transfer",
    helper_fields=("rows", "chunks"),
)
