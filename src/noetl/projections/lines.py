"""What an execution said, in lines: what its tasks printed, and what happened to it, in words.

Comes in: the events of one log, in order. What is kept of an event that has lines is where it is and what it is about,
42 bytes; what was printed stays in the log, and a fact is a number of `Words`. So lines of a step, an iteration or a
level are found without reading the log, and only what is shown is read. Bounded: of more than LINES_MAX such events the
first are kept.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple

import msgspec

from noetl.engine.events import Event
from noetl.projections.words import Words, shortened

LINES_MAX = 500_000
DEBUG, INFO, WARNING, ERROR = range(4)
LEVELS = ("debug", "info", "warning", "error")
LEVEL_NUMBERS = {name: number for number, name in enumerate(LEVELS)}
MARKED = re.compile(
    r"[\s\[(<|*#-]{0,8}(?:(DEBUG|TRACE|WARN(?:ING)?|ERR(?:OR)?|CRITICAL|FATAL)\b"  # in capitals, or followed by a sign
    r"|((?i:debug|trace|warn(?:ing)?|err(?:or)?|critical|fatal))(?=[:\])>|]))"
)
MARKS = {"debug": DEBUG, "trace": DEBUG, "warn": WARNING, "warning": WARNING}  # the others are errors
RECORD = Struct("<IIiIIIIIBBd")  # seq, run, iteration, step, task, attempt, printed, fact, its level, levels, when
SEQ = Struct("<I")


class Fact(NamedTuple):
    """One thing that happened, in words."""

    level: int
    text: str
    step: str = ""


class Place(NamedTuple):
    """An event that has lines: what a task printed, then a fact."""

    seq: int
    run: int
    iteration: int
    step: int  # a number of `Words`, as are task and fact
    task: int
    attempt: int
    printed: int  # how many lines
    fact: int  # 0: none
    fact_level: int
    levels: int  # one bit for each level that one of its lines has
    at: float


class Sought(msgspec.Struct, frozen=True, kw_only=True):
    """Which lines are asked for; None: all."""

    step: str | None = None
    run: int | None = None
    iteration: int | None = None
    task: str | None = None
    level: str | None = None  # and those above it
    text: str | None = None  # that stands in the line, in whatever letters

    @property
    def least(self) -> int:
        return LEVEL_NUMBERS[self.level] if self.level else DEBUG


class Lines:
    """The lines of one execution."""

    def __init__(self, names: Words, facts: Words) -> None:
        self.count = 0
        self.is_cut = False
        self._names = names
        self._facts = facts
        self._records = bytearray()

    @property
    def size_bytes(self) -> int:
        return len(self._records)

    # --- taking in ---------------------------------------------------------------------------------------------------

    def take(self, seq: int, event: Event, step: str, printed: Sequence[str], fact: Fact | None) -> None:
        """Keep where something was said."""
        if not printed and fact is None:
            return
        if self.count >= LINES_MAX:
            self.is_cut = True
            return
        level, told = (fact.level, self._facts.number(shortened(fact.text))) if fact else (INFO, 0)
        levels = 1 << level if fact else 0
        for text in printed:
            levels |= 1 << level_of(text)
        place = (seq, event.run, event.iter, self._names.number(step), self._names.number(event.task), event.attempt)
        self._records += RECORD.pack(*place, len(printed), told, level, levels, event.ts)
        self.count += 1

    # --- giving out --------------------------------------------------------------------------------------------------

    def after(self, seq: int, sought: Sought) -> Iterator[Place]:
        """Events after one that have lines of the kind that is sought, as far as can be told without reading them."""
        step, task = self._known(sought.step), self._known(sought.task)
        levels = 0xFF << sought.least & 0xFF
        for number in range(bisect_right(range(self.count), seq, key=self._seq_of), self.count):
            found = Place(*RECORD.unpack_from(self._records, number * RECORD.size))
            if (
                found.levels & levels
                and (step is None or found.step == step)
                and (task is None or found.task == task)
                and sought.run in (None, found.run)
                and sought.iteration in (None, found.iteration)
            ):
                yield found

    def _known(self, name: str | None) -> int | None:
        """The number of a name; -1: nothing here is called so."""
        if name is None:
            return None
        number = self._names.known(name)
        return -1 if number is None else number

    def _seq_of(self, number: int) -> int:
        seq: int = SEQ.unpack_from(self._records, number * RECORD.size)[0]
        return seq


def level_of(text: str) -> int:
    """What a line says of itself where it begins: `ERROR …`, `[warn] …`, `debug: …`; else it is information."""
    found = MARKED.match(text)
    return MARKS.get((found[1] or found[2]).lower(), ERROR) if found else INFO
