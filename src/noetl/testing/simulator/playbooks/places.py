"""Where a generated pipeline stands, what it may read there, and what has been drawn of it so far."""

from __future__ import annotations

import msgspec

from noetl.testing.simulator.playbooks.plans import SCRIPTED, Loop, Task
from noetl.testing.simulator.playbooks.terms import Read, compare, read

IS_ERROR = compare(read("output.status"), "==", "error")
NUMBER = read("output.data.n", 0)  # what a scripted task gave
TAG = Read(("output", "data", "tag"), {})
Known = tuple[str, ...]  # ctx keys that may be read: written before, or never


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a family says of payloads. `is_tight`: any of them may be stored, so none is read beyond its pipeline."""

    payload_bytes: int = 0
    is_reference_first: bool = False
    is_tight: bool = False
    pad_bytes: int = 0  # ballast that is surely over the limit; 0: no result has any


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pipeline stands."""

    known: Known = ()
    inputs: tuple[str, ...] = ()  # of its step
    loop: Loop | None = None
    is_risky: bool = False  # somebody handles its failure
    is_plain: bool = False  # it does nothing that could fail
    is_undo: bool = False

    @property
    def is_held(self) -> bool:
        return self.loop is not None and self.loop.is_held


class Pipeline(msgspec.Struct, kw_only=True):
    """Tasks, the ctx keys they write as numbers, and the reducers these need."""

    tasks: list[Task] = []
    written: list[str] = []
    reducers: dict[str, str] = {}

    @property
    def is_solid(self) -> bool:
        """Every task gives what its script says, and none is skipped: `_prev` and `output` are theirs."""
        skips = any(rule.do == "skip" for task in self.tasks for rule in task.rules or ())
        return not skips and all(task.kind in SCRIPTED for task in self.tasks)

    @property
    def has_ballast(self) -> bool:
        return any(task.script is not None and task.script.pad_bytes for task in self.tasks)
