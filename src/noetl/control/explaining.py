"""An execution at one moment, for people: marking, ctx and what changed it, inputs, each rule and arc with what it saw;
and the value of an expression there. Reads logs and playbooks, writes nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from noetl.control.catalog import Loaded
from noetl.control.evaluating import evaluated
from noetl.control.markings import changes, marking, steps_of
from noetl.control.moments import Moments
from noetl.engine import events as facts
from noetl.engine.apply import apply
from noetl.engine.copies import copy_of
from noetl.engine.decide import row_status
from noetl.engine.decision import Decision
from noetl.engine.events import Event, timestamp
from noetl.engine.excerpts import excerpt
from noetl.engine.explaining import explained
from noetl.engine.explaining_tasks import Given, input_at
from noetl.engine.explanations import Explanation
from noetl.engine.state import RUNNING, WAITING, State
from noetl.engine.values import Fault
from noetl.engine.viewpoints import NoSuchPlace, Where, scope_at
from noetl.errors import RequestError
from noetl.projections.envelopes import envelope
from noetl.stores.contract import Execution

INPUT_CHARACTERS_MAX = 64 * 1024
NAMES_MAX = 500
Playbooks = Callable[[str, list[list[Any]]], Awaitable[Loaded]]  # by sha, with the steps that were planned


class Explainer:
    """Explains executions of one store."""

    def __init__(self, moments: Moments, playbooks: Playbooks) -> None:
        self.moments = moments
        self.playbooks = playbooks

    async def decision(self, state: State, now: float) -> Decision:
        """One that decides nothing: the playbook as it was in a state, and the state."""
        loaded = await self.playbooks(state.sha, state.planned) if state.sha else None
        if loaded is None:
            raise RequestError("the log does not say yet which playbook it is of; look at its first event or later")
        return Decision(loaded.playbook, loaded.net, state, now)

    # --- a moment ----------------------------------------------------------------------------------------------------

    async def moment(self, row: Execution, at: int | None) -> dict[str, Any]:
        """The execution as it stood after an event; None: the last."""
        history, state, event = await self.moments.before(row, at)
        seq, before = state.seq + 1, state.ctx
        steps = {run.id: run.step for run in state.runs.values()}
        said: list[Explanation] = []
        given, note = None, ""
        if state.sha:
            decision = await self.decision(state, event.ts)
            said = explained(decision, event)
            given, note = inputs_at(decision, event)
        apply(state, event)
        await self.moments.complete(history, state)
        playbook = (await self.decision(state, event.ts)).playbook
        return {
            "seq": seq,
            "last_seq": history.state.seq,
            "at": timestamp(event.ts),
            "status": status_at(state),
            "event": envelope(row.id, seq, event, steps),
            "marking": marking(state),
            "steps": steps_of(state, list(playbook.steps)),
            "ctx": state.ctx,
            "workload": state.workload,
            "changes": changes(before, state.ctx),
            "inputs": given,
            "inputs_note": note,
            "verdicts": verdicts(said, state),
        }

    async def landmarks(self, row: Execution) -> dict[str, Any]:
        """The events of a log that are worth a mark."""
        history = await self.moments.history(row)
        return {"last_seq": history.state.seq, "marks": history.landmarks.marks()}

    # --- an expression -----------------------------------------------------------------------------------------------

    async def evaluate(self, row: Execution, expression: str, at: int | None, **place: Any) -> dict[str, Any]:
        """What an expression gives after an event; `place`: the step, run, iteration, task where it is read."""
        where = Where(**place)
        history, before, event = await self.moments.before(row, at)
        after = copy_of(before)
        apply(after, event)
        await self.moments.complete(history, after)
        is_gone = where.run in before.runs and where.run not in after.runs  # with this event: it is seen right before
        scope = scope_in(await self.decision(before if is_gone else after, event.ts), where)
        return {"seq": after.seq, **evaluated(expression, scope), "scope": sorted(scope)[:NAMES_MAX]}


def status_at(state: State) -> str:
    """Between two events of one decision a token may be on its way to its step: it waits only once it was refused."""
    status = row_status(state)
    return RUNNING if status == WAITING and not any(token.is_denied for token in state.tokens.values()) else status


def scope_in(decision: Decision, where: Where) -> dict[str, Any]:
    try:
        return scope_at(decision, where)
    except NoSuchPlace as problem:
        raise RequestError(str(problem)) from problem
    except Fault as fault:
        raise RequestError(f"the names there cannot be made: {fault.error.message}") from fault


# --- inputs and verdicts ---------------------------------------------------------------------------------------------


def inputs_at(decision: Decision, event: Event) -> tuple[dict[str, Any] | None, str]:
    """By task, or by step for an event about a whole run, what it was given; and what cannot be rendered again."""
    if isinstance(event, facts.TaskStarted | facts.TaskDone):
        return _shown_input(event.task, input_at(decision, event))
    run = decision.state.runs.get(event.run)
    if isinstance(event, facts.StepStarted | facts.LoopStarted) and run is not None and not run.parent_run:
        try:
            return _shown_input(run.step, Given(decision.step_input(run)))
        except Fault as fault:
            return {run.step: {}}, f"the step's input cannot be rendered again: {fault.error.message}"
    return None, ""


def _shown_input(name: str, given: Given | None) -> tuple[dict[str, Any] | None, str]:
    if given is None:
        return None, ""
    shown, is_cut = excerpt(given.input, INPUT_CHARACTERS_MAX)
    notes = [*given.notes, *(["what is long was cut"] if is_cut else [])]
    return {name: shown}, "; ".join(notes)


def verdicts(said: list[Explanation], state: State) -> list[dict[str, Any]]:
    """Explanations as data; what a planner made stands in no file."""
    planned = {step.get("step") for plan in state.planned for step in plan if isinstance(step, dict)}
    rows: list[dict[str, Any]] = msgspec.to_builtins(said)
    return [{**row, "line": 0} if row["step"] in planned else row for row in rows]
