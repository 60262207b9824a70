"""The reference run: a straight interpreter of a plan, with no queue, no leases, no log and no code of the engine.

A family and a payload come in; what every execution must come to goes out. One step at a time runs to its end: one of
the orders that a real run may have, and by the generator's promise all of them come to the same. Where they need not,
because a failure cuts short what runs beside it, the interpreter goes on, so that it has seen everything that could
have happened, and says so (`Expected.is_loose`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.testing.simulator.playbooks.plans import Arc, Family, Plan, Step
from noetl.testing.simulator.playbooks.terms import value_of
from noetl.testing.simulator.reference.expectations import STORED, Expected, RunKey, TaskKey
from noetl.testing.simulator.reference.loop import Conflict, LoopRun, folded
from noetl.testing.simulator.reference.pipeline import Envelope, PipelineRun, Sight, error, ok

STEPS_MAX = 1_000


def expected(family: Family, payload: dict[str, Any] | None = None, path: str = "") -> Expected:
    """What an execution of a family's playbook comes to, its children included; the main one if no path is given."""
    run = Reference(family, family.plans[path] if path else family.main, payload or {})
    run.go()
    return run.expected


class Token(msgspec.Struct, kw_only=True):
    """A token that waits at a step."""

    step: str
    source: str = ""
    carried: Envelope | None = None
    args: dict[str, Any] = {}


class Undoable(msgspec.Struct, kw_only=True):
    """A run that can be compensated."""

    run: RunKey
    step: Step
    sight: Sight


class Ended(msgspec.Struct, kw_only=True):
    """How a step run ended."""

    output: Envelope
    boundary: str
    sight: Sight
    error_kind: str = ""


