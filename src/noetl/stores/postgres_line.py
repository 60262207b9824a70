"""One connection to PostgreSQL, spoken to directly: prepared statements, any number of them in one round trip.

Questions in, their rows out. The driver makes the connection and tells its faults; how to wait for it is our own. The
driver's way is to register the socket with the event loop, start a timer, and undo both, for every statement: 200 µs of
this process for the least one, against 45 µs here, where the loop watches the socket for as long as the connection
lasts. A statement is parsed by the server when it first comes over a connection, and known by its number from then on.

Statements that go together are a pipeline: one that fails keeps those after it from being done. So a COMMIT may be sent
with what it commits, before anybody knows whether that can be written. One question is under way at a time; whoever
gives up waiting must close the line, which answers nothing from then on.
"""

from __future__ import annotations

import asyncio
import re
import select
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import count
from typing import Any

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from noetl.stores.postgres_database import ANSWER_SECONDS_MAX, Connection
from noetl.stores.postgres_values import BINARY, Dumped, dumped

PREPARED_MAX = 500  # of one connection; what comes after them is parsed each time
PLACEHOLDER = re.compile(rb"%s|%\((\w+)\)s")
DONE = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)
BROKE = "the connection to the server was lost"
LATE = "the server does not answer"
Row = tuple[Any, ...]
Values = Sequence[object] | Mapping[str, object]
Question = tuple[bytes, Values]


