"""How a batch begins: executions locked by ascending id, then the reports fenced (protocol §5, steps 2 and 4).

All of it is one round trip of prepared statements.

No two transactions can wait for each other: pumps lock executions in order, and then jobs of executions that they have
locked; whoever else touches jobs passes over those that are locked. Locks on `holding` come last, in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noetl.engine.commands import Key
from noetl.engine.events import NAMES
from noetl.stores.postgres_line import Line, Question
from noetl.stores.postgres_rows import head
from noetl.stores.postgres_values import Bigints, Integers, Texts
from noetl.stores.postgres_writes import BEGIN, key_columns
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

LOCK = b"SELECT id, head, tag, status FROM execution WHERE id = ANY (%s) ORDER BY id FOR UPDATE"
REPORTED = b"""
unnest(%s, %s, %s, %s, %s) AS d (execution_id, run, iter, lease, n)
WHERE j.execution_id = d.execution_id AND j.run = d.run AND j.iter = d.iter AND j.lease = d.lease
"""
RETURNED = b" RETURNING j.execution_id, j.run, j.iter, d.lease"
IS_NEXT = b"AND j.last_report = d.n - 1"
HAS_RUN_OUT = b"AND j.lease_until < now_seconds()"
ENDED = b"DELETE FROM job j USING " + REPORTED
FENCES = {
    PROGRESS: b"""
UPDATE job j SET last_report = d.n, lease_until = now_seconds() + %s, state = 1, deliveries = 0 FROM """
    + REPORTED
    + IS_NEXT
    + RETURNED,
    FINAL: ENDED + IS_NEXT + RETURNED,
    # Ready at once, until the commit says until when it is parked.
    PARK: b"""
UPDATE job j
SET last_report = d.n, state = 0, ready_at = now_seconds(), lease = -j.lease, worker = '', deliveries = 0 FROM """
    + REPORTED
    + IS_NEXT
    + RETURNED,
}
EXPIRED = ENDED + HAS_RUN_OUT + RETURNED
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

# What was decided before anything was locked stands only if these divide by one.
SEEN = b"""
SELECT 1 / (count(*) = %s)::integer FROM (
    SELECT FROM execution e JOIN unnest(%s, %s, %s) AS d (id, head, tag) ON e.id = d.id
    WHERE e.head = d.head AND e.tag = d.tag ORDER BY e.id FOR UPDATE OF e
) AS seen
"""
CHECKED_FENCES = {
    does: b"WITH done AS (" + statement + b") SELECT 1 / (count(*) = %s)::integer FROM done"
    for does, statement in FENCES.items()
}

Words = dict[tuple[Key, int], str]


async def begin(
    line: Line,
    ids: Sequence[int],
    fences: Sequence[Fence],
    expiries: Sequence[Expiry],
    lease_seconds: float,
) -> tuple[dict[int, Head], Words]:
    """Begin a transaction: the heads of the executions, and a word for each report and expiry."""
    reported = {(fence.key, fence.lease) for fence in fences}
    expired = [(one.key, one.lease, 0) for one in expiries if (one.key, one.lease) not in reported]
    questions: list[Question] = [(BEGIN, ()), (LOCK, [Bigints(sorted(ids))])]
    questions += [(FENCES[does], values) for does, values, _ in _fencing(fences, lease_seconds)]
    if expired:
        questions.append((EXPIRED, _columns(sorted(expired))))
    _, heads, *accepted = await line.ask(*questions)
    words = dict.fromkeys(reported | {(key, lease) for key, lease, _ in expired}, STALE)
    words.update({((row[0], row[1], row[2]), row[3]): ACCEPTED for rows in accepted for row in rows})
    if refused := [fence for fence in fences if words[fence.key, fence.lease] == STALE]:
        words.update(dict.fromkeys(await _recorded(line, refused), DUPLICATE))
    return {row[0]: head(row) for row in heads}, words


def foreseen(seen: Sequence[Head], fences: Sequence[Fence], lease_seconds: float) -> list[Question]:
    """The same, for a transaction that goes on without waiting for an answer: it fails if that is not as expected."""
    heads = sorted(seen, key=lambda head: head.id)
    columns = [
        Bigints(head.id for head in heads),
        Integers(head.head for head in heads),
        Bigints(head.tag for head in heads),
    ]
    fencing = [(CHECKED_FENCES[does], [*values, count]) for does, values, count in _fencing(fences, lease_seconds)]
    return [(BEGIN, ()), (SEEN, [len(heads), *columns]), *fencing]


def _fencing(fences: Sequence[Fence], lease_seconds: float) -> Iterator[tuple[str, list[object], int]]:
    """For each kind of fence there is one for: the values of its statement, and how many rows it is about."""
    for does in FENCES:
        if found := sorted((fence.key, fence.lease, fence.n) for fence in fences if fence.does == does):
            yield does, [*([lease_seconds] if does == PROGRESS else []), *_columns(found)], len(found)


def _columns(found: Sequence[tuple[Key, int, int]]) -> list[Bigints | Integers]:
    return [
        *key_columns([key for key, _, _ in found]),
        Bigints(lease for _, lease, _ in found),
        Integers(n for _, _, n in found),
    ]


async def _recorded(line: Line, refused: Sequence[Fence]) -> list[tuple[Key, int]]:
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
    (found,) = await line.ask((RECORDED, values))
    return [((row[0], row[1], row[2]), row[3]) for row in found]