class Reference:
    """One execution."""

    def __init__(self, family: Family, plan: Plan, payload: dict[str, Any]) -> None:
        self.family = family
        self.plan = plan
        self.steps = dict(plan.steps)  # and those that planners add
        self.workload = {**plan.workload, **payload}
        self.ctx: dict[str, Any] = {}
        self.tokens: list[Token] = [Token(step=plan.entry)]
        self.runs: dict[str, int] = {}
        self.outputs: dict[str, Envelope] = {}
        self.output: Envelope | None = None
        self.undoable: list[Undoable] = []
        self.expected = Expected(path=plan.path, tallies={}, tasks={}, undo_tasks={}, children={}, loose_steps=set())

    def go(self) -> None:
        for _ in range(STEPS_MAX):
            if not self.tokens:
                break
            if not self._fire() and not self._break_standstill():
                raise AssertionError(f"{self.plan.path}: the net of a generated playbook stands still")
        self._undo()
        self.expected.ctx = self.ctx
        found = self.outputs.get(self.plan.output_step) if self.plan.output_step else self.output
        self.expected.output = found["data"] if found else None

    # --- tokens ------------------------------------------------------------------------------------------------------

    def _fire(self) -> bool:
        """Run the step of the first token that may go on."""
        for token in self.tokens:
            step = self.steps[token.step]
            if step.is_join and not self._can_join(step.name):
                continue
            if step.opens_when is None or value_of(step.opens_when, {"ctx": self.ctx, "workload": self.workload}):
                self._run(
                    step, [one for one in self.tokens if one is token or (step.is_join and one.step == step.name)]
                )
                return True
        return False

    def _can_join(self, step: str) -> bool:
        return not any(token.step != step and step in self._reach(token.step) for token in self.tokens)

    def _reach(self, step: str) -> set[str]:
        """The steps that a token at this one may still come to."""
        found: set[str] = set()
        waiting = [step]
        while waiting:
            for arc in self.steps[waiting.pop()].arcs:
                if arc.target not in found:
                    found.add(arc.target)
                    waiting.append(arc.target)
        return found

    def _break_standstill(self) -> bool:
        """Only closed gates are left, and joins behind them: first those go that could still come to a join."""
        joins = {token.step for token in self.tokens if self.steps[token.step].is_join}
        denied = [token for token in self.tokens if token.step not in joins]
        blocking = [token for token in denied if joins & self._reach(token.step)]
        retired = blocking or denied
        for token in retired:
            self.expected.tally(token.step).skipped += 1
        self.tokens = [token for token in self.tokens if token not in retired]
        return bool(retired)

    # --- one step ----------------------------------------------------------------------------------------------------

    def _run(self, step: Step, tokens: list[Token]) -> None:
        self.tokens = [token for token in self.tokens if token not in tokens]
        self.runs[step.name] = number = self.runs.get(step.name, 0) + 1
        run = RunKey(step.name, number)
        carried = (
            ok({token.source: token.carried["data"] for token in tokens if token.carried}) if step.is_join else None
        )
        args = {name: value for token in tokens for name, value in token.args.items()}
        sight = self._sight(step, carried or tokens[0].carried, args)
        ended = self._ended(step, run, sight)
        tally = self.expected.tally(step.name)
        if ended.error_kind:
            tally.failed += 1
        else:
            tally.done += 1
        ended.output = {**ended.output, "data": self._beyond(ended.output["data"])}
        self.outputs[step.name] = ended.output
        self._route(step, run, ended, args)

    def _sight(self, step: Step, carried: Envelope | None, args: dict[str, Any]) -> Sight:
        scope = {"workload": self.workload, "ctx": self.ctx}
        given = {**args, **{name: value_of(term, scope) for name, term in step.input.items()}}
        return Sight(workload=self.workload, ctx=self.ctx, step={}, input=given, carried=carried)

    def _beyond(self, data: Any) -> Any:
        """A step's data as others see it: what is over the limit is a reference, a loop's list as a whole too."""
        return STORED if self.plan.is_tight or has_ballast(data) else data

    def _ended(self, step: Step, run: RunKey, sight: Sight) -> Ended:
        if step.is_overdue:
            return Ended(output=error("timeout"), boundary="step.failed", sight=sight, error_kind="timeout")
        return self._looped(step, run, sight) if step.loop else self._piped(step, run, sight)

    def _pipeline(self, run: RunKey, step: Step, sight: Sight) -> PipelineRun:
        return PipelineRun(run, step.tasks, sight, self.expected.tasks.__setitem__, self._call)

    def _piped(self, step: Step, run: RunKey, sight: Sight) -> Ended:
        pipeline = self._pipeline(run, step, sight)
        pipeline.go()
        self._apply(pipeline.written)
        output = pipeline.last or sight.carried or ok(None)
        if pipeline.error_kind:
            output = {**output, "status": "error", "error": {"kind": pipeline.error_kind}}
            return Ended(output=output, boundary="step.failed", sight=sight, error_kind=pipeline.error_kind)
        self._write(step, {**pipeline.outputs, **sight.scope(), "output": output}, sight)
        return Ended(output=output, boundary="step.done", sight=sight)

    def _apply(self, written: dict[str, Any]) -> None:
        for path, value in written.items():
            if path.startswith("ctx."):
                self.ctx = {**self.ctx, path[4:]: value}

    def _write(self, step: Step, scope: dict[str, Any], sight: Sight) -> None:
        """The step's own set."""
        values = {write.path: value_of(write.term, scope) for write in step.writes}
        for path, value in values.items():
            sight.write(path, value)
        self._apply(values)

    def _looped(self, step: Step, run: RunKey, sight: Sight) -> Ended:
        loop = step.loop
        assert loop is not None  # noqa: S101 - the caller looked
        nest = LoopRun(
            loop,
            lambda indexes, iteration: self._iterated(step, run._replace(indexes=indexes), sight, iteration),
            lambda: {**sight.scope(), "ctx": sight.ctx if loop.is_held else self.ctx},
            self.expected.tally(step.name),
            is_best_effort=step.is_best_effort,
        )
        data, counts = nest.go()
        if counts.failed and not step.is_best_effort:
            if loop.is_held:
                self.expected.loose_steps.add(step.name)
            return self._failed(nest.error_kind, sight)
        try:
            merged = folded(loop, nest.written, sight.ctx) if loop.is_held else {}
        except Conflict:
            return self._failed("ctx_conflict", sight)
        self._apply(merged)
        for path, value in merged.items():
            sight.write(path, value)
        output = ok(data, loop={"total": counts.total, "done": counts.done, "failed": counts.failed})
        self._write(step, {**sight.scope(), "ctx": self.ctx, "output": output}, sight)
        return Ended(output=output, boundary="loop.done", sight=sight)

    def _failed(self, kind: str, sight: Sight) -> Ended:
        return Ended(output=error(kind), boundary="step.failed", sight=sight, error_kind=kind)

    def _iterated(self, step: Step, run: RunKey, sight: Sight, iteration: dict[str, Any]) -> PipelineRun:
        """One iteration; in a sequential loop those after it go on from what it wrote (SC-13)."""
        is_held = step.loop is not None and step.loop.is_held
        own = msgspec.structs.replace(sight, ctx=sight.ctx if is_held else self.ctx, iteration=iteration)
        pipeline = self._pipeline(run, step, own)
        pipeline.go()
        if not is_held:
            self._apply(pipeline.written)
            sight.step = own.step
        return pipeline

    def _call(self, key: TaskKey, path: str, payload: dict[str, Any]) -> Envelope:
        """A child execution."""
        child = self.expected.children[key] = expected(self.family, payload, path)
        return ok(child.output) if child.status == "success" else error("child_failed")

    # --- arcs and the end --------------------------------------------------------------------------------------------

    def _route(self, step: Step, run: RunKey, ended: Ended, args: dict[str, Any]) -> None:
        fired = self._plan_fired(step, ended, args) if step.planned else self._arcs_fired(step, ended, args)
        self.tokens += fired
        if ended.error_kind:
            if not fired:
                self._fail(step)
            return
        if not fired and not step.is_plan_bad:
            self.output = ended.output
        if step.compensation:
            sight = self._sight(step, ended.output, args)
            self.undoable.append(Undoable(run=run, step=step, sight=sight))

    def _plan_fired(self, step: Step, ended: Ended, args: dict[str, Any]) -> list[Token]:
        """RT-08: the first planned step gets the token; a plan that is refused fails the workflow."""
        if step.is_plan_bad:
            self._fail(step)
            return []
        self.steps |= {one.name: one for one in step.planned}
        return [Token(step=step.planned[0].name, source=step.name, carried=ended.output, args=args)]

    def _arcs_fired(self, step: Step, ended: Ended, args: dict[str, Any]) -> list[Token]:
        scope = {**ended.sight.scope(), "ctx": self.ctx, "output": ended.output, "event": {"name": ended.boundary}}
        fired = []
        for arc in self._matching(step, scope, is_failure=bool(ended.error_kind)):
            self._apply({write.path: value_of(write.term, scope) for write in arc.writes})
            given = {**args, **{name: value_of(term, scope) for name, term in arc.args.items()}}
            fired.append(Token(step=arc.target, source=step.name, carried=ended.output, args=given))
        return fired

    def _matching(self, step: Step, scope: dict[str, Any], *, is_failure: bool) -> list[Arc]:
        fired = []
        for arc in step.arcs:
            if is_failure and not arc.handles_failure:
                continue
            if arc.when is None or value_of(arc.when, scope):
                fired.append(arc)
                if not step.is_inclusive:
                    break
        return fired

    def _fail(self, step: Step) -> None:
        self.expected.status = "failed"
        if self.plan.is_best_effort:
            return
        if step.is_beside:
            self.expected.is_loose = True
        else:
            self.tokens = []

    def _undo(self) -> None:
        """ST-12: in reverse order of completion."""
        for one in reversed(self.undoable):
            undo = PipelineRun(
                one.run._replace(is_undo=True),
                one.step.compensation,
                one.sight,
                self.expected.undo_tasks.__setitem__,
                self._call,
            )
            undo.go()
            if self.expected.status == "failed":
                self.expected.tally(one.step.name).undone += 1


def has_ballast(data: Any) -> bool:
    """Whether data is as large as the limit, or has something so large in it."""
    if isinstance(data, list):
        return any(has_ballast(one) for one in data)
    return isinstance(data, dict) and "pad" in data
