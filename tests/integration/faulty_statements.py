"""Connections to PostgreSQL of which one chosen round trip fails, and the connection with it: before its statements
were sent, or after they were done and before anybody knew. For tests of what servers make of it."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection

from noetl.stores.postgres_line import Line

BEFORE, AFTER = "before", "after"
is_watched: ContextVar[bool] = ContextVar("is_watched", default=True)


class Statements:
    """The round trips of all connections, counted from when they are armed; the one with the number `k` fails."""

    def __init__(self) -> None:
        self.k = 0
        self.moment = BEFORE
        self.count = 0
        self.struck = 0

    def arm(self, k: int, moment: str) -> None:
        """Count anew; 0: none fails."""
        self.k, self.moment, self.count = k, moment, 0

    async def around(self, connection: AsyncConnection[Any] | Line, call: Callable[[], Awaitable[Any]]) -> Any:
        if not is_watched.get():
            return await call()
        self.count += 1
        if self.count != self.k:
            return await call()
        self.struck += 1
        if self.moment == AFTER:
            await call()
        await connection.close()
        raise psycopg.OperationalError(f"a fault of the test, {self.moment} the statement")


@contextmanager
def unwatched() -> Iterator[None]:
    """What is asked within is neither counted nor disturbed: the test itself looks."""
    token = is_watched.set(False)
    try:
        yield
    finally:
        is_watched.reset(token)


@contextmanager
def counted() -> Iterator[Statements]:
    """Every round trip of the process."""
    statements = Statements()
    real, real_asked = AsyncConnection.execute, Line._asked

    async def execute(connection: AsyncConnection[Any], *given: Any, **options: Any) -> Any:
        return await statements.around(connection, lambda: real(connection, *given, **options))

    async def asked(line: Line, questions: Any) -> Any:
        return await statements.around(line, lambda: real_asked(line, questions))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AsyncConnection, "execute", execute)
        patch.setattr(Line, "_asked", asked)
        yield statements
