"""What the runs of the simulator have met, so that a green run means something: a zero fails the build.

Counts come in by category and name, from one run or added from many; a table and the list of zeros go out. What is
expected is named by the code itself (event classes, edges, faults of the world, buggify points), so that whatever is
added there is waited for here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from noetl.engine.events import NAMES
from noetl.testing.simulator.checks.edges import EDGES

EVENTS, MOVES = "events", "edges"
Counters = dict[str, dict[str, int]]


class Coverage:
    """Counters by category. `expected`: further categories, with the names that must be met."""

    def __init__(self, expected: Mapping[str, Iterable[str]] | None = None) -> None:
        self.events: Counter[str] = Counter()
        self.edges: Counter[str] = Counter()
        self._counted: dict[str, Counter[str]] = {EVENTS: self.events, MOVES: self.edges}
        self._expected: dict[str, tuple[str, ...]] = {EVENTS: tuple(NAMES.values()), MOVES: EDGES}
        for category, names in (expected or {}).items():
            self._expected[category] = tuple(names)

    def count(self, category: str, name: str, number: int = 1) -> None:
        self._counted.setdefault(category, Counter())[name] += number

    def add(self, counters: Mapping[str, Mapping[str, int]]) -> None:
        """What another run has counted."""
        for category, names in counters.items():
            self._counted.setdefault(category, Counter()).update(names)

    def counters(self) -> Counters:
        """What was counted, as plain data that `add` takes."""
        return {category: dict(names) for category, names in self._counted.items() if names}

    def zeros(self) -> list[str]:
        """What should have been met and was not, each with its category."""
        return [
            f"{category}: {name}"
            for category, names in self._expected.items()
            for name in names
            if not self._counted.get(category, Counter())[name]
        ]

    def table(self) -> str:
        """For people: each category with its counts, largest first, the zeros among them."""
        return "\n\n".join(self._section(category) for category in sorted({*self._counted, *self._expected}))

    def _section(self, category: str) -> str:
        counted = self._counted.get(category, Counter())
        names = sorted({*counted, *self._expected.get(category, ())}, key=lambda name: (-counted[name], name))
        met = sum(1 for name in names if counted[name])
        lines = [f"{category}: {met} of {len(names)} met", *(f"  {counted[name]:>12,}  {name}" for name in names)]
        return "\n".join(lines)
