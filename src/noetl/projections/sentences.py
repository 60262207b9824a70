"""Notices in words: what happened, without the step it happened to, which stands beside it wherever it is read.

Facts in, one sentence out, of whatever the log says: whoever prints it makes it safe for where it is printed.
"""

from __future__ import annotations

from collections.abc import Callable

from noetl.projections.notices import Notice, What
from noetl.wording import duration, plural, task_place


def sentence(notice: Notice) -> str:
    """`done in 1.2 s (10 of 10 iterations)`"""
    return SENTENCES[notice.what](notice)


def started(notice: Notice) -> str:
    return "undoing what it did" if notice.is_compensation else "started"


def loop(notice: Notice) -> str:
    return plural(notice.total, "iteration")


def reopened(notice: Notice) -> str:
    left = f"{notice.total - notice.done:,} of {notice.total:,} to do"
    return f"keeps {plural(notice.done, 'finished iteration')}, {left}; --whole runs them again"


def done(notice: Notice) -> str:
    what = "undone" if notice.is_compensation else "done"
    return f"{what} in {duration(notice.seconds)}{details(notice)}"


def failed(notice: Notice) -> str:
    place = task_place(notice.task, notice.iteration)
    return f"failed after {duration(notice.seconds)}{details(notice)}{place}: {notice.message}"


def cancelled(notice: Notice) -> str:
    return f"cancelled after {duration(notice.seconds)}{details(notice)}"


def skipped(notice: Notice) -> str:
    return f"skipped{because(notice)}"


def retry(notice: Notice) -> str:
    wait = f" in {duration(notice.seconds)}" if notice.seconds else ""
    return f"attempt {notice.attempt + 1}{wait}{task_place(notice.task, notice.iteration)}{because(notice)}"


def iteration_failed(notice: Notice) -> str:
    return f"iteration {notice.iteration} failed{task_place(notice.task, -1)}: {notice.message}"


def parked(notice: Notice) -> str:
    return f'task "{notice.task}" goes on in {duration(notice.seconds)}'


def child(notice: Notice) -> str:
    return f'called "{notice.path}"'


def called(notice: Notice) -> str:
    """A child, with its execution where it came to have one."""
    return f'"{notice.path}"' + (f" (execution {notice.execution_id})" if notice.execution_id else "")


def child_done(notice: Notice) -> str:
    return f"{called(notice)} is done"


def child_failed(notice: Notice) -> str:
    return f"{called(notice)} failed: {notice.message}"


def waiting(_notice: Notice) -> str:
    return "waits for a signal"


def signal(notice: Notice) -> str:
    return f"a signal wrote {notice.message}"


def cancelling(notice: Notice) -> str:
    return f"cancelling{because(notice)}"


def compensating(notice: Notice) -> str:
    return f"undoing {plural(int(notice.message), 'step')}, last first"


def extended(notice: Notice) -> str:
    return f"{plural(int(notice.message), 'step')} added by the plan"


def recovered(_notice: Notice) -> str:
    return "going on where it stopped"


def incident(notice: Notice) -> str:
    return f"a fault of NoETL's own stopped it: {notice.message}"


SENTENCES: dict[What, Callable[[Notice], str]] = {
    "started": started,
    "loop": loop,
    "reopened": reopened,
    "done": done,
    "failed": failed,
    "cancelled": cancelled,
    "skipped": skipped,
    "retry": retry,
    "iteration_failed": iteration_failed,
    "parked": parked,
    "child": child,
    "child_done": child_done,
    "child_failed": child_failed,
    "waiting": waiting,
    "signal": signal,
    "cancelling": cancelling,
    "compensating": compensating,
    "extended": extended,
    "recovered": recovered,
    "incident": incident,
}


def details(notice: Notice) -> str:
    """Iterations and retries, where there were any."""
    parts = []
    if notice.total >= 0:
        parts.append(f"{notice.done:,} of {plural(notice.total, 'iteration')}")
    if notice.failed:
        parts.append(f"{notice.failed:,} failed")
    if notice.retries:
        parts.append("1 retry" if notice.retries == 1 else f"{notice.retries:,} retries")
    return f" ({', '.join(parts)})" if parts else ""


def because(notice: Notice) -> str:
    return f": {notice.message}" if notice.message else ""
