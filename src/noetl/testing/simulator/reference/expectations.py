"""What a run of a generated playbook has to come to: made by the reference run, compared with logs.

A task run is named by its step, which run of the step it is, the iterations it stands in, its label, visit and attempt.
Numbers that depend on the order of things, such as those of runs in a log, stand nowhere here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec


class Stored:
    """A payload that is kept outside the log: what it is for whoever gets it as a reference."""

    def __repr__(self) -> str:
        return "STORED"


STORED = Stored()


class RunKey(NamedTuple):
    """One run of a step, or one of its iterations. `is_undo`: the run that compensates it."""

    step: str
    number: int  # 1 for its first run, …
    indexes: tuple[int, ...] = ()
    is_undo: bool = False

    def __str__(self) -> str:
        iteration = f"[{'.'.join(map(str, self.indexes))}]" if self.indexes else ""
        return f"{'undo of ' if self.is_undo else ''}{self.step}#{self.number}{iteration}"


class TaskKey(NamedTuple):
    """One attempt of a task."""

    run: RunKey
    label: str
    visit: int = 1
    attempt: int = 1

    def __str__(self) -> str:
        return f"{self.run} {self.label} visit {self.visit} attempt {self.attempt}"


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """What one attempt of a task came to. `data` STORED: nothing is said of it."""

    do: str
    status: str = "ok"  # ok, error; skipped: no output was kept
    error_kind: str = ""
    data: Any = None


class Tally(msgspec.Struct, kw_only=True):
    """How often things happened to a step."""

    done: int = 0
    failed: int = 0
    skipped: int = 0
    iterations_done: int = 0
    iterations_failed: int = 0
    undone: int = 0


class Expected(msgspec.Struct, kw_only=True):
    """What an execution comes to. `is_loose`: a failure may cut others short anywhere, so only that it fails is
    certain; `loose_steps`: of these it is certain that they fail, not how far they came."""

    path: str
    status: str = "success"
    ctx: dict[str, Any] = {}
    output: Any = None  # data; STORED: nothing is said of it
    tallies: dict[str, Tally] = {}
    tasks: dict[TaskKey, Attempt] = {}
    undo_tasks: dict[TaskKey, Attempt] = {}  # would run if it failed or were cancelled after everything was done
    children: dict[TaskKey, Expected] = {}  # by the attempt that calls them
    is_loose: bool = False
    loose_steps: set[str] = set()

    def tally(self, step: str) -> Tally:
        found = self.tallies.get(step)
        if found is None:
            found = self.tallies[step] = Tally()
        return found
