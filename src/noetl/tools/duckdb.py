"""kind: duckdb — SQL on DuckDB, in a child process."""

from noetl.dsl.kinds import LIST, MAPPING, TEXT, Field, Kind

KIND = Kind(
    name="duckdb",
    summary="Runs SQL on DuckDB: files, memory, attached databases.",
    fields=(
        Field(name="database", doc="A file; in memory if not given."),
        Field(name="command", doc="SQL, one or more statements."),
        Field(name="query", doc="The same as command, for a statement that gives rows."),
        Field(name="commands", types=(LIST,), doc="Several commands, run in order."),
        Field(name="params", types=(MAPPING, LIST), doc="Values for the placeholders of the SQL."),
        Field(name="attach", types=(MAPPING, LIST), doc="Databases to attach, by alias."),
        Field(name="read", types=(MAPPING,), doc="References to read as tables, by table name."),
        Field(name="write", types=(MAPPING,), doc="Where to write the rows: {format, store}."),
        Field(name="auth", types=(TEXT, MAPPING), doc="The keychain entry of an attached database."),
    ),
    one_of=(("command", "query", "commands"),),
    at_most_one_of=(("command", "query", "commands"),),
    knobs=(
        Field(name="allow_external_access", types=("boolean",), doc="Let SQL read and write files and networks."),
        Field(name="memory_mb", types=("integer",), minimum=16, doc="Memory DuckDB may use."),
    ),
    result="the rows as mappings; [] if there are none",
    helper="duckdb",
    helper_fields=("affected_rows",),
    extra="duckdb",
    module="duckdb",
)
