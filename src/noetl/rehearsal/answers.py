"""What answers in place of tools, by the words of a test.

Answers are kept by name: `step.task`, or `step` where it has one task. Of the answers of a name those that say the run
and the iteration of a call come before those that say less; the first call gets the first of them, the last one
answers all further ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

from noetl.rehearsal.asking import Asked
from noetl.rehearsal.envelopes import SELECTORS, Answer

Selector = tuple[str | None, str | None]  # run and iteration, None: any


class Answers(Protocol):
    """Whoever answers in place of tools."""

    def answer(self, asked: Asked) -> Answer | None:
        """What the tool gave, with the words of envelopes.py; None: not said here."""
        ...


class Listed:
    """Answers of one playbook, by name."""

    def __init__(self, answers: Mapping[str, Iterable[Answer]]) -> None:
        self._by_name: dict[str, dict[Selector, list[Answer]]] = {}
        for name, several in answers.items():
            for one in several:
                kept = {key: value for key, value in one.items() if key not in SELECTORS}
                self._by_name.setdefault(name, {}).setdefault(selector_of(one), []).append(kept)
        self._used: Counter[tuple[str, Selector]] = Counter()

    def answer(self, asked: Asked) -> Answer | None:
        for name in (asked.name, asked.step):
            found = self._by_name.get(name)
            if found is None:
                continue
            for selector in selectors_of(asked):
                if selector in found:
                    number = self._used[name, selector]
                    self._used[name, selector] += 1
                    return found[selector][min(number, len(found[selector]) - 1)]
        return None

    def unused(self) -> list[str]:
        """The names that nobody asked for."""
        used = {name for name, _ in self._used}
        return [name for name in self._by_name if name not in used]


def selector_of(answer: Answer) -> Selector:
    run, iteration = (answer.get(name) for name in SELECTORS)
    return None if run is None else str(run), None if iteration is None else str(iteration)


def selectors_of(asked: Asked) -> list[Selector]:
    """From the most to the least particular."""
    run, iteration = str(asked.run), asked.iteration or None
    return list(dict.fromkeys(((run, iteration), (None, iteration), (run, None), (None, None))))


class Several:
    """The first of several that answers."""

    def __init__(self, *answers: Answers) -> None:
        self._answers = answers

    def answer(self, asked: Asked) -> Answer | None:
        return next((found for one in self._answers if (found := one.answer(asked)) is not None), None)


class ByPlaybook:
    """Answers of the playbook that is rehearsed, and of those that it calls, by the path it calls them by."""

    def __init__(self, own: Answers, children: Mapping[str, Answers]) -> None:
        self.own = own
        self.children = children

    def answer(self, asked: Asked) -> Answer | None:
        found = self.children.get(asked.playbook) if asked.playbook else self.own
        return found.answer(asked) if found is not None else None
