"""The tasks of one generated step: what they are given, how they fail, what their rules say, what they write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from noetl.testing.simulator.playbooks.places import IS_ERROR, NUMBER, TAG, Limits, Pipeline, Place
from noetl.testing.simulator.playbooks.plans import (
    HTTP,
    NOOP,
    PLAYBOOK,
    PYTHON,
    RESOLVE,
    SCRIPTED,
    TIMEOUT_SECONDS,
    WORKBOOK,
    Loop,
    Rule,
    Task,
    Write,
)
from noetl.testing.simulator.playbooks.policies import ERROR_KINDS, PolicyAuthor
from noetl.testing.simulator.playbooks.scripts import IN_ERROR, IN_LOG, WAYS, Script
from noetl.testing.simulator.playbooks.terms import Constant, Operation, Read, Term, read

if TYPE_CHECKING:
    from noetl.testing.simulator.playbooks.drawing import Stream

LENGTHS = (1, 1, 1, 2, 2, 3)  # of pipelines, in tasks
SECRETS = 3  # so many canaries a world has
LATE_SECONDS, LATE_TIMEOUT_SECONDS = 30.0, 3.0  # far apart: a clock may run at twice or half its speed
REFERENCE_ROOM_BYTES = 1024  # a limit under which a reference can be written down
NUMERIC_REDUCERS = ("sum", "min", "max", "count", "first", "last")
OTHER_REDUCERS = ("append", "union", "merge")


class PipelineAuthor:
    """Draws pipelines. `labels` number the tasks of the whole family."""

    def __init__(
        self,
        stream: Stream,
        features: frozenset[str],
        limits: Limits,
        *,
        children: Sequence[str] = (),
        labels: Iterator[int],
        may_wait: bool = True,
    ) -> None:
        """`may_wait`: retries may be a minute away."""
        self.stream = stream
        self.features = features
        self.limits = limits
        self.children = children
        self.labels = labels
        self.may_wait = may_wait
        self.policies = PolicyAuthor(self)
        self.workbook: list[Task] = []  # those that several may call

    def has(self, feature: str, probability: float) -> bool:
        return feature in self.features and self.stream.chance(probability)

    def pipeline(self, place: Place) -> Pipeline:
        made = Pipeline(tasks=[], written=[], reducers={})
        lengths = (1,) if place.is_plain or place.is_undo else LENGTHS[:4] if place.loop else LENGTHS
        for _ in range(self.stream.pick(lengths)):
            self._add(made, place)
        return made

    def _add(self, made: Pipeline, place: Place) -> None:
        label = f"t{next(self.labels)}"
        kind = self._kind(place)
        if kind == PLAYBOOK:
            made.tasks.append(self._child(label, place))
        elif kind == NOOP:
            made.tasks.append(Task(label=label, kind=NOOP, input=self._noop_input(place)))
        elif kind == WORKBOOK:
            made.tasks.append(self._caller(label, made, place))
        else:
            self._add_scripted(made, Task(label=label, kind=kind), place)

    def _kind(self, place: Place) -> str:
        may_call = self.children and not place.is_plain and not place.is_undo
        if may_call and self.stream.chance(0.06 if place.loop else 0.25):
            return PLAYBOOK
        if self.has("noops", 0.15):
            return NOOP
        if not place.is_plain and not place.is_undo and self.has("workbooks", 0.25):
            return WORKBOOK
        return self.stream.pick((PYTHON, PYTHON, HTTP))

    def _noop_input(self, place: Place) -> dict[str, Term]:
        return {"x": self.value(place, [])} if self.stream.chance(0.5) else {}

    def _child(self, label: str, place: Place) -> Task:
        tries = [Rule(when=IS_ERROR, do="retry", attempts=2, delay_seconds=1.0)] if self.has("retries", 0.3) else []
        swallows = [Rule(when=IS_ERROR, do="continue")] if self.stream.chance(0.3) else []
        return Task(
            label=label,
            kind=PLAYBOOK,
            path=self.stream.pick(self.children),
            input={"n": self.value(place, [])},
            rules=tuple(tries or swallows) or None,
        )

    # --- tasks of the workbook ---------------------------------------------------------------------------------------

    def _caller(self, label: str, made: Pipeline, place: Place) -> Task:
        """Calls a task of its own, or one that others call too. Nothing says which of its attempts was recorded, so a
        caller never tries again itself (TK-14)."""
        is_own = not self.workbook or self.stream.chance(0.5)
        called = self._called(label, made, place) if is_own else self.stream.pick(self.workbook)
        tells = called.script is not None and called.script.tells
        return Task(
            label=label,
            kind=WORKBOOK,
            called=called,
            input={"x": self.value(place, [])},
            sees_previous=self._may_see_previous(made),
            secret=self.stream.integer(0, SECRETS - 1) if tells else None,
        )

    def _called(self, label: str, made: Pipeline, place: Place) -> Task:
        """Who writes has one caller, so that no other writes the same."""
        script = self._script(place, is_late=False)
        rules = [Rule(when=IS_ERROR, do="retry", attempts=len(script.fails) + 1)] if script.fails else []
        if not rules and self.stream.chance(0.2):
            rules.append(Rule(when=IS_ERROR, do="continue"))
        writes: tuple[Write, ...] = ()
        if not place.is_held and self.stream.chance(0.4):
            writes = (Write(path=f"ctx.{label}", term=NUMBER),)
            made.written.append(label)
        task = Task(
            label=f"w{next(self.labels)}",
            kind=self.stream.pick(SCRIPTED),
            script=script,
            writes=writes,
            rules=tuple(rules) or None,
        )
        if not writes:
            self.workbook.append(task)
        return task

    # --- scripted tasks ----------------------------------------------------------------------------------------------

    def _add_scripted(self, made: Pipeline, task: Task, place: Place) -> None:
        is_late = not place.is_plain and self.has("time_limits", 0.15 if place.is_risky else 0.02)
        script = self._script(place, is_late=is_late)
        rules = self.policies.rules(task, script, place, made.tasks)
        task = msgspec.structs.replace(
            task,
            script=script,
            input={"x": self.value(place, made.tasks if made.is_solid else [])},
            sees_previous=not place.is_undo and self._may_see_previous(made),
            timeout_seconds=LATE_TIMEOUT_SECONDS if is_late else TIMEOUT_SECONDS,
            is_sync=self.has("sync", 0.3),
            secret=self.stream.integer(0, SECRETS - 1) if script.tells else None,
            rules=rules,
            fails_unmatched=rules is not None and rules[-1].when is not None and self.stream.chance(0.3),
        )
        writes = self._writes(made, task.label, place) if not place.is_undo and self.stream.chance(0.6) else ()
        if any(write.term == TAG for write in writes):
            task = msgspec.structs.replace(task, script=msgspec.structs.replace(script, has_tag=True))
        if self._is_resolvable(task, place) and self.stream.chance(0.6):
            ref = ("step", f"{task.label}_ref")
            writes += (Write(path=".".join(ref), term=read("output.ref")),)
            resolving = Task(label=f"t{next(self.labels)}", kind=RESOLVE, input={"ref": Read(ref)})
            made.tasks += [msgspec.structs.replace(task, writes=writes), resolving]
        else:
            made.tasks.append(msgspec.structs.replace(task, writes=writes))

    def _is_resolvable(self, task: Task, place: Place) -> bool:
        """Whether it surely gives a large result, which the task after it may fetch by its reference."""
        script = task.script
        has_room = self.limits.payload_bytes >= REFERENCE_ROOM_BYTES
        if script is None or not script.pad_bytes or not has_room or place.loop or place.is_undo:
            return False
        return task.rules is None and not (script.fails or script.fails_always or script.seconds == LATE_SECONDS)

    def _may_see_previous(self, made: Pipeline) -> bool:
        """Whether it is certain what `_prev` will be."""
        if self.limits.is_tight:
            return bool(made.tasks) and made.is_solid
        return True

    def _script(self, place: Place, *, is_late: bool) -> Script:
        stream = self.stream
        pad = self.limits.pad_bytes if self.limits.pad_bytes and not place.is_undo and stream.chance(0.3) else 0
        script = Script(
            salt=stream.integer(1, 999),
            pad_bytes=pad,
            seconds=LATE_SECONDS if is_late else self.seconds(),
            tells=[way for way in (*WAYS, IN_ERROR, IN_LOG) if stream.chance(0.5)] if self.has("secrets", 0.4) else [],
        )
        if place.is_plain:
            return script
        only = sorted({stream.integer(0, 3) for _ in range(2)}) if place.loop and stream.chance(0.7) else None
        if self.has("failures", 0.5 if place.is_risky else 0.015):
            return msgspec.structs.replace(script, fails_always=stream.pick(ERROR_KINDS), only=only)
        if self.has("retries", 0.25):
            fails: list[str | None] = [stream.pick(ERROR_KINDS) for _ in range(stream.integer(1, 2))]
            return msgspec.structs.replace(script, fails=fails, only=only)
        return script

    def seconds(self) -> float:
        """How long a task takes: mostly no time, rarely longer than a lease."""
        longest = self.stream.pick((0.0,) * 12 + (0.5,) * 6 + (4.0,) + ((12.0,) if self.may_wait else (0.0,)))
        return round(self.stream.between(0.01, longest), 2) if longest else 0.0

    def value(self, place: Place, before: list[Task]) -> Term:
        """Something to read, so that what one task gives depends on what was there before it."""
        names: list[Term] = [read("workload.n", 0), read("workload.wish", 0)]
        names += [Read(("ctx", key), 0) for key in place.known]
        names += [Read(("input", name), 0) for name in place.inputs]
        if place.loop:
            names += [Read(("iter", _innermost(place.loop).iterator), 0)]
        if before:
            names += [read("_prev.n", 0), Read((before[-1].label, "data", "n"), 0)]
        return self.stream.pick(names)

    # --- writes ------------------------------------------------------------------------------------------------------

    def _writes(self, made: Pipeline, label: str, place: Place) -> tuple[Write, ...]:
        """To ctx, under the task's own label; sometimes to what lives as long as the step or the iteration."""
        own = f"ctx.{label}"
        if place.is_held:
            return (self._held_write(made, own, place), *self._local_writes(label, place))
        is_sum = place.loop is not None or self.stream.chance(0.2)
        term: Term = Operation("+", Read(("ctx", label), 0), NUMBER) if is_sum else NUMBER
        made.written.append(label)
        return (Write(path=own, term=term), *self._local_writes(label, place))

    def _local_writes(self, label: str, place: Place) -> tuple[Write, ...]:
        if not self.stream.chance(0.3):
            return ()
        scope = self.stream.pick(("iter", "step")) if place.loop else "step"
        return (Write(path=f"{scope}.v_{label}", term=NUMBER),)

    def _held_write(self, made: Pipeline, path: str, place: Place) -> Write:
        """In a parallel loop: through a reducer, or the same value from all, or a conflict in every order."""
        is_nest = place.loop is not None and place.loop.inner is not None
        if not is_nest and self.has("conflicts", 0.08):
            return Write(path=path, term=NUMBER)
        if not is_nest and self.stream.chance(0.1):
            return Write(path=path, term=Constant(7))
        is_number = self.stream.chance(0.7)
        reducer = made.reducers[path] = self.stream.pick(NUMERIC_REDUCERS if is_number else OTHER_REDUCERS)
        if is_number:
            made.written.append(path[4:])
        return Write(path=path, term=TAG if reducer == "merge" else NUMBER)


def _innermost(loop: Loop) -> Loop:
    return _innermost(loop.inner) if loop.inner else loop
