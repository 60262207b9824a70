"""Watching an execution: what the server tells while it runs, said on standard error.

Comes in: the server's calls (see `Observer` in server.py). Goes out: on a pipe plain lines, one for each thing worth
knowing, loops now and then; on a terminal the same lines for what has ended, and below them a drawing of what runs,
once it has run long enough to be worth one. Standard output is left to the result.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from noetl.cli import voice
from noetl.cli.sentences import Line, said
from noetl.cli.voice import say
from noetl.cli.words import clean, coloured, plural

if TYPE_CHECKING:
    from noetl.cli.drawing import Board
    from noetl.server import Event, Progress, Step

DRAW_AFTER_SECONDS = 0.3  # a run that is over by then costs no import of rich
DRAW_EVERY_SECONDS = 0.1
LOOP_EVERY_SECONDS, LOOP_EVERY_SECONDS_MAX = 1.0, 32.0  # on a pipe: the pauses between lines about a loop grow
FREQUENT_EVERY_SECONDS = 1.0
FREQUENT = frozenset(("retry", "iteration_failed"))  # may come once per iteration
LINES_PER_SECOND_MAX = 100
TRIFLES = frozenset(("started", "loop", "done", "skipped", "child", "child_done"))  # left out when there are too many


class Silent:
    """Says nothing but that it heard Ctrl-C."""

    tick_seconds = 1.0
    execution_id = 0

    def started(
        self, execution_id: int, playbook_name: str, file: str, step_names: list[str], so_far: Progress | None = None
    ) -> None:
        self.execution_id = voice.unfinished = self.execution_id or execution_id

    def committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None: ...

    def printed(self, execution_id: int, step: str, task: str, line: str) -> None: ...

    def stopping(self, tasks_in_flight: int) -> None:
        say(stopping_line(tasks_in_flight), err=True)

    def unserved(self, reason: str) -> None: ...

    def tick(self) -> None: ...

    def close(self) -> None: ...


class Narrator:
    """Tells a person how it goes."""

    def __init__(self, *, draws: bool) -> None:
        self.draws = draws
        self.tick_seconds = DRAW_EVERY_SECONDS if draws else LOOP_EVERY_SECONDS
        self.execution_id = 0
        self.progress: Progress | None = None
        self.board: Board | None = None
        self.began = time.monotonic()
        self.frequent: dict[tuple[str, str], float] = {}  # what and step → when it was last said
        self.loops: dict[str, LoopReport] = {}
        self.second, self.lines, self.left_out = 0, 0, 0

    def started(
        self, execution_id: int, playbook_name: str, file: str, step_names: list[str], so_far: Progress | None = None
    ) -> None:
        from noetl import server

        if self.progress is None:
            self.execution_id, self.progress = execution_id, so_far or server.Progress()
            voice.unfinished = execution_id
            self.say(Line("▸", "cyan", f"{clean(playbook_name)}: execution {execution_id}"))

    def committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None:
        from noetl import server

        if execution_id != self.execution_id or self.progress is None:
            return  # of a child, whose end its caller tells
        for notice in server.notices(self.progress, events):
            line = said(notice)
            if (line.is_news or not self.draws) and not self.is_too_soon(notice.what, notice.step):
                self.say(line, is_trifle=notice.what in TRIFLES)

    def is_too_soon(self, what: str, step: str) -> bool:
        """Whether something that may come by the thousand was said of this step a moment ago."""
        if what not in FREQUENT:
            return False
        now, key = time.monotonic(), (what, step)
        if now - self.frequent.get(key, -FREQUENT_EVERY_SECONDS) < FREQUENT_EVERY_SECONDS:
            return True
        self.frequent[key] = now
        return False

    def printed(self, execution_id: int, step: str, task: str, line: str) -> None:
        place = "/".join(clean(part) for part in (step, task) if part)
        self.say(Line("|", "bright_black", f"{place}: {clean(line)}"))

    def stopping(self, tasks_in_flight: int) -> None:
        self.say(Line("■", "yellow", stopping_line(tasks_in_flight)))

    def unserved(self, reason: str) -> None:
        self.say(Line("…", "yellow", clean(reason)))

    def tick(self) -> None:
        """Draw, or report on loops; the server calls it every `tick_seconds`."""
        if self.progress is None:
            return
        if not self.draws:
            self.report_loops(self.progress)
        elif self.board or time.monotonic() - self.began > DRAW_AFTER_SECONDS:
            self.board = self.board or make_board()
            self.board.draw(self.progress, time.monotonic() - self.began)

    def report_loops(self, progress: Progress) -> None:
        now = time.monotonic()
        for step in progress.steps:
            if step.live and step.loop:
                report = self.loops.setdefault(step.step, LoopReport(step.loop.done + step.loop.failed, now))
                if line := report.line(step, now):
                    self.say(Line("▸", "cyan", line))

    def say(self, line: Line, is_trifle: bool = False) -> None:
        """Print a line, above the drawing if there is one. Of a flood of small news only so many are shown."""
        second = int(time.monotonic())
        if second != self.second:
            self.tell_left_out()
            self.second, self.lines = second, 0
        self.lines += 1
        if is_trifle and self.lines > LINES_PER_SECOND_MAX:
            self.left_out += 1
        else:
            self.print(line)

    def tell_left_out(self) -> None:
        if self.left_out:
            self.print(Line("·", "bright_black", f"({plural(self.left_out, 'line')} left out)"))
            self.left_out = 0

    def print(self, line: Line) -> None:
        if self.board:
            self.board.say(line)
        else:
            say(f"{coloured(line.mark, line.colour)} {line.text}", err=True)

    def close(self) -> None:
        """Take the drawing away; whatever is printed next stands on a clean line."""
        self.tell_left_out()
        if self.board:
            self.board.close()
            self.board = None


class LoopReport:
    """When to say how far a loop is, and how fast it goes."""

    def __init__(self, ended: int, now: float) -> None:
        self.at, self.ended = now, ended
        self.pause_seconds = LOOP_EVERY_SECONDS

    def line(self, step: Step, now: float) -> str | None:
        elapsed = now - self.at
        if step.loop is None or elapsed < self.pause_seconds:
            return None
        ended = step.loop.done + step.loop.failed
        rate, self.at, self.ended = (ended - self.ended) / elapsed, now, ended
        self.pause_seconds = min(self.pause_seconds * 2, LOOP_EVERY_SECONDS_MAX)
        failed = f", {step.loop.failed:,} failed" if step.loop.failed else ""
        counts = f"{step.loop.done:,} of {plural(step.loop.total, 'iteration')} done{failed}"
        return f"{clean(step.step)}: {counts}, {step.loop.in_flight:,} in flight, {rate:,.0f}/s"


def stopping_line(tasks_in_flight: int) -> str:
    waits = f"{plural(tasks_in_flight, 'task')} still at work" if tasks_in_flight else "nothing is at work"
    return f"stopping: {waits}; press Ctrl-C again to stop at once"


def make_board() -> Board:
    from noetl.cli.drawing import Board

    return Board()


def observer_for(form: str, is_quiet: bool) -> Silent | Narrator:
    """Whoever watches: nobody where data or quiet was asked for."""
    return Silent() if is_quiet or form == "json" else Narrator(draws=can_draw())


def can_draw() -> bool:
    """Whether standard error is a terminal that can be drawn on."""
    import os

    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")
