"""How a batch begins: executions locked by ascending id, then the reports fenced (protocol §5, steps 2 and 4).

All of it is one message of several statements, made here of numbers and nothing else, so that it costs one round trip.
A pipeline of prepared statements would cost as few, and four times the work on our side of the wire.

No two transactions can wait for each other: pumps lock executions in order, and then jobs of executions that they have
locked; whoever else touches jobs passes over those that are locked. Locks on `holding` come last, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from psycopg import AsyncCursor

from noetl.engine.commands import Key
from noetl.engine.events import NAMES
from noetl.stores.postgres_database import Connection
from noetl.stores.postgres_rows import Row, head
from noetl.stores.postgres_values import Bigints, Integers, Texts
from noetl.stores.postgres_writes import key_columns
from noetl.stores.shared import (
    ACCEPTED,
    DUPLICATE,
    FINAL,
    LAST_EVENTS,
    PARK,
    PROGRESS,
    RECENT_EVENTS,
    STALE,
    Expiry,
    Fence,
    Head,
)

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"
LOCK = "SELECT id, head, tag, status FROM execution WHERE id = ANY ('{{{}}}'::bigint[]) ORDER BY id FOR UPDATE"
REPORTED = """
unnest('{{{}}}'::bigint[], '{{{}}}'::integer[], '{{{}}}'::integer[], '{{{}}}'::bigint[], '{{{}}}'::integer[])
    AS d (execution_id, run, iter, lease, n)
WHERE j.execution_id = d.execution_id AND j.run = d.run AND j.iter = d.iter AND j.lease = d.lease AND {}
RETURNING j.execution_id, j.run, j.iter, d.lease"""
IS_NEXT = "j.last_report = d.n - 1"
HAS_RUN_OUT = "j.lease_until < now_seconds()"
FENCES = {
    PROGRESS: """
UPDATE job j SET last_report = d.n, lease_until = now_seconds() + {ttl}, state = 1, deliveries = 0 FROM """,
    FINAL: "DELETE FROM job j USING ",
    # Ready at once, until the commit says until when it is parked.
    PARK: """
UPDATE job j
SET last_report = d.n, state = 0, ready_at = now_seconds(), lease = -j.lease, worker = '', deliveries = 0 FROM """,
}
RECORDED = b"""
SELECT d.execution_id, d.run, d.iter, d.lease
FROM unnest(%s, %s, %s, %s, %s, %s) AS d (execution_id, run, iter, lease, n, is_last)
WHERE EXISTS (
    SELECT FROM job j
    WHERE j.execution_id = d.execution_id AND j.run = d.run AND j.iter = d.iter
      AND abs(j.lease) = d.lease AND j.last_report >= d.n
) OR d.is_last = 1 AND EXISTS (
    SELECT FROM execution e JOIN event v ON v.execution_id = e.id AND v.seq > e.head - %s
    WHERE e.id = d.execution_id AND v.run = d.run AND v.iter = d.iter AND v.lease = d.lease AND v.name = ANY (%s)
)
"""

Words = dict[tuple[Key, int], str]


async def begin(
    connection: Connection,
    ids: Sequence[int],
    fences: Sequence[Fence],
    expiries: Sequence[Expiry],
    lease_seconds: float,
) -> tuple[dict[int, Head], Words]:
    """Begin a transaction: the heads of the executions, and a word for each report and expiry."""
    reported = {(fence.key, fence.lease) for fence in fences}
    expired = [(one.key, one.lease, 0) for one in expiries if (one.key, one.lease) not in reported]
    statements = [BEGIN]
    if ids:
        statements.append(LOCK.format(_listed(sorted(ids))))
    for does, statement in FENCES.items():
        if found := sorted((fence.key, fence.lease, fence.n) for fence in fences if fence.does == does):
            statements.append(statement.format(ttl=f"{lease_seconds:f}") + _reported(found, IS_NEXT))
    if expired:
        statements.append(FENCES[FINAL] + _reported(sorted(expired), HAS_RUN_OUT))
    cursor = await connection.execute(";\n".join(statements).encode(), prepare=False)
    heads = await _next_rows(cursor) if ids else []
    accepted = [row for _ in statements[1 + bool(ids) :] for row in await _next_rows(cursor)]
    words = dict.fromkeys(reported | {(key, lease) for key, lease, _ in expired}, STALE)
    words.update({((row[0], row[1], row[2]), row[3]): ACCEPTED for row in accepted})
    if refused := [fence for fence in fences if words[fence.key, fence.lease] == STALE]:
        words.update(dict.fromkeys(await _recorded(connection, refused), DUPLICATE))
    return {row[0]: head(row) for row in heads}, words


def _listed(numbers: Iterable[int]) -> str:
    return ",".join([f"{number:d}" for number in numbers])  # d: a text would be refused, not quoted


def _reported(found: Sequence[tuple[Key, int, int]], condition: str) -> str:
    keys = [key for key, _, _ in found]
    columns = (
        *(_listed(key[place] for key in keys) for place in range(3)),
        _listed(lease for _, lease, _ in found),
        _listed(n for _, _, n in found),
    )
    return REPORTED.format(*columns, condition)


async def _next_rows(cursor: AsyncCursor[Row]) -> list[Row]:
    """The rows of the next statement of the message."""
    cursor.nextset()
    return await cursor.fetchall()


async def _recorded(connection: Connection, refused: Sequence[Fence]) -> list[tuple[Key, int]]:
    """Those of the reports that were accepted before: by the row of the job or, if that is gone, by the log.

    A lease ends with one report, whose last event has its number: that event is what is looked for.
    """
    values = [
        *key_columns([fence.key for fence in refused]),
        Bigints(fence.lease for fence in refused),
        Integers(fence.n for fence in refused),
        Integers(fence.does != PROGRESS for fence in refused),
        RECENT_EVENTS,
        Texts(NAMES[kind] for kind in LAST_EVENTS),
    ]
    found = await (await connection.execute(RECORDED, values)).fetchall()
    return [((row[0], row[1], row[2]), row[3]) for row in found]
