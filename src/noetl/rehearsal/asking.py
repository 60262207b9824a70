"""Who asks: each call of a tool, and each child that is called, by its place in its execution.

Commits come in, as an observer is told of them; from them is known which step a run is of, the how many-th run of that
step it is, and in which iterations it stands. A call goes out as `Asked`, which says all that tells two calls apart.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from noetl.control.requests import Nobody
from noetl.engine import commands as ops
from noetl.engine.events import Event, LoopStarted, PlaybookExecutionRequested, StepScheduled
from noetl.secret import Secret

MASKED_DEPTH_MAX = 64
TICK_SECONDS = 0.000_001


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One call: whose it is, and what it was given."""

    execution_id: int
    playbook: str = ""  # the path by which the execution was called; "": it is the one that is rehearsed
    step: str
    run: int  # of the step's runs the first, the second, …
    iteration: str = ""  # the index in its loop, of nested loops the outermost first: 3, 3.0; "": no loop
    task: str  # the label in the step's pipeline
    called: str = ""  # the workbook's task, where the task calls one
    visit: int = 1  # more than once by jumps
    attempt: int = 1  # of a workbook's task: within the call
    kind: str
    input: dict[str, Any] = {}  # rendered; of a real secret only that it is one

    @property
    def name(self) -> str:
        return f"{self.step}.{self.task}"


class Spot(msgspec.Struct, frozen=True):
    """A run: of a step, or of a loop inside another."""

    step: str
    number: int
    around: tuple[int, ...] = ()


class Whereabouts(Nobody):
    """An observer that keeps what was committed, and knows where runs stand."""

    reveals = False  # whether inputs show secrets: those of a rehearsal are words that are none, and tell calls apart

    def __init__(self) -> None:
        self.tick_seconds = TICK_SECONDS
        self.events: dict[int, list[Event]] = {}  # by execution, in order
        self.names: dict[int, str] = {}  # of executions: the path by which a task called it
        self.calls: dict[str, str] = {}  # key of a task that waits for a child → the path it called
        self._spots: dict[tuple[int, int], Spot] = {}
        self._numbers: Counter[tuple[int, str]] = Counter()
        self.count = 0

    def tick(self) -> None:
        """Look again whether anything still goes on: soon after a commit, and then ever more seldom."""
        self.tick_seconds *= 2

    def committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None:
        self.tick_seconds = TICK_SECONDS
        self.count += len(events)
        self.events.setdefault(execution_id, []).extend(events)
        for event in events:
            if isinstance(event, StepScheduled):
                self._numbers[execution_id, event.step] += 1
                self._spots[execution_id, event.run] = Spot(event.step, self._numbers[execution_id, event.step])
            elif isinstance(event, LoopStarted) and event.parent_run:
                around = self._spots[execution_id, event.parent_run]
                spot = Spot(around.step, around.number, (*around.around, event.parent_iter))
                self._spots[execution_id, event.run] = spot
            elif isinstance(event, PlaybookExecutionRequested) and event.parent_key:
                self.names[execution_id] = self.calls.get(event.parent_key, event.path)

    def asked(self, key: str, kind: str, task: str, attempt: int, given: dict[str, Any]) -> Asked:
        """The call that has this idempotency key (ids.py)."""
        execution_id, run, index, rest = key.split(":", 3)
        label, visit = rest.rpartition(".")[0].rsplit(":", 1)
        spot = self._spots[int(execution_id), int(run)]
        around = spot.around if int(index) < 0 else (*spot.around, int(index))
        return Asked(
            execution_id=int(execution_id),
            playbook=self.names.get(int(execution_id), ""),
            step=spot.step,
            run=spot.number,
            iteration=".".join(map(str, around)),
            task=label,
            called=task if task != label else "",
            visit=int(visit),
            attempt=attempt,
            kind=kind,
            input=shown(given, self.reveals),
        )

    def asked_child(self, wanted: ops.ChildWanted, attempt: int) -> Asked:
        child = wanted.child
        given = {**(child.get("payload") or {}), "path": child["path"]}
        return self.asked(child["key"], "playbook", wanted.task, attempt, given)


def shown(data: Any, reveals: bool, depth: int = 0) -> Any:
    """Data as people may see it: a secret is shown as one."""
    if isinstance(data, Secret):
        return data.reveal() if reveals else str(data)
    if isinstance(data, dict):
        entries = data.items() if depth < MASKED_DEPTH_MAX else ()
        return {str(name): shown(value, reveals, depth + 1) for name, value in entries}
    if isinstance(data, list | tuple):
        return [shown(value, reveals, depth + 1) for value in data] if depth < MASKED_DEPTH_MAX else []
    return data if data is None or isinstance(data, bool | int | float | str) else str(data)
