"""kind: postgres — SQL on a PostgreSQL database."""

from noetl.dsl.kinds import BOOLEAN, LIST, MAPPING, TEXT, Field, Kind

KIND = Kind(
    name="postgres",
    summary="Runs SQL on PostgreSQL; a template in it becomes a bound parameter.",
    fields=(
        Field(name="auth", types=(TEXT, MAPPING), doc="The keychain entry of the database."),
        Field(name="command", doc="SQL, one or more statements."),
        Field(name="query", doc="The same as command, for a statement that gives rows."),
        Field(name="commands", types=(LIST,), doc="Several commands, run in order."),
        Field(name="params", types=(MAPPING, LIST), doc="Values for the placeholders of the SQL."),
        Field(name="copy", types=(MAPPING,), doc="Bulk load: {into, columns, rows}."),
    ),
    one_of=(("command", "query", "commands", "copy"),),
    at_most_one_of=(("command", "query", "commands", "copy"),),
    knobs=(Field(name="autocommit", types=(BOOLEAN,), doc="Each statement in a transaction of its own."),),
    result="the rows as mappings; [] if there are none",
    helper="pg",
    helper_fields=("code", "sqlstate", "affected_rows"),
    extra="postgres",
    module="psycopg",
)
