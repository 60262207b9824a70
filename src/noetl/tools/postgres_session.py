"""The statements of one task on one connection: statements in, an answer for each out.

All of them are one transaction, unless spec.autocommit asks for one each; whatever fails takes all of it back. The
server is told how long a statement may take, so that it stops even if nobody is left to cancel it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from typing import Any, Final

import msgspec
from psycopg.pq import TransactionStatus

from noetl.secret import revealed
from noetl.tools.postgres_failures import Failed
from noetl.tools.postgres_values import bound, bound_list
from noetl.tools.postgres_wire import Connection, answer_of, has_reset_to_come
from noetl.tools.sql_statements import Statement

CANCEL_SECONDS_MAX: Final = 5.0
MILLISECONDS_MAX: Final = 2**31 - 1  # of statement_timeout
PROBE: Final = "noetl_types"  # a prepared statement, gone before the statement itself runs

_encode = msgspec.json.Encoder().encode


class Answer(msgspec.Struct, kw_only=True):
    """What one statement gave. `columns` is None if it gives no rows."""

    columns: tuple[str, ...] | None = None
    rows: list[dict[str, Any]] = []
    affected_rows: int = 0


class Session:
    """A connection for the time of one task."""

    def __init__(self, connection: Connection, *, is_autocommit: bool, total_seconds: float | None) -> None:
        self.connection = connection
        self.statement: Statement | None = None  # the one that runs, for whoever has to say what failed
        self._is_autocommit = is_autocommit
        self._total_seconds = total_seconds

    async def begin(self) -> None:
        """Open the transaction and set the time-out, in one round trip."""
        words = "SET" if self._is_autocommit else "BEGIN; SET LOCAL"
        if self._total_seconds is not None:
            milliseconds = min(max(1, round(self._total_seconds * 1000)), MILLISECONDS_MAX)
            await self.connection.execute(f"{words} statement_timeout = {milliseconds}".encode())
        elif not self._is_autocommit:
            await self.connection.execute("BEGIN")

    async def commit(self) -> None:
        self.statement = None
        if has_reset_to_come(self.connection):
            return
        if self.connection.info.transaction_status != TransactionStatus.IDLE:  # the author may have ended it
            await self.connection.execute("COMMIT")

    async def answers(self, statements: Sequence[Statement], bytes_max: int, *, keeps_all: bool) -> list[Answer]:
        """Run statements in order. Rows are kept of the last that gives any, or of all; no more than `bytes_max`."""
        found: list[Answer] = []
        bytes_left = bytes_max
        is_alone = self._is_autocommit and len(statements) == 1
        for statement in statements:
            self.statement = statement
            answer, size = await self._answer(statement, bytes_left, is_alone=is_alone)
            if keeps_all:
                bytes_left -= size
            elif answer.columns is not None:
                for earlier in found:
                    earlier.rows = []
            found.append(answer)
        return found

    async def _answer(self, statement: Statement, bytes_max: int, *, is_alone: bool) -> tuple[Answer, int]:
        """What a statement gave, and its size as JSON."""
        made, size = Answer(rows=[]), 0
        values = await self.values(statement)
        async with aclosing(answer_of(self.connection, statement.text, values, is_alone=is_alone)) as chunks:
            async for chunk in chunks:
                made.columns = chunk.columns
                made.affected_rows += chunk.affected_rows
                made.rows += chunk.rows
                size += len(_encode(chunk.rows))
                if size > bytes_max:
                    await self.connection.cancel_safe(timeout=CANCEL_SECONDS_MAX)
                    raise _too_many_rows(statement, bytes_max)
        return made, size

    async def values(self, statement: Statement) -> list[Any]:
        """The values of a statement as they are sent."""
        values = [revealed(value) for value in statement.values]
        if not any(isinstance(value, list) for value in values):
            return [bound(value) for value in values]
        types = await self._types(statement, values)
        return [
            bound_list(value, type_name) if isinstance(value, list) else bound(value)
            for value, type_name in zip(values, types, strict=True)
        ]

    async def _types(self, statement: Statement, values: Sequence[Any]) -> list[str]:
        """What the server takes each parameter to be: asked only if there is a list, array or JSON."""
        prefix = f"PREPARE {PROBE}({', '.join(map(_type_name, values))}) AS "
        self.statement = msgspec.structs.replace(statement, text=prefix + statement.text)
        await self.connection.execute(self.statement.text.encode())
        cursor = await self.connection.execute(
            f"SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = '{PROBE}'".encode()  # noqa: S608
        )
        row = await cursor.fetchone()
        await self.connection.execute(f"DEALLOCATE {PROBE}".encode())
        self.statement = statement
        return list(row[0]) if row else []


def _type_name(value: Any) -> str:
    """The type that a value is sent as; `unknown` leaves it to the server."""
    if isinstance(value, bool):
        return "boolean"
    names = {int: "bigint", float: "double precision", dict: "jsonb"}
    return names.get(type(value), "unknown")


def _too_many_rows(statement: Statement, bytes_max: int) -> Failed:
    return Failed(
        "limit",
        f"the rows of the statement of line {statement.line} are more than {bytes_max} bytes as JSON; ask for fewer, "
        "or store them as a reference with copy: {from: …}, or move them with kind: transfer",
    )
