"""What a batch writes, as statements of columns: executions, events, snapshots, and the jobs that follow from them.

A common batch is one statement (`WRITE`): logs moved on, events, jobs in, jobs out. What is rarer has a statement of
its own, and is left away where there is nothing to write. The parts of one statement see the tables as they were before
it, in no order; they touch different rows, so none needs to see another.

All of it goes in one round trip, the COMMIT too: a statement that fails keeps those after it from being done. A log
that ends somewhere else makes `WRITE` divide by zero, so that nothing after it can be committed by mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import msgspec
from psycopg import errors

from noetl.engine.commands import Key
from noetl.engine.events import NAMES, encode
from noetl.stores.contract import LIVE, Append, Batch, Execution, HeadMoved, Snapshot
from noetl.stores.postgres_line import Line, Question, Row
from noetl.stores.postgres_values import Bigints, Blobs, Documents, Doubles, Integers, Texts
from noetl.stores.shared import LEASED, PARKED, READY, NewJob, ParkedJob, QueueChanges, Revoked

Column = Bigints | Integers | Doubles | Texts | Blobs | Documents
Values = list[Column | float | int]

BEGIN = b"BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"
COMMIT = b"COMMIT"
INSERT_EXECUTIONS = b"""
INSERT INTO execution (id, sha, path, version, status, head, folder, request_key, parent_id, parent_key,
                       created_at, ended_at, digest, deadline_at, follow_until, tag)
