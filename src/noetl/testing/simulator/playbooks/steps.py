"""One generated step: its gate, loop, pipeline, writes, compensation and knobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from noetl.testing.simulator.playbooks.pipelines import PipelineAuthor
from noetl.testing.simulator.playbooks.places import NUMBER, Known, Limits, Pipeline, Place
from noetl.testing.simulator.playbooks.plans import PYTHON, Loop, Step, Task, Write
from noetl.testing.simulator.playbooks.scripts import Script
from noetl.testing.simulator.playbooks.terms import Constant, Operation, Read, Term, read

ITERATIONS = (0, 1, 1, 2, 2, 3, 4)
ITERATIONS_MAX, ITERATIONS_MANY = 4, 12
NESTED_ITERATIONS_MAX = 2  # of each loop of a nest
OVERDUE_TIMEOUT_SECONDS, OVERDUE_SECONDS = 8.0, 900.0  # the longest pause of a process is far from making up for it
DAY_SECONDS = 86_400.0  # a deadline that nothing reaches, jumping clocks included
LIMITS = ("timeout_seconds", "deadline_seconds")
EMITTED_AT = ("step.scheduled", "step.started", "step.done")


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A step without its arcs; what it writes as numbers, and whether its arcs may read the data of its output."""

    step: Step
    written: Known = ()
    can_read_output: bool = False


