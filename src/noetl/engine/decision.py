"""One decision in the making: what it is about, and the events it has come to so far.

An event is applied as soon as it is decided, so that what follows sees it; the pump commits all of them together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noetl.dsl.model import Playbook, Step
from noetl.engine import events as facts
from noetl.engine import scopes, views
from noetl.engine.apply import apply
from noetl.engine.commands import Change
from noetl.engine.effects import effects
from noetl.engine.events import Event
from noetl.engine.net import Net
from noetl.engine.state import Run, State
from noetl.engine.values import rendered

EMITS_ON = frozenset(
    (facts.StepScheduled, facts.StepStarted, facts.StepDone, facts.StepFailed, facts.LoopStarted, facts.LoopDone)
)
QUIET: frozenset[type[Event]] = frozenset(  # they make and take no token and end no run, so no gate has a new answer
    (
        facts.Emitted,
        facts.StepStarted,
        facts.TaskStarted,
        facts.TaskDone,
        facts.TaskWaiting,
        facts.ChildDone,
        facts.LoopStarted,
        facts.LoopIterationStarted,
        facts.LoopIterationDone,
        facts.LoopIterationFailed,
        facts.LoopIterationCancelled,
        facts.LoopReopened,
    )
)


class Decision:
    """The engine at work on one operation."""

    def __init__(self, playbook: Playbook, net: Net, state: State, now: float) -> None:
        self.playbook = playbook
        self.net = net
        self.state = state
        self.now = now
        self.events: list[Event] = []
        self.changes: list[Change] = []
        self.agenda: list[int] = []  # runs whose loop is to be looked at
        self.ctx_before = state.ctx
        self.is_quiet = True  # so far no gate can have a new answer

    def emit(self, event: Event) -> None:
        """Decide a fact."""
        kind = type(event)
        apply(self.state, event)
        self.events.append(event)
        if kind is facts.TaskStarted or kind is facts.TaskDone:  # most of all events: nothing follows from them
            return
        if kind not in QUIET:
            self.is_quiet = False
        if changes := effects(self.state, event):
            self.changes.extend(changes)
        if self.net.emits and kind in EMITS_ON:
            self._emit_own(event)

    def _emit_own(self, event: Any) -> None:
        """The author's own events at this boundary (ST-10)."""
        run = self.state.runs.get(event.run)
        if run is None or run.compensates or run.parent_run:
            return  # undoing a step is no boundary of it, nor is a loop within its loop
        name = facts.name_of(event)
        for emission in self.step(run).emissions:
            if emission.on == name:
                self.emit(
                    facts.Emitted(
                        ts=self.now, run=event.run, iter=event.iter, event=emission.name, step=event.step, on=name
                    )
                )

    def after(self, change: Change) -> None:
        """Ask for something once the events stand."""
        self.changes.append(change)

    def look_at(self, run: Run) -> None:
        """An iteration of this run has ended, or none has begun yet: its loop is to be looked at."""
        self.agenda.append(run.id)

    def step(self, run: Run) -> Step:
        return self.playbook.steps[run.step]

    def scope(self, run: Run | None, **reserved: Any) -> dict[str, Any]:
        """What a template on the server reads."""
        scope = scopes.server_scope(self.state, run, **reserved)
        return scopes.see_through(scope, self.state.outputs) if self.playbook.settings.is_transparent else scope

    @property
    def has_ctx_changed(self) -> bool:
        return self.state.ctx is not self.ctx_before

    def ask_every_gate(self) -> None:
        """Also those that said no are asked again: text and values may be others, and the log may have been parted
        between a write and the gates that it opened."""
        self.ctx_before = {}

    def step_input(self, run: Run) -> dict[str, Any]:
        """The token's args overlaid by the step's input, as a pipeline renders it (TK-11)."""
        step = self.step(run)
        if not step.input:
            return run.args
        scope = self.scope(run, ctx=run.ctx, output=views.readable(run.carried))
        return {**run.args, **{name: rendered(value, scope) for name, value in step.input.items()}}


Handler = Callable[[Decision, Any], None]
