"""Arcs and rules of a playbook, and which of them were ever taken.

A log says which arcs fired and which rule of a policy decided. Which rule of a gate let a token in it does not say:
that rule is asked again, on the state of its moment, as `noetl why` does. Rules of the workbook's tasks leave nothing
in the log; whoever ran it says which of them decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from noetl.control.catalog import Loaded
from noetl.dsl.model import Playbook, Step
from noetl.dsl.source import Place
from noetl.engine.apply import apply
from noetl.engine.decision import Decision
from noetl.engine.events import Event, LoopStarted, NextEvaluated, StepScheduled, StepWaiting, TaskDone
from noetl.engine.explaining import explained_entry
from noetl.engine.state import State

ARC, RULE, GATE, CALLED = "arc", "rule", "admission rule", "workbook rule"
UNDOING = "undoing "


class Branch(msgspec.Struct, frozen=True):
    """An arc or a rule: one way that a run can take."""

    kind: str
    step: str
    task: str  # of a rule
    index: int  # from 0


class Coverage:
    """What of some playbooks was taken, over many runs."""

    def __init__(self) -> None:
        self._branches: dict[str, dict[Branch, tuple[Place, str]]] = {}  # by file: where it stands, and how it is said
        self._taken: dict[str, set[Branch]] = {}

    def know(self, file: str, playbook: Playbook) -> None:
        """A playbook that is to be covered, whether it ran or not."""
        self._branches.setdefault(file, {}).update(
            {branch: (place, words) for branch, place, words in branches_of(playbook)}
        )
        self._taken.setdefault(file, set())

    def add(
        self, file: str, loaded: Loaded, execution_id: int, log: list[Event], called: Iterable[tuple[str, int]] = ()
    ) -> None:
        """One run of it. `called`: the tasks of its workbook and the rules of them that decided."""
        self.know(file, loaded.playbook)
        self._taken[file].update(taken(loaded, execution_id, log))
        self._taken[file].update(Branch(CALLED, "", label, index) for label, index in called)

    @property
    def total(self) -> int:
        return sum(map(len, self._branches.values()))

    @property
    def covered(self) -> int:
        return sum(len(known.keys() & self._taken[file]) for file, known in self._branches.items())

    @property
    def percent(self) -> float:
        return 100.0 * self.covered / self.total if self.total else 100.0

    def never_taken(self) -> list[tuple[str, Place, str]]:
        """File, place and words of each branch that no run took, in the order of their lines."""
        found = [
            (file, place, words)
            for file, known in self._branches.items()
            for branch, (place, words) in known.items()
            if branch not in self._taken[file]
        ]
        return sorted(found, key=lambda one: (one[0], one[1].line, one[1].column))

    def as_data(self) -> dict[str, object]:
        never = [
            {"path": file, "line": place.line, "column": place.column, "what": words}
            for file, place, words in self.never_taken()
        ]
        return {"covered": self.covered, "total": self.total, "percent": round(self.percent, 1), "never_taken": never}


def branches_of(playbook: Playbook) -> Iterator[tuple[Branch, Place, str]]:
    for name, step in playbook.steps.items():
        for index, rule in enumerate(step.admission.rules):
            verb = "allows" if rule.allow else "denies"
            words = f'admission rule {index + 1} of step "{name}" ({verb})'
            yield Branch(GATE, name, "", index), rule.place, words
        yield from _rules_of(name, step)
        for index, arc in enumerate(step.router.arcs):
            yield Branch(ARC, name, "", index), arc.place, f'arc from "{name}" to "{arc.target}"'
    yield from _rules_of_workbook(playbook)


def _rules_of(name: str, step: Step) -> Iterator[tuple[Branch, Place, str]]:
    for prefix, tasks in (("", step.tasks), (UNDOING, step.compensation)):
        for task in tasks:
            for index, rule in enumerate(task.policy.rules if task.policy else ()):
                words = f'rule {index + 1} of task "{task.label}" in step "{name}" ({rule.do})'
                yield Branch(RULE, name, prefix + task.label, index), rule.place, words


def _rules_of_workbook(playbook: Playbook) -> Iterator[tuple[Branch, Place, str]]:
    for task in playbook.workbook.values():
        for index, rule in enumerate(task.policy.rules if task.policy else ()):
            words = f'rule {index + 1} of task "{task.label}" in the workbook ({rule.do})'
            yield Branch(CALLED, "", task.label, index), rule.place, words


def taken(loaded: Loaded, execution_id: int, log: list[Event]) -> set[Branch]:
    """What one run took."""
    found: set[Branch] = set()
    steps: dict[int, tuple[str, bool]] = {}  # by run: its step, and whether it undoes one
    gated = any(step.admission.rules for step in loaded.playbook.steps.values())
    state = State(execution_id=execution_id)
    for event in log:
        if isinstance(event, StepScheduled):
            steps[event.run] = event.step, bool(event.compensates)
            if gated and not event.compensates:
                found.update(_admitted(loaded, state, event))
        elif isinstance(event, LoopStarted) and event.parent_run:
            steps[event.run] = steps[event.parent_run]
        elif isinstance(event, StepWaiting) and event.rule >= 0:
            found.add(Branch(GATE, event.step, "", event.rule))
        elif isinstance(event, NextEvaluated):
            found.update(Branch(ARC, event.step, "", fired.arc) for fired in event.fired)
        elif isinstance(event, TaskDone) and event.rule >= 0:
            step, is_undoing = steps[event.run]
            found.add(Branch(RULE, step, (UNDOING if is_undoing else "") + event.task, event.rule))
        if gated:
            apply(state, event)
    return found


def _admitted(loaded: Loaded, state: State, event: StepScheduled) -> set[Branch]:
    if event.step not in loaded.playbook.steps:
        return set()  # a planned one
    said = explained_entry(Decision(loaded.playbook, loaded.net, state, event.ts), event)
    return {Branch(GATE, event.step, "", one.index) for one in said if one.is_chosen}
