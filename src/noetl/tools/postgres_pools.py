"""Connections, kept for the next task: a database in, one of its connections out, clean.

Tasks of one credential that ask for the same number of connections share a pool; those of kind transfer have pools of
their own. The key is what the credential holds, so a changed password makes a new pool; the old one is used no more
and its connections close when they have been idle for a while.

A connection is cleaned when it comes back: open transaction, settings, temporary tables, locks, cursors and prepared
statements are gone before anyone else has it (DISCARD ALL: a round trip of its own, or along with a task's only
statement). One that broke while it was idle is seen without asking the server and replaced, so a restarted server costs
no task more than its own failure.

psycopg_pool is not used: it connects in the background and tells those who wait that time is up, where a wrong password
has to be said at once and as what it is.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import psycopg
from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus

from noetl.clock import Clock
from noetl.tools.postgres_database import Database
from noetl.tools.postgres_failures import CannotConnect, connection_failure
from noetl.tools.postgres_values import ADAPTERS
from noetl.tools.postgres_wire import RESET, Connection, command, has_reset_to_come, is_reset

POOLS_MAX = 64
POOL_SIZE = 10
POOL_SIZE_MAX = 100
IDLE_SECONDS_MAX = 60.0
SWEEPS_PER_LIFE = 4
TRUSTED_SECONDS = 20.0  # idle for longer, a connection is asked before it is used: a firewall may have dropped it
CONNECT_SECONDS = 10.0
WAIT_SECONDS_MAX = 600.0  # for a connection that others have
CHECK_SECONDS_MAX = 5.0
RESET_SECONDS_MAX = 5.0
ONE_LOOK = getattr(selectors, "PollSelector", selectors.DefaultSelector)  # poll: one system call, where epoll has four


class Idle(msgspec.Struct, frozen=True):
    connection: Connection
    since: float  # by the monotonic clock


class Pool:
    """The connections of one database."""

    def __init__(self, database: Database, size: int, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._slots = asyncio.Semaphore(size)
        self._size = size
        self._idle: list[Idle] = []  # the longest idle first
        self._sweeping: asyncio.Task[None] | None = None
        self._is_closed = False
        self.users = 0

    @asynccontextmanager
    async def connection(self, connect_seconds: float | None) -> AsyncIterator[Connection]:
        """A clean connection, alone for one task; raises CannotConnect."""
        self.users += 1
        try:
            await self._wait_for_slot()
            try:
                connection = await self._reused() or await self._connected(connect_seconds or CONNECT_SECONDS)
                try:
                    yield connection
                finally:
                    await self._take_back(connection)
            finally:
                self._slots.release()
        finally:
            self.users -= 1

    async def close(self) -> None:
        """Close what is idle now; what is in use is closed when it comes back."""
        self._is_closed = True
        if self._sweeping:
            self._sweeping.cancel()
            await asyncio.wait({self._sweeping})
        while self._idle:
            await self._idle.pop().connection.close()

    async def _wait_for_slot(self) -> None:
        if not self._slots.locked():
            await self._slots.acquire()  # at once
            return
        try:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                await self._slots.acquire()
        except TimeoutError:
            message = (
                f"none of the {self._size} connections to {self._database.where} was free within "
                f"{WAIT_SECONDS_MAX:g} s; raise spec.pool.max"
            )
            raise CannotConnect("timeout", message, retryable=True) from None

    async def _reused(self) -> Connection | None:
        while self._idle:
            kept = self._idle.pop()
            is_trusted = self._clock.monotonic() - kept.since < TRUSTED_SECONDS and _is_quiet(kept.connection)
            if is_trusted or await _answers(kept.connection):
                return kept.connection
            await kept.connection.close()
        return None

    async def _connected(self, seconds: float) -> Connection:
        where = self._database.where
        try:
            async with asyncio.timeout(seconds):
                return await AsyncConnection.connect(
                    self._database.conninfo, autocommit=True, prepare_threshold=None, context=ADAPTERS
                )
        except TimeoutError:
            message = f"no connection to PostgreSQL at {where} within {seconds:g} s (timeout.connect)"
            raise CannotConnect("timeout", message, retryable=True) from None
        except psycopg.Error as fault:
            raise connection_failure(fault, where) from None

    async def _take_back(self, connection: Connection) -> None:
        if self._is_closed or not await _cleaned(connection):
            await connection.close()
            return
        self._idle.append(Idle(connection, self._clock.monotonic()))
        if self._sweeping is None or self._sweeping.done():
            self._sweeping = asyncio.create_task(self._sweep())

    async def _sweep(self) -> None:
        """Close what nobody wanted for a while, until nothing is idle."""
        while self._idle:
            await asyncio.sleep(IDLE_SECONDS_MAX / SWEEPS_PER_LIFE)
            oldest = self._clock.monotonic() - IDLE_SECONDS_MAX
            while self._idle and self._idle[0].since <= oldest:
                await self._idle.pop(0).connection.close()


class Pools:
    """The pools of one worker, each made when a task first needs it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pools: dict[tuple[Database, int], Pool] = {}  # the longest unused first

    async def pool(self, database: Database, size: int) -> Pool:
        key = (database, size)
        found = self._pools.pop(key, None) or Pool(database, size, self._clock)
        self._pools[key] = found
        if len(self._pools) > POOLS_MAX:
            await self._close_one(keep=found)
        return found

    async def close(self) -> None:
        pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            await pool.close()

    async def _close_one(self, keep: Pool) -> None:
        """Give up the pool that was not used for the longest time; one that is in use closes with its last user."""
        key, pool = min(
            ((key, pool) for key, pool in self._pools.items() if pool is not keep), key=lambda pair: pair[1].users > 0
        )
        del self._pools[key]
        await pool.close()


def _is_quiet(connection: Connection) -> bool:
    """Whether the server has said nothing to an idle connection: its last word is why it ended it."""
    if connection.closed:
        return False
    with ONE_LOOK() as selector:
        selector.register(connection.pgconn.socket, selectors.EVENT_READ)
        return not selector.select(0)


async def _answers(connection: Connection) -> bool:
    try:
        async with asyncio.timeout(CHECK_SECONDS_MAX):
            await connection.execute("SELECT 1")
    except (psycopg.Error, TimeoutError):
        return False
    return True


async def _cleaned(connection: Connection) -> bool:
    """Leave nothing of a task behind; False: the connection is of no more use."""
    status = connection.info.transaction_status
    is_under_way = has_reset_to_come(connection)
    if status == TransactionStatus.UNKNOWN or (status == TransactionStatus.ACTIVE and not is_under_way):
        return False
    try:
        async with asyncio.timeout(RESET_SECONDS_MAX):
            if is_under_way:
                return await is_reset(connection)
            if status != TransactionStatus.IDLE:
                await command(connection, b"ROLLBACK")
            await command(connection, RESET)
    except (psycopg.Error, TimeoutError):
        return False
    except asyncio.CancelledError:
        await connection.close()
        raise
    return True
