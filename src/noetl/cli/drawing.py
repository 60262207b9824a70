"""The drawing of what runs, at the foot of a terminal: one line per running step, loops with a bar and a rate.

Made from `Progress` alone and redrawn when told to, at most ten times a second, whatever the number of events. Nothing
but the lines on the screen is kept here. It is imported only when there is a terminal to draw on: rich costs 40 ms.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from noetl.cli.sentences import Line
from noetl.cli.words import clean, columns_of, duration, padded, plural

if TYPE_CHECKING:
    from noetl.server import Children, Progress, Step

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SPINS_PER_SECOND = 10
RATE_SECONDS = 5.0  # a rate is that of the last seconds
SAMPLES_MAX = 64
ROWS_MIN = 3
ROWS_FOR_LINES = 4  # of the terminal's height are left to what is printed above
BAR_WIDTHS = ((100, 24), (70, 12))  # terminal at least so wide: a bar of that width
STEP_WIDTH_MAX = 32
NARROW = 70


class Board:
    """A live drawing on standard error."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, highlight=False, markup=False, emoji=False)
        self.rates: dict[str, Rate] = {}
        self.live = Live(
            console=self.console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self.live.start()

    def say(self, line: Line) -> None:
        """Print a line above the drawing."""
        self.console.print(Text.assemble((line.mark, line.colour), " ", line.text), soft_wrap=True)

    def draw(self, progress: Progress, elapsed_seconds: float) -> None:
        self.live.update(self.picture(progress, elapsed_seconds), refresh=True)

    def close(self) -> None:
        self.live.stop()

    def picture(self, progress: Progress, elapsed_seconds: float) -> Group:
        """All running steps that fit, and a line about the whole."""
        steps = progress.steps
        running = [step for step in steps if step.live]
        most = max(self.console.height - ROWS_FOR_LINES, ROWS_MIN)
        spin = SPINNER[int(elapsed_seconds * SPINS_PER_SECOND) % len(SPINNER)]
        wide = self.name_columns(running[:most])
        lines = [self.line_of(step, progress, spin, wide) for step in running[:most]]
        more = (
            [Text(f"  and {plural(len(running) - most, 'more step')}", "bright_black")] if len(running) > most else []
        )
        return Group(*lines, *more, self.foot(progress, steps, elapsed_seconds))

    def name_columns(self, steps: list[Step]) -> int:
        """How wide names are: a third of a narrow terminal at most, so that what a step does is to be seen too."""
        most = min(STEP_WIDTH_MAX, self.console.width // 3)
        return min(max((columns_of(clean(step.step)) for step in steps), default=0), most)

    def line_of(self, step: Step, progress: Progress, spin: str, wide: int) -> Text:
        """A running step, cut where the terminal ends."""
        line = Text.assemble((spin, "cyan"), " ", padded(clean(step.step), wide), " ", self.state_of(step, progress))
        line.truncate(self.console.width, overflow="ellipsis")
        line.no_wrap = True
        return line

    def state_of(self, step: Step, progress: Progress) -> Text:
        """What a running step does: how far its loop is, or which task runs and since when."""
        text = self.loop_of(step) if step.loop else self.tasks_of(step, progress)
        if step.retries:
            text.append(f"  ↻ {step.retries:,}", "yellow")
        return text

    def loop_of(self, step: Step) -> Text:
        loop = step.loop
        if loop is None:
            return Text()
        ended = loop.done + loop.failed
        text = Text()
        if width := next((width for least, width in BAR_WIDTHS if self.console.width >= least), 0):
            full = int(width * ended / loop.total) if loop.total else width
            text.append("━" * full, "cyan").append("─" * (width - full), "bright_black").append(" ")
        text.append(f"{ended:,}/{loop.total:,}")
        if loop.failed:
            text.append(f"  {loop.failed:,} failed", "red")
        if loop.in_flight:
            text.append(f"  {loop.in_flight:,} in flight", "bright_black")
        if step.nested:
            text.append(f"  inner {step.nested.done + step.nested.failed:,}/{step.nested.total:,}", "bright_black")
        return text.append(self.rates.setdefault(step.step, Rate()).words(ended, loop.total), "bright_black")

    def tasks_of(self, step: Step, progress: Progress) -> Text:
        tasks = progress.tasks_under_way(step.step)
        names = ", ".join(clean(task) + (f" × {count}" if count > 1 else "") for task, count in tasks.items())
        since = min((run.began_at for run in progress.runs.live if run.step == step.step), default=time.time())
        parts = [names, duration(time.time() - since)]
        if self.console.width < NARROW:  # what is cut off is the name, not the time
            parts.reverse()
        return Text("  ".join(filter(None, parts)))

    def foot(self, progress: Progress, steps: list[Step], elapsed_seconds: float) -> Text:
        done = sum(not step.live and step.runs > 0 for step in steps)
        parts = [duration(elapsed_seconds), f"{plural(done, 'step')} done"]
        parts += [children_words(one) for one in progress.children.values() if one.done + one.failed < one.started]
        if progress.is_cancelling:
            parts.append("cancelling")
        return Text(" · ".join(parts), "bright_black", no_wrap=True, overflow="ellipsis")


class Rate:
    """How many a second, of late."""

    def __init__(self) -> None:
        self.samples: deque[tuple[float, int]] = deque(maxlen=SAMPLES_MAX)

    def words(self, ended: int, total: int) -> str:
        """`  60/s, 12 s left`, once there is something to say."""
        now = time.monotonic()
        self.samples.append((now, ended))
        while now - self.samples[0][0] > RATE_SECONDS:
            self.samples.popleft()
        began, before = self.samples[0]
        rate = (ended - before) / (now - began) if now > began else 0.0
        if rate <= 0:
            return ""
        return f"  {rate:,.0f}/s, {duration((total - ended) / rate)} left"


def children_words(children: Children) -> str:
    ended = children.done + children.failed
    return f"{clean(children.path)} {ended:,}/{children.started:,}"
