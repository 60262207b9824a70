"""kind: postgres — SQL on a PostgreSQL database.

The declaration, which costs nothing to import; the work is done in postgres_tool.py, loaded when a task needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.dsl.kinds import BOOLEAN, LIST, MAPPING, TEXT, Field, Kind

if TYPE_CHECKING:
    from noetl.tools.contract import Hands, Tool

KIND = Kind(
    name="postgres",
    summary="Runs SQL on PostgreSQL; a template in it becomes a bound parameter.",
    fields=(
        Field(name="auth", types=(TEXT, MAPPING), required=True, doc="The keychain entry of the database."),
        Field(name="command", is_sql=True, doc="SQL, one or more statements."),
        Field(name="query", is_sql=True, doc="The same as command, for a statement that gives rows."),
        Field(name="commands", types=(LIST,), is_sql=True, doc="Several commands, run in order."),
        Field(name="params", types=(MAPPING, LIST), doc="Values for the placeholders of the SQL."),
        Field(
            name="copy",
            types=(MAPPING,),
            sql_keys=("from",),
            doc="Bulk: {into, columns, rows} loads a list or a reference into a table; "
            "{from, format} stores a table or a query as a reference.",
        ),
    ),
    one_of=(("command", "query", "commands", "copy"),),
    at_most_one_of=(("command", "query", "commands", "copy"),),
    knobs=(
        Field(name="autocommit", types=(BOOLEAN,), doc="Each statement in a transaction of its own."),
        Field(
            name="pool",
            types=(MAPPING,),
            doc="{max}: connections that tasks with the same credential share; 10 if not given.",
        ),
    ),
    defaults={"timeout": {"connect": 10}},
    result="the rows of the last statement that gives rows, as mappings; [] if there are none",
    helper="pg",
    helper_fields=("code", "sqlstate", "affected_rows"),
    extra="postgres",
    module="psycopg",
)


def make(hands: Hands) -> Tool:
    from noetl.tools.postgres_tool import PostgresTool  # brings psycopg, which only playbooks with postgres tasks pay

    return PostgresTool(hands)