SELECT *, %s FROM unnest(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
WRITE = b"""
WITH moved AS (
    UPDATE execution e
    SET head = d.head, tag = %s, status = d.status, ended_at = d.ended_at, digest = d.digest,
        deadline_at = CASE WHEN d.status IN ('running', 'waiting', 'incident')
                           THEN least(e.deadline_at, d.deadline_at) END,
        follow_until = nullif(coalesce(d.follow_until, e.follow_until), 0)
    FROM unnest(%s, %s, %s, %s, %s, %s, %s, %s)
         AS d (id, head_before, head, status, ended_at, digest, deadline_at, follow_until)
    WHERE e.id = d.id AND e.head = d.head_before
    RETURNING 1
), written AS (
    INSERT INTO event (execution_id, seq, name, run, iter, lease, body, tag)
    SELECT *, %s FROM unnest(%s, %s, %s, %s, %s, %s, %s)
)
"""
ADDED = b"""
, added AS (
    INSERT INTO job (execution_id, run, iter, pool, priority, grp, lease, worker, state, deliveries,
                     ready_at, child_key, last_report, lease_until)
    SELECT d.execution_id, d.run, d.iter, d.pool, d.priority, d.grp, d.lease, d.worker, d.state, (d.lease > 0)::integer,
           greatest(d.until, now_seconds()), d.child_key, 0, now_seconds() + %s
    FROM unnest(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
         AS d (execution_id, run, iter, pool, priority, grp, lease, worker, state, until, child_key)
    ON CONFLICT DO NOTHING
)
"""
GONE = b"""
, gone AS (
    DELETE FROM job j USING unnest(%s, %s, %s) AS d (execution_id, run, iter)
    WHERE j.execution_id = d.execution_id AND j.run = d.run AND j.iter = d.iter
    RETURNING j.execution_id, j.run, j.iter, j.state, j.lease, j.worker, j.grp
)
"""
CHECKED = b"SELECT 1 / ((SELECT count(*) FROM moved) = %s)::integer"
CHECKED_GONE = CHECKED + b", gone.* FROM (VALUES (1)) AS once LEFT JOIN gone ON true"
INSERT_SNAPSHOTS = b"""
INSERT INTO snapshot (execution_id, seq, engine, body) SELECT * FROM unnest(%s, %s, %s, %s)
ON CONFLICT (execution_id) DO UPDATE SET seq = excluded.seq, engine = excluded.engine, body = excluded.body
WHERE excluded.seq >= snapshot.seq
"""
PARK = b"""
UPDATE job j
SET state = d.state, ready_at = CASE WHEN d.until > 0 THEN d.until ELSE j.ready_at END, child_key = d.child_key,
    lease = -abs(j.lease), worker = '', deliveries = 0
FROM unnest(%s, %s, %s, %s, %s, %s) AS d (execution_id, run, iter, state, until, child_key)
WHERE j.execution_id = d.execution_id AND j.run = d.run AND j.iter = d.iter
"""
MAKE_READY = b"""
UPDATE job j SET state = 0, ready_at = now_seconds(), child_key = NULL, worker = ''
FROM unnest(%s, %s, %s) AS d (execution_id, run, iter)
WHERE j.execution_id = d.execution_id AND j.run = d.run AND j.iter = d.iter
  AND (j.state <> 0 OR j.ready_at > now_seconds())
"""
# In order, as everywhere: rows of `holding` are the last that anyone waits for.
DROP_HOLDINGS = b"""
WITH held AS MATERIALIZED (
    SELECT h.execution_id, h.grp FROM holding h JOIN unnest(%s, %s) AS d (execution_id, grp) USING (execution_id, grp)
    ORDER BY 1, 2 FOR UPDATE OF h
)
DELETE FROM holding h USING held WHERE h.execution_id = held.execution_id AND h.grp = held.grp
"""


@cache
def write_statement(*, has_added: bool, has_gone: bool) -> bytes:
    """`WRITE` with the parts that a batch has something for: each further one costs, even if it is given nothing."""
    parts = [WRITE, ADDED if has_added else b"", GONE if has_gone else b"", CHECKED_GONE if has_gone else CHECKED]
    return b"".join(parts)


async def write(
    line: Line,
    batch: Batch,
    tag: int,
    changes: QueueChanges,
    lease_seconds: float,
    first: Sequence[Question] = ((BEGIN, ()),),
) -> list[Revoked]:
    """Write a batch and commit. `first`: what the transaction begins with, nothing if it is under way.

    Gives the leased jobs that it took away. Raises HeadMoved.
    """
    questions, writing = _questions(batch, tag, changes, lease_seconds, list(first))
    is_one_trip = not changes.gone  # else the jobs that go say what goes with them
    try:
        if is_one_trip:
            questions.append((COMMIT, ()))
        found = (await line.ask(*questions))[writing]
    except (errors.UniqueViolation, errors.DivisionByZero) as fault:
        raise HeadMoved(
            "a log of the batch ends somewhere else, or an execution with that id, request key or parent key is there"
        ) from fault
    if is_one_trip:
        return []
    gone = [row[1:] for row in found if row[1] is not None]
    await line.ask(*_dropped_holdings(gone), (COMMIT, ()))
    return [
        Revoked(key=(execution_id, run, index), lease=lease, worker=worker)
        for execution_id, run, index, state, lease, worker, _ in gone
        if state == LEASED
    ]


def _questions(
    batch: Batch, tag: int, changes: QueueChanges, lease_seconds: float, questions: list[Question]
) -> tuple[list[Question], int]:
    """The statements of a batch after those that there are, and the place of `WRITE` among them."""
    new, appends = _merged(batch)
    if new:
        questions.append((INSERT_EXECUTIONS, [tag, *_execution_columns(new)]))
    writing = len(questions)
    added = _added_values(changes.added, lease_seconds) if changes.added else []
    gone = key_columns(changes.gone) if changes.gone else []
    writing_all = write_statement(has_added=bool(added), has_gone=bool(gone))
    questions.append((writing_all, [*_log_values(batch, appends, tag), *added, *gone, len(appends)]))
    if batch.snapshots:
        questions.append((INSERT_SNAPSHOTS, _snapshot_columns(batch.snapshots)))
    if changes.parked:
        questions.append((PARK, _parked_columns(changes.parked)))
    if changes.ready:
        questions.append((MAKE_READY, key_columns(changes.ready)))
    return questions, writing


def _dropped_holdings(gone: Sequence[Row]) -> list[Question]:
    """Loops whose jobs go: they may come back under the same keys, and must not come back under the same lease."""
    groups = sorted({(row[0], row[-1]) for row in gone if row[-1]})
    columns = [Bigints(one[0] for one in groups), Integers(one[1] for one in groups)]
    return [(DROP_HOLDINGS, columns)] if groups else []


class _Log(msgspec.Struct):
    """All that a batch appends to one log."""

    first_seq: int
    last: Append  # what the row says afterwards
    events: int
    deadline_at: float | None
    follow_until: float | None


def _merged(batch: Batch) -> tuple[list[tuple[Execution, _Log | None]], dict[int, _Log]]:
    """New executions as they will be; and for each log that was there, all that is appended to it."""
    logs: dict[int, _Log] = {}
    for append in batch.appends:
        log = logs.get(append.execution_id)
        if log is None:
            count = len(append.events)
            logs[append.execution_id] = _Log(append.first_seq, append, count, append.deadline_at, append.follow_until)
        elif log.first_seq + log.events != append.first_seq:
            raise HeadMoved(f"the appends to the log of execution {append.execution_id} do not follow each other")
        else:
            log.last, log.events = append, log.events + len(append.events)
            due = [at for at in (log.deadline_at, append.deadline_at) if at is not None]
            log.deadline_at = min(due, default=None)
            log.follow_until = log.follow_until if append.follow_until is None else append.follow_until
    new = [(_row_after(row, logs.get(row.id)), logs.pop(row.id, None)) for row in batch.executions]
    return new, logs


def _row_after(row: Execution, log: _Log | None) -> Execution:
    if log is None:
        return row
    if log.first_seq != row.head + 1:
        raise HeadMoved(f"the log of execution {row.id} begins somewhere else")
    said = log.last
    return msgspec.structs.replace(
        row, head=row.head + log.events, status=said.status, ended_at=said.ended_at, digest=said.digest
    )


def _execution_columns(new: Sequence[tuple[Execution, _Log | None]]) -> Values:
    rows = [row for row, _ in new]
    logs = [log if log is not None and row.status in LIVE else None for row, log in new]
    return [
        Bigints(row.id for row in rows),
        Texts(row.sha for row in rows),
        Texts(row.path for row in rows),
        Integers(row.version for row in rows),
        Texts(row.status for row in rows),
        Integers(row.head for row in rows),
        Texts(row.folder for row in rows),
        Texts(row.request_key for row in rows),
        Bigints(row.parent_id for row in rows),
        Texts(row.parent_key for row in rows),
        Doubles(row.created_at for row in rows),
        Doubles(row.ended_at for row in rows),
        Texts(row.digest for row in rows),
        Doubles(log.deadline_at if log else None for log in logs),
        Doubles((log.follow_until or None) if log else None for _, log in new),
    ]


def _log_values(batch: Batch, logs: dict[int, _Log], tag: int) -> Values:
    said = [log.last for log in logs.values()]
    events = [
        (append.execution_id, seq, event)
        for append in batch.appends
        for seq, event in enumerate(append.events, append.first_seq)
    ]
    return [
        tag,
        Bigints(logs),
        Integers(log.first_seq - 1 for log in logs.values()),
        Integers(log.first_seq - 1 + log.events for log in logs.values()),
        Texts(append.status for append in said),
        Doubles(append.ended_at for append in said),
        Texts(append.digest for append in said),
        Doubles(log.deadline_at for log in logs.values()),
        Doubles(log.follow_until for log in logs.values()),
        tag,
        Bigints(execution_id for execution_id, _, _ in events),
        Integers(seq for _, seq, _ in events),
        Texts(NAMES[type(event)] for _, _, event in events),
        Integers(event.run for _, _, event in events),
        Integers(event.iter for _, _, event in events),
        Bigints(event.lease for _, _, event in events),
        Documents(encode(event) for _, _, event in events),
    ]


def _added_values(added: Sequence[NewJob], lease_seconds: float) -> Values:
    return [
        lease_seconds,
        *key_columns([job.key for job in added]),
        Texts(job.pool for job in added),
        Integers(job.priority for job in added),
        Integers(job.group for job in added),
        Bigints(job.lease for job in added),
        Texts(job.worker for job in added),
        Integers(_state_of(job) for job in added),
        Doubles(job.until for job in added),
        Texts(job.child_key or None for job in added),
    ]


def _state_of(job: NewJob) -> int:
    if job.child_key:
        return PARKED
    return LEASED if job.lease else READY


def _snapshot_columns(snapshots: Iterable[Snapshot]) -> Values:
    newest = list({one.execution_id: one for one in sorted(snapshots, key=lambda one: one.seq)}.values())
    return [
        Bigints(one.execution_id for one in newest),
        Integers(one.seq for one in newest),
        Integers(one.engine for one in newest),
        Blobs(one.body for one in newest),
    ]


def _parked_columns(parked: Sequence[ParkedJob]) -> Values:
    return [
        *key_columns([job.key for job in parked]),
        Integers(READY if job.until else PARKED for job in parked),
        Doubles(job.until for job in parked),
        Texts(job.child_key or None for job in parked),
    ]


def key_columns(keys: Sequence[Key]) -> list[Bigints | Integers]:
    return [Bigints(key[0] for key in keys), Integers(key[1] for key in keys), Integers(key[2] for key in keys)]
