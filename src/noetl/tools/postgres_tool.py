"""Kind postgres at work: a call in, one output out.

The path of a call: postgres_database reads the credential, postgres_pools gives a connection, postgres_session runs the
statements that sql_statements made of the author's text over postgres_wire, or postgres_copy has rows moved in bulk
by postgres_load and postgres_unload; postgres_failures says what went wrong. Loaded with the first postgres task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import psycopg

from noetl.engine.output import Output, failure
from noetl.errors import ResultError, UnusableSql
from noetl.tools.contract import Call, Hands
from noetl.tools.postgres_copy import Load, Unload, plan_of
from noetl.tools.postgres_database import Database, database_named
from noetl.tools.postgres_failures import Failed, failure_of, helper
from noetl.tools.postgres_load import load
from noetl.tools.postgres_pools import POOL_SIZE, POOL_SIZE_MAX, Pools
from noetl.tools.postgres_session import Answer, Session
from noetl.tools.postgres_unload import unload
from noetl.tools.sql_statements import Statement, statements

FAULTS = (psycopg.Error, TimeoutError, Failed, ResultError)
SQL_FIELDS = ("command", "query", "commands")

Work = list[Statement] | Load | Unload


class PostgresTool:
    """Runs the SQL of a worker's postgres tasks, many at once."""

    times_itself = True  # from when it has a connection, not while it waits for one

    def __init__(self, hands: Hands) -> None:
        self._settings = hands.settings
        self._pools = Pools(hands.clock)

    async def run(self, call: Call) -> Output:
        try:
            work = _work_of(call)
            database = await database_named(call, call.given.get("auth"))
            size = _pool_size(call.spec.get("pool"))
        except UnusableSql as fault:
            return failure("type", str(fault), helpers=helper(None))
        except Failed as fault:
            return failure_of(fault, "", None, None)
        return await self._output(call, work, database, size)

    async def _output(self, call: Call, work: Work, database: Database, size: int) -> Output:
        session: Session | None = None
        try:
            pool = await self._pools.pool(database, size)
            async with pool.connection(call.connect_seconds) as connection:
                is_autocommit = call.spec.get("autocommit") is True or _is_one_statement(work)
                session = Session(connection, is_autocommit=is_autocommit, total_seconds=call.total_seconds)
                if call.total_seconds is None:  # a time-out that never comes costs as much as one that may
                    return await self._run(call, work, session)
                async with asyncio.timeout(call.total_seconds):
                    return await self._run(call, work, session)
        except FAULTS as fault:
            return failure_of(fault, database.where, session.statement if session else None, call.total_seconds)

    async def _run(self, call: Call, work: Work, session: Session) -> Output:
        await session.begin()
        output = await self._work(call, work, session)
        await session.commit()
        return output

    async def _work(self, call: Call, work: Work, session: Session) -> Output:
        if isinstance(work, Load):
            return Output(data=[], helpers=helper(None, await load(session, work, call.results)))
        if isinstance(work, Unload):
            reference, rows = await unload(session, work, call.results)
            return Output(ref=reference.as_data(), helpers=helper(None, rows))
        answers = await session.answers(work, self._settings.result_bytes_max, keeps_all=call.is_transparent)
        return _upstream_output(answers) if call.is_transparent else _output_of(answers)

    async def close(self) -> None:
        await self._pools.close()


def _work_of(call: Call) -> Work:
    given = call.input
    if given.get("copy") is not None:
        return plan_of(given["copy"], given.get("params"))
    sql = next((given[field] for field in SQL_FIELDS if given.get(field) is not None), "")
    return statements(sql, given.get("params"))


def _is_one_statement(work: Work) -> bool:
    """One statement is a transaction of its own without being told so: two round trips less."""
    return isinstance(work, list) and len(work) == 1


def _pool_size(pool: object) -> int:
    """spec.pool: {max}; the spelling max_size is read too."""
    given = pool.get("max", pool.get("max_size")) if isinstance(pool, Mapping) else pool
    if given is None:
        return POOL_SIZE
    if type(given) is int and 1 <= given <= POOL_SIZE_MAX:
        return given
    raise Failed("type", f"spec.pool.max must be a whole number from 1 to {POOL_SIZE_MAX}")


def _output_of(answers: list[Answer]) -> Output:
    """The rows of the last statement that gives any; rows changed by all of them together."""
    rows: list[dict[str, Any]] = next((answer.rows for answer in reversed(answers) if answer.columns is not None), [])
    return Output(data=rows, helpers=helper(None, sum(answer.affected_rows for answer in answers)))


def _upstream_output(answers: list[Answer]) -> Output:
    """UP-03: the last statement's value, and beside it that of each."""
    values = [_upstream_value(answer) for answer in answers] or [_upstream_value(Answer())]
    commands = {f"command_{index}": value for index, value in enumerate(values)}
    return Output(data={**values[-1], **commands}, helpers=helper(None, sum(a.affected_rows for a in answers)))


def _upstream_value(answer: Answer) -> dict[str, Any]:
    return {
        "rows": answer.rows,
        "columns": list(answer.columns or ()),
        "row_count": len(answer.rows),
        "affected_rows": answer.affected_rows,
    }
