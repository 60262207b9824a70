"""The loops of a step as one nest: which keys its tasks write, and which reducers merge them (SC-12); for block 4."""

from __future__ import annotations

from collections.abc import Iterator

from noetl.dsl.draft import Assignment, Draft, Loop, Step, Task
from noetl.dsl.nodes import Entry, Mapping


def is_parallel(step: Step) -> bool:
    """Whether any loop of a step's nest runs iterations at once."""
    return any(loop.is_parallel for loop in step.loops)


def reducer_entries(loop: Loop) -> dict[str, Entry]:
    """The reducers that one loop declares, as written."""
    declared = loop.policy.mapping("reducers") if loop.policy else None
    return declared.entries if declared else {}


def reduced_keys(step: Step) -> set[str]:
    """The keys that have a reducer on any loop of the nest, which holds for the whole nest.

    A scope written as a mapping ({ctx: {total: sum}}) is refused by NL406, but says which keys are meant.
    """
    found: set[str] = set()
    for loop in step.loops:
        for key, entry in reducer_entries(loop).items():
            inner = entry.value.entries if isinstance(entry.value, Mapping) else {}
            found.update((key, *(f"{key}.{name}" for name in inner)))
    return found


def iteration_writes(draft: Draft, step: Step) -> Iterator[Assignment]:
    """What iterations write: the tasks of the pipeline, and workbook tasks that they call."""
    called: dict[str, Task] = {}
    waiting = list(step.tasks)
    while waiting:
        task = waiting.pop(0)
        yield from task.sets
        for rule in task.rules:
            yield from rule.sets
        name = task.called
        if name and name.text in draft.workbook and name.text not in called:
            called[name.text] = draft.workbook[name.text]
            waiting.append(called[name.text])
