"""What is said of an execution in words: notices while it runs, errors at its end. Facts in, lines out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from noetl.cli.words import clean
from noetl.wording import task_place

if TYPE_CHECKING:
    from noetl.server import Notice


PLACED = r"[^\n\"]+?:\d+:\d+: "  # a path may have spaces, and on Windows a colon


class Line(msgspec.Struct, frozen=True):
    """One line for a person who watches."""

    mark: str
    colour: str
    text: str
    is_news: bool = True  # False: on a terminal the drawing shows it already


class Look(NamedTuple):
    """How a kind of notice is drawn."""

    mark: str
    colour: str
    is_news: bool = True


LOOKS: dict[str, Look] = {
    "started": Look("▸", "cyan", is_news=False),
    "loop": Look("▸", "cyan", is_news=False),
    "reopened": Look("▸", "cyan"),
    "done": Look("✓", "green"),
    "failed": Look("✗", "red"),
    "cancelled": Look("■", "yellow"),
    "skipped": Look("-", "bright_black"),
    "retry": Look("↻", "yellow"),
    "iteration_failed": Look("✗", "red"),
    "parked": Look("…", "cyan"),
    "child": Look("▸", "cyan", is_news=False),
    "child_done": Look("✓", "green", is_news=False),
    "child_failed": Look("✗", "red"),
    "waiting": Look("…", "yellow"),
    "signal": Look("▸", "cyan"),
    "cancelling": Look("■", "yellow"),
    "compensating": Look("↶", "yellow"),
    "extended": Look("▸", "cyan"),
    "recovered": Look("▸", "cyan"),
    "incident": Look("✗", "red"),
}


def said(notice: Notice) -> Line:
    """A notice as a line."""
    from noetl.server import sentence  # whoever watches has it; whoever prints an error need not

    look = LOOKS[notice.what]
    place = f"{clean(notice.step)}: " if notice.step else ""
    return Line(look.mark, look.colour, f"{place}{clean(sentence(notice))}", look.is_news)


def error_sentence(error: dict[str, Any], place: str = "") -> str:
    """An execution's error as one line: step, iteration, task with its place in the file, what happened."""
    step, message = error.get("step"), clean(str(error.get("message") or error.get("kind") or "unknown"))
    if not step:
        return message
    if re.match(PLACED, message):  # a fault in a template names the very column
        place = ""
    where = clean(task_place(error.get("task"), error.get("iteration", -1)))
    return f'step "{clean(str(step))}"{where}{f" ({clean(place)})" if place else ""}: {message}'