class Line:
    """See above. Made of a connection that nobody else uses meanwhile (`lend`)."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._wire = connection.pgconn
        self._loop = asyncio.get_running_loop()
        self._rows = Transformer(connection)
        self._names: dict[tuple[bytes, tuple[int, ...]], bytes] = {}
        self._numbers = count(1)
        self._sent: list[tuple[bytes, tuple[int, ...]] | None] = []  # what each result is of: a key, if it is a parsing
        self._results: list[PGresult] = []
        self._answer: asyncio.Future[None] | None = None
        self._readable = select.poll()
        self._is_broken = False
        self._socket = -1  # that the loop watches: one that the driver has closed has no number any more to ask for
        self.take_back()

    @property
    def is_idle(self) -> bool:
        """No transaction is open."""
        return self._wire.transaction_status == TransactionStatus.IDLE

    @property
    def has_ended(self) -> bool:
        """Whether it is of no more use: the last word of a server is why it ends a connection."""
        return self._is_broken or bool(self._readable.poll(0))

    async def ask(self, *questions: Question) -> list[list[Row]]:
        """The rows of each, all in one round trip. Raises psycopg.Error: none after the one that failed was done."""
        results = await self._asked(questions)
        return [self._loaded(result) for result in results]

    async def change(self, *question: Any) -> int:
        """How many rows one statement changed."""
        (result,) = await self._asked([question])
        return result.command_tuples or 0

    def lend(self) -> Connection:
        """The connection itself, for whoever needs the driver's ways; until `take_back`."""
        self._unwatch()
        self._wire.exit_pipeline_mode()
        return self._connection

    def take_back(self) -> None:
        self._wire.enter_pipeline_mode()
        self._socket = self._wire.socket
        self._readable.register(self._socket, select.POLLIN)
        self._loop.add_reader(self._socket, self._hear)

    async def close(self) -> None:
        self._unwatch()
        self._fail(psycopg.OperationalError(BROKE))
        with suppress(psycopg.Error):
            await self._connection.close()

    # --- sending -----------------------------------------------------------------------------------------------------

    async def _asked(self, questions: Sequence[Question]) -> list[PGresult]:
        if self._is_broken:
            raise psycopg.OperationalError(BROKE)
        bound = [_bound(statement, values) for statement, values in questions]  # refuses before anything goes
        self._sent, self._results = [], []
        self._answer = self._loop.create_future()
        timer = self._loop.call_later(ANSWER_SECONDS_MAX, self._fail, TimeoutError(LATE))
        try:
            for query, columns in bound:
                self._send(query, columns)
            self._wire.pipeline_sync()
            self._push()
            await self._answer
        except BaseException:  # what may still come is of this question, and must answer no other
            self._is_broken = True
            self._unwatch()
            raise
        finally:
            timer.cancel()
            self._answer = None
        return self._judged()

    def _send(self, query: bytes, columns: list[Dumped]) -> None:
        types = tuple([oid for oid, _ in columns])
        data, formats = [buffer for _, buffer in columns], [BINARY] * len(columns)
        name = self._names.get((query, types))
        if name is None and len(self._names) < PREPARED_MAX:
            name = self._names[query, types] = b"noetl_%d" % next(self._numbers)
            self._wire.send_prepare(name, query, types)
            self._sent.append((query, types))
        if name is None:
            self._wire.send_query_params(query, data, types, formats, BINARY)
        else:
            self._wire.send_query_prepared(name, data, formats, BINARY)
        self._sent.append(None)

    def _push(self) -> None:
        if self._wire.flush():  # the socket takes no more for now
            self._loop.add_writer(self._socket, self._push_on)

    def _push_on(self) -> None:
        try:
            if not self._wire.flush():
                self._loop.remove_writer(self._socket)
        except psycopg.Error as fault:
            self._break(fault)

    # --- hearing -----------------------------------------------------------------------------------------------------

    def _hear(self) -> None:
        try:
            self._wire.consume_input()
            if self._answer is None:  # nothing was asked: it is about to end
                self._break(psycopg.OperationalError(BROKE))
            else:
                self._collect(self._answer)
        except psycopg.Error as fault:
            self._break(fault)

    def _collect(self, answer: asyncio.Future[None]) -> None:
        """Take what has come; the results are complete with the word that the pipeline is through."""
        is_between = False
        while not self._wire.is_busy():
            result = self._wire.get_result()
            if result is None:  # the end of one statement's results; twice: nothing more is there
                if is_between:
                    break
                is_between = True
                continue
            is_between = False
            if result.status == ExecStatus.PIPELINE_SYNC:
                if not answer.done():
                    answer.set_result(None)
                return
            self._results.append(result)
        if self._wire.status == ConnStatus.BAD:
            last = self._results[-1] if self._results else None
            is_told = last is not None and last.status == ExecStatus.FATAL_ERROR
            self._break(error_from_result(last) if last and is_told else psycopg.OperationalError(BROKE))

    def _judged(self) -> list[PGresult]:
        """The results of the statements; raises what one of them failed with."""
        failed = next((result for result in self._results if result.status not in DONE), None)
        for of, result in zip(self._sent, self._results, strict=False):
            if of is not None and result.status not in DONE:
                self._names.pop(of, None)  # it was not parsed
        if failed is not None:
            raise error_from_result(failed)
        return [result for of, result in zip(self._sent, self._results, strict=True) if of is None]

    def _loaded(self, result: PGresult) -> list[Row]:
        if not result.ntuples:
            return []
        self._rows.set_pgresult(result)
        return self._rows.load_rows(0, result.ntuples, tuple)

    # --- breaking ----------------------------------------------------------------------------------------------------

    def _break(self, fault: psycopg.Error) -> None:
        self._is_broken = True
        self._unwatch()
        self._fail(fault)

    def _fail(self, fault: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(fault)

    def _unwatch(self) -> None:
        if self._socket >= 0:
            self._readable.unregister(self._socket)
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._socket = -1


def _bound(statement: bytes, values: Values) -> tuple[bytes, list[Dumped]]:
    query, names = converted(statement)
    given = [values[name] for name in names] if isinstance(values, Mapping) else values
    return query, [dumped(value) for value in given]


@cache
def converted(statement: bytes) -> tuple[bytes, list[str]]:
    """A statement with numbers for its placeholders, and the names that they had, if they had any."""
    names: list[str] = []
    places = count(1)

    def number(found: re.Match[bytes]) -> bytes:
        if found[1] is None:
            return b"$%d" % next(places)
        name = found[1].decode()
        if name not in names:
            names.append(name)
        return b"$%d" % (names.index(name) + 1)

    return PLACEHOLDER.sub(number, statement), names
