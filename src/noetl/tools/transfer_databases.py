"""The databases of a transfer: connections for its target, and a query of PostgreSQL as its source.

The query's rows come out of the server as COPY's own text, and go into another one unread. COPY takes no bound
parameters, so the values stand in the text as literals that libpq has quoted; where they stand was decided by the
lexer, not by the values (security 8).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from psycopg import sql

from noetl.errors import UnusableSql
from noetl.secret import revealed
from noetl.tools.contract import Call, Hands
from noetl.tools.postgres_database import database_named
from noetl.tools.postgres_pools import POOL_SIZE, Pools
from noetl.tools.postgres_unload import with_literals
from noetl.tools.postgres_values import bound
from noetl.tools.refused import Refused
from noetl.tools.sql_statements import Statement, statements
from noetl.tools.transfer_pieces import COPY, CSV, Piece, Pieces
from noetl.tools.transfer_plan import Plan
from noetl.tools.transfer_table import Connection

PIECE_BYTES = 256 * 1024
SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
FORMS = {
    COPY: "COPY (SELECT {columns} FROM ({query}\n) AS source) TO STDOUT",
    CSV: "COPY (SELECT {columns} FROM ({query}\n) AS source) TO STDOUT WITH (FORMAT csv, HEADER)",
}
# a json column keeps the line breaks and tabs that its author put between the values; inside of texts JSON has none
JSON_FORM = (
    r"COPY (SELECT translate(row_to_json(line)::text, E'\n\r\t', '   ')"
    " FROM (SELECT {columns} FROM ({query}\n) AS source) AS line) TO STDOUT"
)


class Databases:
    """Connections to PostgreSQL, shared per credential.

    Sources and targets have pools of their own: many transfers within one database, each with a connection for its
    target in hand, would else wait for one another's connection for the source, and none go on.
    """

    def __init__(self, hands: Hands) -> None:
        self._sources = Pools(hands.clock)
        self._targets = Pools(hands.clock)

    def target(self, call: Call, plan: Plan) -> AbstractAsyncContextManager[Connection]:
        """A connection to the database that the rows go to."""
        return _connected(self._targets, call, plan.target)

    @asynccontextmanager
    async def source(self, call: Call, plan: Plan, form: str) -> AsyncIterator[Pieces]:
        """The rows of a query, in that form, all of one moment."""
        statement = _statement_of(call)
        async with _connected(self._sources, call, plan.source) as connection:
            await connection.execute(SNAPSHOT)
            values = [bound(revealed(value)) for value in statement.values]
            query = sql.SQL(with_literals(connection, statement.text, values))
            names = plan.source_names or await _names(connection, query)
            columns = sql.SQL(", ").join(
                sql.SQL("{} AS {}").format(sql.Identifier(name), sql.Identifier(target))
                for name, target in zip(names, plan.target_names(names), strict=True)
            )
            command = sql.SQL(FORMS.get(form, JSON_FORM)).format(columns=columns, query=query)
            yield _pieces(connection, command, plan.target_names(names), form)
            await connection.execute("COMMIT")

    async def close(self) -> None:
        await self._sources.close()
        await self._targets.close()


@asynccontextmanager
async def _connected(pools: Pools, call: Call, side: dict[str, Any]) -> AsyncIterator[Connection]:
    pool = await pools.pool(await database_named(call, side.get("auth")), POOL_SIZE)
    async with pool.connection(call.connect_seconds) as connection:
        yield connection


def _statement_of(call: Call) -> Statement:
    try:
        found = statements(call.given["query"], call.input.get("params"))
    except UnusableSql as fault:
        raise Refused("type", str(fault)) from None
    if len(found) != 1:
        raise Refused("type", f"query must be one statement, but has {len(found)}")
    return found[0]


async def _names(connection: Connection, query: sql.SQL) -> tuple[str, ...]:
    cursor = await connection.execute(sql.SQL("SELECT * FROM ({}\n) AS source LIMIT 0").format(query))
    names = tuple(column.name for column in cursor.description or ())
    if len(set(names)) != len(names):
        raise Refused(
            "type", f"two columns of the query have one name ({', '.join(names)[:200]}); give them others with AS"
        )
    return names


async def _pieces(connection: Connection, command: sql.Composed, names: tuple[str, ...], form: str) -> Pieces:
    held: list[bytes] = []
    size, header = 0, 1 if form == CSV else 0
    async with connection.cursor() as cursor, cursor.copy(command) as copy:
        async for row in copy:
            held.append(bytes(row))
            size += len(row)
            if size >= PIECE_BYTES:
                yield _piece(held, names, form, header)
                held, size, header = [], 0, 0
    if held:
        yield _piece(held, names, form, header)


def _piece(rows: list[bytes], names: tuple[str, ...], form: str, header: int) -> Piece:
    data = b"".join(rows)
    if form not in FORMS:
        data = data.replace(b"\\\\", b"\\")  # JSON has no other character that COPY's text escapes
    return Piece(names=names, data=data, row_count=len(rows) - header)
