"""What is said of an execution in words: notices while it runs, errors at its end. Facts in, lines out."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from noetl.cli.words import clean, duration, plural

if TYPE_CHECKING:
    from noetl.server import Notice


PLACED = r"\S+:\d+:\d+: "


class Line(msgspec.Struct, frozen=True):
    """One line for a person who watches."""

    mark: str
    colour: str
    text: str
    is_news: bool = True  # False: on a terminal the drawing shows it already


def said(notice: Notice) -> Line:
    """A notice as a line."""
    return SENTENCES[notice.what](notice)


def started(notice: Notice) -> Line:
    what = "undoing what it did" if notice.is_compensation else "started"
    return Line("▸", "cyan", f"{clean(notice.step)}: {what}", is_news=False)


def loop(notice: Notice) -> Line:
    return Line("▸", "cyan", f"{clean(notice.step)}: {plural(notice.total, 'iteration')}", is_news=False)


def done(notice: Notice) -> Line:
    what = "undone" if notice.is_compensation else "done"
    return Line("✓", "green", f"{clean(notice.step)}: {what} in {duration(notice.seconds)}{details(notice)}")


def failed(notice: Notice) -> Line:
    place = task_place(notice.task, notice.iteration)
    after = f"failed after {duration(notice.seconds)}{details(notice)}"
    return Line("✗", "red", f"{clean(notice.step)}: {after}{place}: {clean(notice.message)}")


def cancelled(notice: Notice) -> Line:
    return Line("■", "yellow", f"{clean(notice.step)}: cancelled after {duration(notice.seconds)}{details(notice)}")


def skipped(notice: Notice) -> Line:
    reason = f": {clean(notice.message)}" if notice.message else ""
    return Line("-", "bright_black", f"{clean(notice.step)}: skipped{reason}")


def retry(notice: Notice) -> Line:
    place = task_place(notice.task, notice.iteration)
    wait = f" in {duration(notice.seconds)}" if notice.seconds else ""
    why = f": {clean(notice.message)}" if notice.message else ""
    return Line("↻", "yellow", f"{clean(notice.step)}: attempt {notice.attempt + 1}{wait}{place}{why}")


def iteration_failed(notice: Notice) -> Line:
    place = task_place(notice.task, -1)
    return Line(
        "✗", "red", f"{clean(notice.step)}: iteration {notice.iteration} failed{place}: {clean(notice.message)}"
    )


def parked(notice: Notice) -> Line:
    return Line("…", "cyan", f'{clean(notice.step)}: task "{clean(notice.task)}" goes on in {duration(notice.seconds)}')


def child(notice: Notice) -> Line:
    return Line("▸", "cyan", f'{clean(notice.step)}: called "{clean(notice.path)}"', is_news=False)


def called(notice: Notice) -> str:
    """A child, with its execution where it came to have one."""
    return f'"{clean(notice.path)}"' + (f" (execution {notice.execution_id})" if notice.execution_id else "")


def child_done(notice: Notice) -> Line:
    return Line("✓", "green", f"{clean(notice.step)}: {called(notice)} is done", is_news=False)


def child_failed(notice: Notice) -> Line:
    return Line("✗", "red", f"{clean(notice.step)}: {called(notice)} failed: {clean(notice.message)}")


def waiting(notice: Notice) -> Line:
    return Line("…", "yellow", f"{clean(notice.step)}: waits for a signal")


def signal(notice: Notice) -> Line:
    return Line("▸", "cyan", f"a signal wrote {clean(notice.message)}")


def cancelling(notice: Notice) -> Line:
    reason = f": {clean(notice.message)}" if notice.message else ""
    return Line("■", "yellow", f"cancelling{reason}")


def compensating(notice: Notice) -> Line:
    return Line("↶", "yellow", f"undoing {plural(int(notice.message), 'step')}, last first")


def extended(notice: Notice) -> Line:
    return Line("▸", "cyan", f"{plural(int(notice.message), 'step')} added by the plan")


def recovered(_notice: Notice) -> Line:
    return Line("▸", "cyan", "going on where it stopped")


def incident(notice: Notice) -> Line:
    return Line("✗", "red", f"a fault of NoETL's own stopped it: {clean(notice.message)}")


SENTENCES: dict[str, Callable[[Notice], Line]] = {
    "started": started,
    "loop": loop,
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


def task_place(task: str | None, iteration: int | str) -> str:
    """`, iteration 7, task "fetch"`, as much of it as is known; of nested loops the iteration is a text such as 3.7."""
    where = f", iteration {clean(str(iteration))}" if iteration not in (-1, "") else ""
    return where + (f', task "{clean(task)}"' if task else "")


def error_sentence(error: dict[str, Any], place: str = "") -> str:
    """An execution's error as one line: step, iteration, task with its place in the file, what happened."""
    step, message = error.get("step"), clean(str(error.get("message") or error.get("kind") or "unknown"))
    if not step:
        return message
    if re.match(PLACED, message):  # a fault in a template names the very column
        place = ""
    where = task_place(error.get("task"), error.get("iteration", -1))
    return f'step "{clean(str(step))}"{where}{f" ({clean(place)})" if place else ""}: {message}'