class StepAuthor:
    """Draws steps."""

    def __init__(self, pipelines: PipelineAuthor, limits: Limits, pools: Sequence[str]) -> None:
        self.pipelines = pipelines
        self.stream = pipelines.stream
        self.has = pipelines.has
        self.limits = limits
        self.pools = pools

    def step(
        self,
        name: str,
        known: Known,
        *,
        is_beside: bool,
        is_risky: bool = False,
        is_plain: bool = False,
        is_planner: bool = False,
        more_writes: tuple[Write, ...] = (),
        **gate: Any,
    ) -> Made:
        """A step; `is_risky`: its failure is handled; `is_plain`: it cannot fail; `gate`: what lets it run."""
        basics: dict[str, Any] = {"name": name, "is_beside": is_beside, **gate}
        if is_risky and self.has("time_limits", 0.15):
            return Made(step=self._overdue(basics))
        if is_planner:
            return Made(step=self._planner(basics))
        given = {"given": self._term(known)} if self.has("inputs", 0.3) else {}
        loop = None if is_plain or gate.get("is_join") else self._loop(name, known)
        brought = (brought_to(name),) if self.has("args", 1.0) else ()
        place = Place(known=known, inputs=(*given, *brought), loop=loop, is_risky=is_risky, is_plain=is_plain)
        pipeline = self.pipelines.pipeline(place)
        if loop and pipeline.reducers:
            loop = msgspec.structs.replace(loop, reducers=pipeline.reducers)
        writes, written = self._writes(name, loop, pipeline)
        step = Step(
            **basics,
            **self._knobs(loop),
            loop=loop,
            input=given,
            tasks=tuple(pipeline.tasks),
            writes=(*writes, *more_writes),
            compensation=self._compensation(loop),
        )
        can_read = loop is None and pipeline.is_solid and not pipeline.has_ballast and not self.limits.is_tight
        return Made(step=step, written=(*pipeline.written, *written), can_read_output=can_read)

    def _overdue(self, basics: dict[str, Any]) -> Step:
        """A step that always runs into its time limit."""
        script = Script(salt=self.stream.integer(1, 999), seconds=OVERDUE_SECONDS)
        task = Task(
            label=f"t{next(self.pipelines.labels)}", kind=PYTHON, script=script, timeout_seconds=2 * OVERDUE_SECONDS
        )
        limits: dict[str, Any] = {self.stream.pick(LIMITS): OVERDUE_TIMEOUT_SECONDS}
        return Step(**basics, **limits, tasks=(task,), is_overdue=True)

    @property
    def may_plan(self) -> bool:
        """A plan that were kept outside the log would be refused."""
        return not self.limits.payload_bytes and not self.limits.is_tight

    def _planner(self, basics: dict[str, Any]) -> Step:
        script = Script(salt=self.stream.integer(1, 999), seconds=self.pipelines.seconds())
        task = Task(label=f"t{next(self.pipelines.labels)}", kind=PYTHON, script=script)
        is_bad = self.has("failures", 0.08)
        return Step(**basics, tasks=(task,), is_planner=True, is_plan_bad=is_bad, compensation=self._compensation(None))

    def _knobs(self, loop: Loop | None) -> dict[str, Any]:
        stream = self.stream
        knobs: dict[str, Any] = {}
        if self.pools and self.has("pools", 0.5):
            knobs["pool"] = stream.pick(self.pools)
        if self.has("pools", 0.2):
            knobs["priority"] = stream.integer(-2, 2)
        if self.has("time_limits", 0.2):
            knobs[stream.pick(LIMITS)] = DAY_SECONDS
        if loop and self.has("best_effort", 0.5):
            knobs["is_best_effort"] = True
        if self.has("emissions", 0.2):
            knobs["emits"] = (stream.pick(EMITTED_AT[:2] if loop else EMITTED_AT),)
        return knobs

    def _term(self, known: Known) -> Term:
        return self.stream.pick([read("workload.n", 0), *(Read(("ctx", key), 0) for key in known)])

    def _loop(self, name: str, known: Known) -> Loop | None:
        if not self.has("loops", 0.45):
            return None
        if not self.has("nests", 0.3):
            many = ITERATIONS_MANY if self.stream.chance(0.03) else ITERATIONS_MAX
            return self._one_loop(f"outer_{name}", known, many)
        inner = self._one_loop(f"inner_{name}", known, NESTED_ITERATIONS_MAX)
        return msgspec.structs.replace(self._one_loop(f"outer_{name}", known, NESTED_ITERATIONS_MAX), inner=inner)

    def _one_loop(self, iterator: str, known: Known, iterations_max: int) -> Loop:
        """Over a range whose length is written down or comes from ctx, or over a list of the workload."""
        stream = self.stream
        is_parallel = self.has("parallel", 0.75)
        is_list = iterations_max == ITERATIONS_MAX and stream.chance(0.3)
        counted = Operation("%", self._term(known), Constant(iterations_max + 1))
        often = iterations_max if iterations_max > ITERATIONS_MAX else min(iterations_max, stream.pick(ITERATIONS))
        return Loop(
            collection=read("workload.items") if is_list else None,
            count=counted if stream.chance(0.3) else Constant(often),
            iterator=iterator,
            is_parallel=is_parallel,
            in_flight_max=stream.integer(1, 3) if is_parallel and stream.chance(0.7) else None,
            is_local=iterator.startswith("outer") and self.has("local", 0.4),
        )

    def _writes(self, name: str, loop: Loop | None, pipeline: Pipeline) -> tuple[tuple[Write, ...], Known]:
        """The step's own set, from what is surely in hand at its end."""
        if not self.stream.chance(0.5):
            return (), ()
        terms: list[Term] = [Constant(self.stream.integer(0, 9))]
        terms += [Read(tuple(path.split(".")), 0) for path in _step_paths(pipeline)]
        if loop:
            terms += [read("output.loop.done", 0), read("output.loop.total", 0)]
        elif pipeline.is_solid:
            terms += [NUMBER, NUMBER]
        return (Write(path=f"ctx.{name}", term=self.stream.pick(terms)),), (name,)

    def _compensation(self, loop: Loop | None) -> tuple[Task, ...]:
        if loop or not self.has("compensation", 0.4):
            return ()
        return tuple(self.pipelines.pipeline(Place(is_undo=True)).tasks)


def brought_to(step: str) -> str:
    """The name of what tokens bring to a step."""
    return f"to_{step}"


def _step_paths(pipeline: Pipeline) -> list[str]:
    """The numbers that its tasks write to step."""
    paths = [write.path for task in pipeline.tasks for write in task.writes]
    return [path for path in paths if path.startswith("step.") and not path.endswith("_ref")]
