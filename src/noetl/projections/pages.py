"""Pages of a ledger's rows, as documents: what the API answers with. Milliseconds count from the request."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, TypeVar

from noetl.projections import attempts, iterations
from noetl.projections.ledger import Ledger
from noetl.projections.run_rows import Critical, RunRow
from noetl.projections.timeline import counts, moment

Row = TypeVar("Row")
ITERATION_STATUSES = {name: number for number, name in enumerate(iterations.STATUSES)}


def timeline_page(ledger: Ledger, after: int, limit: int) -> dict[str, Any]:
    """Step runs whose number is above `after`."""
    progress, origin = ledger.progress, origin_of(ledger)
    critical = ledger.runs.critical() if progress.result else Critical()
    rows, is_more = page_of(ledger.runs.after(after), limit)
    return {
        "execution_id": str(ledger.execution_id),
        "origin": moment(progress.requested_at),
        "last_seq": ledger.seq,
        "duration_ms": progress.log_ms,
        "runs": [run_row(ledger, row, origin, row.id in critical.runs) for row in rows],
        "critical_ms": round(critical.seconds * 1000),
        "is_cut": ledger.runs.is_cut,
        "next": rows[-1].id if is_more else None,
    }


def run_row(ledger: Ledger, row: RunRow, origin: float, is_critical: bool) -> dict[str, Any]:
    return {
        "run": row.id,
        "step": row.step,
        "status": row.status,
        "scheduled_ms": milliseconds(row.scheduled_at, origin),
        "started_ms": milliseconds(row.started_at, origin),
        "ended_ms": milliseconds(row.ended_at, origin),
        "loop": counts(row.loop),
        "attempts": row.attempts,
        "retries": row.retries,
        "error": ledger.messages.shown(row.error),
        "is_critical": is_critical,
        "compensates": row.compensates or None,
        "sources": list(row.sources),
    }


def iteration_page(ledger: Ledger, run: int, status: str | None, after: int, limit: int) -> dict[str, Any] | None:
    """Iterations of a loop from the index `after` on; None: that run is no loop."""
    loop, origin = ledger.iterations.loops.get(run), origin_of(ledger)
    if loop is None:
        return None
    rows, is_more = page_of(loop.after(after, None if status is None else ITERATION_STATUSES[status]), limit)
    return {
        "run": run,
        "step": loop.step,
        "total": loop.total,
        "counts": {
            "done": loop.counts[iterations.DONE],
            "failed": loop.counts[iterations.FAILED],
            "cancelled": loop.counts[iterations.CANCELLED],
            "in_flight": loop.counts[iterations.IN_FLIGHT],
            "not_started": loop.not_started,
        },
        "iterations": [
            {
                "iteration": row.number,
                "status": iterations.STATUSES[row.status],
                "started_ms": milliseconds(row.started_at, origin),
                "ended_ms": milliseconds(row.ended_at, origin),
                "attempts": row.attempts,
                "error": ledger.messages.shown(row.error),
                "inner_run": row.inner_run or None,
            }
            for row in rows
        ],
        "is_cut": loop.is_cut,
        "next": rows[-1].number + 1 if is_more else None,
    }


def attempt_page(ledger: Ledger, run: int | None, iteration: int | None, after: int, limit: int) -> dict[str, Any]:
    """Attempts that began after an event."""
    rows, is_more = page_of(ledger.attempts.after(after, run, iteration), limit)
    origin = origin_of(ledger)
    return {
        "attempts": [attempt_row(ledger, row, origin) for row in rows],
        "is_cut": ledger.attempts.is_cut,
        "next": rows[-1].seq_started if is_more else None,
    }


def attempt_row(ledger: Ledger, row: attempts.Attempt, origin: float) -> dict[str, Any]:
    has_ended = bool(row.seq_ended)
    has_answer = has_ended and row.status != attempts.CANCELLED
    return {
        "seq_started": row.seq_started,
        "seq_ended": row.seq_ended or None,
        "run": row.run,
        "iteration": row.iteration if row.iteration >= 0 else None,
        "task": ledger.names[row.task],
        "kind": ledger.names[row.kind],
        "visit": row.visit,
        "attempt": row.attempt,
        "status": attempts.STATUSES[row.status],
        "started_ms": milliseconds(row.started_at, origin),
        "ended_ms": milliseconds(row.ended_at, origin) if has_ended else None,
        "do": attempts.DOS[row.do] if has_answer else None,
        "to": ledger.names.shown(row.to),
        "rule": row.rule if row.rule >= 0 else None,
        "delay_seconds": row.delay_seconds if has_answer and attempts.DOS[row.do] == "retry" else None,
        "error": ledger.messages.shown(row.error),
        "worker": None,  # the log knows leases, and nobody by name
        "has_ref": row.has_ref,
    }


def page_of(rows: Iterator[Row], limit: int) -> tuple[list[Row], bool]:
    """The first rows, and whether there are more."""
    found = list(islice(rows, limit + 1))
    return found[:limit], len(found) > limit


def origin_of(ledger: Ledger) -> float:
    return ledger.progress.requested_at or 0.0


def milliseconds(moment: float | None, origin: float) -> int | None:
    return None if moment is None else round((moment - origin) * 1000)
