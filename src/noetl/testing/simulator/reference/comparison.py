"""A log beside its reference run: what differs, in words.

The log of an execution and those of its children come in, and differences go out; nothing of the engine is run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import msgspec

from noetl.engine import events as facts
from noetl.engine.events import Event
from noetl.ids import task_run_id
from noetl.testing.simulator.reference.expectations import STORED, Attempt, Expected, Tally, TaskKey
from noetl.testing.simulator.reference.stories import Story, at, goes_on, told

Logs = Mapping[int, Sequence[Event]]  # by execution
DIFFERENCES_MAX = 20
FORCED = ("worker_lost", "timeout", "cancelled", "auth")  # failures that the world may bring about; no script does
SIGNALLED = "told_"  # ctx keys that users' signals write


def compare(
    expected: Expected, execution_id: int, logs: Logs, *, is_disturbed: bool = False, broken: Collection[str] = ()
) -> list[str]:
    """What differs between an execution with its children and its reference run; nothing: they agree.

    `is_disturbed`: somebody cancelled it, or the world made something of it or of its children fail. Then what was
    recorded before that must be part of the reference run, and no more is asked. `broken`: the task runs whose tools
    the world made fail.
    """
    found = _compared(expected, execution_id, logs, is_disturbed=is_disturbed, broken=broken)
    return list(islice(found, DIFFERENCES_MAX))


def _compared(
    expected: Expected, execution_id: int, logs: Logs, *, is_disturbed: bool, broken: Collection[str]
) -> Iterator[str]:
    is_forced = partial(_is_forced, expected, lambda end: _task_run(execution_id, end) in broken)
    story = told(logs[execution_id], is_forced if is_disturbed else goes_on)
    is_strict = not is_disturbed and not expected.is_loose
    for one in _differences(expected, story, is_disturbed=is_disturbed, is_strict=is_strict):
        yield f"{expected.path} (execution {execution_id}): {one}"
    yield from _children(expected, story, execution_id, logs, is_disturbed=is_disturbed, broken=broken)


def _differences(expected: Expected, story: Story, *, is_disturbed: bool, is_strict: bool) -> Iterator[str]:
    yield from _tasks(expected, story, is_strict=is_strict)
    if not is_disturbed and story.status != expected.status:
        yield f"it ended as {story.status or 'nothing yet'}, but its reference as {expected.status}"
    if is_strict:
        yield from _tallies(expected, story)
        yield from _ctx(expected, story)
        if expected.status == "success":
            yield from _data("its output", expected.output, story.output)


# --- parts of it -----------------------------------------------------------------------------------------------------


def _tasks(expected: Expected, story: Story, *, is_strict: bool) -> Iterator[str]:
    may_undo = not is_strict or expected.status == "failed"
    wanted = {**expected.tasks, **(expected.undo_tasks if may_undo else {})}
    for key, ends in story.tasks.items():
        if len(ends) > 1:
            yield f"{key} is recorded {len(ends)} times"
        if key not in wanted:
            yield f"{key} ran, but not in the reference"
        else:
            yield from _attempt(key, wanted[key], ends[0])
    if is_strict:
        missing = [key for key in wanted if key not in story.tasks and key.run.step not in expected.loose_steps]
        yield from (f"{key} ran in the reference, but not here" for key in missing)


def _attempt(key: TaskKey, wanted: Attempt, end: facts.TaskDone) -> Iterator[str]:
    if end.do != wanted.do:
        yield f"{key}: then {end.do}, but in the reference {wanted.do}"
    if end.output is None:
        if wanted.status != "skipped":
            yield f"{key}: it has no output, but in the reference it is {wanted.status}"
        return
    error = end.output.get("error") or {}
    status = (end.output["status"], error.get("kind") or "")
    if status != (wanted.status, wanted.error_kind):
        yield f"{key}: {status}, but in the reference {(wanted.status, wanted.error_kind)}"
    elif status[0] == "ok":
        yield from _envelope(str(key), wanted.data, end.output)


def _envelope(what: str, wanted: Any, output: dict[str, Any]) -> Iterator[str]:
    """Data in the log is compared as it is, stored data by its checksum."""
    if "data" in output:
        yield from _data(what, wanted, output["data"])
    elif _is_scripted(wanted) and output["ref"]["meta"]["sha256"] != _sha256(wanted):
        yield f"{what}: the stored data is not that of the reference"


def _data(what: str, wanted: Any, found: Any) -> Iterator[str]:
    if wanted is not STORED and found is not STORED and not _holds_stored(wanted) and wanted != found:
        yield f"{what}: {_short(found)}, but in the reference {_short(wanted)}"


def _holds_stored(value: Any) -> bool:
    """Whether parts of a value are references, of which nothing is said."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is STORED or any(_holds_stored(one) for one in inside)


def _is_scripted(data: Any) -> bool:
    return isinstance(data, dict) and "by" in data


def _sha256(data: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(data)).hexdigest()


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 200 else f"{text[:200]}…"


def _tallies(expected: Expected, story: Story) -> Iterator[str]:
    for step in {**expected.tallies, **story.tallies}:
        wanted, found = expected.tallies.get(step, Tally()), story.tallies.get(step, Tally())
        if step in expected.loose_steps:
            wanted = msgspec.structs.replace(
                wanted, iterations_done=found.iterations_done, iterations_failed=found.iterations_failed
            )
        if wanted != found:
            yield f"{step}: {found}, but in the reference {wanted}"


def _ctx(expected: Expected, story: Story) -> Iterator[str]:
    found = {key: value for key, value in story.ctx.items() if not key.startswith(SIGNALLED)}
    for key in {**expected.ctx, **found}:
        if expected.ctx.get(key) != found.get(key):
            yield f"ctx.{key}: {_short(found.get(key))}, but in the reference {_short(expected.ctx.get(key))}"


def _children(
    expected: Expected, story: Story, execution_id: int, logs: Logs, *, is_disturbed: bool, broken: Collection[str]
) -> Iterator[str]:
    """Each child beside its own reference; one that was cut short with its parent is compared as far as it came."""
    is_strict = not is_disturbed and not expected.is_loose
    for child_id, log in logs.items():
        requested = log[0]
        assert isinstance(requested, facts.PlaybookExecutionRequested)  # noqa: S101 - every log begins so
        if requested.parent_execution_id != execution_id or requested.parent_key is None:
            continue
        key = _task_key(story, requested.parent_key)
        wanted = expected.children.get(key) if key else None
        if wanted is None:
            if is_strict:
                yield f"a child {child_id} was started for {key or requested.parent_key}, but not in the reference"
            continue
        is_whole = is_strict and key is not None and key.run.step not in expected.loose_steps
        is_cut_short = not is_whole and _was_cut_short(log)
        yield from _compared(wanted, child_id, logs, is_disturbed=is_disturbed or is_cut_short, broken=broken)


def _was_cut_short(log: Sequence[Event]) -> bool:
    last = log[-1]
    return not isinstance(last, facts.PlaybookProcessed) or last.result == "cancelled"


def _task_key(story: Story, key: str) -> TaskKey | None:
    """Which attempt a child was called by: <execution>:<run>:<iter>:<label>:<visit>.<definite answers before>."""
    task_run, _, answered = key.rpartition(".")
    _, run, index, label, visit = task_run.split(":")
    if int(run) not in story.runs:
        return None
    return TaskKey(at(story.runs[int(run)], int(index)), label, int(visit), int(answered) + 1)


def _task_run(execution_id: int, end: facts.TaskDone) -> str:
    return task_run_id(execution_id, end.run, end.iter, end.task, end.visit)


def _is_forced(expected: Expected, is_broken: Callable[[facts.TaskDone], bool], event: Event, story: Story) -> bool:
    """Whether the log goes its own way from here on, because the world made something fail."""
    if isinstance(event, facts.StepFailed | facts.LoopIterationFailed):
        return event.error.get("kind") in FORCED
    if not isinstance(event, facts.TaskDone) or event.output is None:
        return False
    key = story.key_of(event)
    wanted = expected.tasks.get(key)
    kind = (event.output.get("error") or {}).get("kind") or ""
    is_forced = kind != (wanted.error_kind if wanted else "")
    if wanted is not None and key in expected.children and not is_forced:
        is_forced = any(_data("", wanted.data, event.output.get("data", STORED)))  # the child went its own way
    if wanted is not None and not is_forced and is_broken(event):
        is_forced = any(_attempt(key, wanted, event))  # a called task failed, which its own rules made up for
    if is_forced:
        story.tasks.pop(key, None)
    return is_forced
