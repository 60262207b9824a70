"""Why a step ran, failed or did not run, in sentences: for each visit, and each step that never sent it a token."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from noetl.dsl.model import Playbook, Task
from noetl.engine import events as facts
from noetl.engine.events import Event
from noetl.engine.explanations import Explanation, Seen
from noetl.engine.forecast.pipelines import workbook_task
from noetl.engine.policy import RETRY
from noetl.engine.state import State
from noetl.projections.progress import NOT_RUN
from noetl.projections.visits import FAILED, RAN, REFUSED, SKIPPED, Visit

VALUE_CHARACTERS_MAX = 80
READS_TOLD_MAX = 4


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One visit: its event, the arcs that led to it or past it, the rules of the gate, and of a task that failed."""

    visit: Visit
    event: Event
    senders: list[Event] = []
    arcs: list[Explanation] = []
    gate: list[Explanation] = []
    rules: list[Explanation] = []


def sentence(told: Told, playbook: Playbook, step: str) -> str:
    """What happened at one visit, and why."""
    visit = told.visit
    if visit.happened == REFUSED:
        return f"Event {visit.seq}: {refusal(told, step)}"
    if visit.happened == FAILED and isinstance(told.event, facts.TaskDone):
        return f"Event {visit.seq}: {failure(told.event, told.rules, called_task(playbook, step, told.event.task))}"
    if visit.happened == RAN:
        return f"Run {visit.run} (event {visit.seq}): {entry(told, playbook, step)}"
    if visit.happened == SKIPPED and isinstance(told.event, facts.StepSkipped):
        reason = told.event.reason or "no reason is recorded"
        return f"Event {visit.seq}: its token was taken off: {reason}.{gate(told)}"
    waits = "for a signal" if getattr(told.event, "is_for_signal", False) else "until ctx changes"
    return f"Event {visit.seq}: {arrival(told, step)}, and was turned away; it waits {waits}.{gate(told)}"


def entry(told: Told, playbook: Playbook, step: str) -> str:
    event = told.event
    if isinstance(event, facts.StepScheduled) and event.compensates:
        return f"it undid run {event.compensates}."
    if isinstance(event, facts.StepScheduled) and event.is_join:
        names = ", ".join(f'"{one.step}"' for one in told.senders if isinstance(one, facts.NextEvaluated))
        return f"it is a join, and no other token could come: it took those of {names or 'no step'}.{gate(told)}"
    if not told.senders:
        first = "it is where the workflow begins" if playbook.entry == step else "its token came from no arc"
        return f"{first}.{gate(told)}"
    return f"{arrival(told, step)}.{gate(told)}"


def arrival(told: Told, step: str) -> str:
    """How a token came to the step."""
    sender = next((one for one in told.senders if isinstance(one, facts.NextEvaluated)), None)
    arc = next((one for one in told.arcs if one.target == step and one.is_chosen), None)
    if sender is None:
        return "a token came from the beginning"
    how = "failed" if sender.boundary == "step.failed" else "ended"
    if arc is None:
        return f'"{sender.step}" {how} and sent a token'
    return f'"{sender.step}" {how}, and {numbered(arc)} was taken{because(arc)}'


def refusal(told: Told, step: str) -> str:
    """Why the arcs of a step that ended did not lead here."""
    sender = next((one for one in told.senders if isinstance(one, facts.NextEvaluated)), None)
    if sender is None:
        return "no arc led to it."
    how = "failed" if sender.boundary == "step.failed" else "ended"
    arcs = [one for one in told.arcs if one.target == step]
    instead = [f'"{one.target}"' for one in told.arcs if one.is_chosen and one.target != step]
    taken = f" It went to {', '.join(instead)} instead." if instead else ""
    return f'"{sender.step}" {how}, and {"; ".join(passed_by(one) for one in arcs) or "no arc led to it"}.{taken}'


def passed_by(arc: Explanation) -> str:
    if not arc.was_asked:
        return f"{numbered(arc)} was {arc.note or 'not asked'}"
    if arc.is_chosen:  # and sent no token
        return f"{numbered(arc)} matched, but {arc.note or 'sent no token'}"
    return f"{numbered(arc)} was not taken{because(arc)}"


def gate(told: Told) -> str:
    """What the rules of the gate said, as a sentence of its own; nothing where it has none."""
    if not told.gate:
        return ""
    chosen = next((one for one in told.gate if one.is_chosen), None)
    failed = next((one for one in told.gate if one.error), None)
    if failed is not None:
        return f" Rule {failed.index + 1} of its gate could not be asked: {failed.error}."
    if chosen is None:
        return " No rule of its gate matched, which lets a token in."
    does = "lets it in" if chosen.target == "allow" else "turns it away"
    return f" Rule {chosen.index + 1} of its gate {does}{because(chosen)}."


def called_task(playbook: Playbook, step: str, label: str) -> Task | None:
    """The workbook task with rules of its own that a task calls."""
    tasks = (*playbook.steps[step].tasks, *playbook.steps[step].compensation)
    caller = next((task for task in tasks if task.label == label and task.kind == "workbook"), None)
    called = workbook_task(playbook, caller) if caller else None
    return called if called and called.policy and called.policy.rules else None


def failure(event: facts.TaskDone, rules: list[Explanation], called: Task | None = None) -> str:
    """What a task failed of, and the rule that let it."""
    error = event.error or {}
    where = f"iteration {error['iteration']}, " if error.get("iteration") is not None else ""
    message = str(error.get("message") or error.get("kind") or "no reason is recorded").rstrip(".")
    chosen = next((one for one in rules if one.is_chosen), None)
    if chosen is not None:
        spent = ", and no attempt is left" if chosen.target == RETRY else ""
        says = (
            f"Rule {chosen.index + 1} of its policy (line {chosen.line}) says {chosen.target}{spent}{because(chosen)}."
        )
    elif called is not None and not rules:  # TK-14: what is asked within a call does not show in the events
        says = (
            "It has no rules of its own, so an error fails it; those of the workbook task "
            f'"{called.label}" (line {called.place.line}) were asked within the call, which the log does not show.'
        )
    else:
        says = "No rule of its policy matched." if rules else "It has no rules, so an error fails it."
    return f'{where}task "{event.task}" failed: {message}. {says}'


def numbered(arc: Explanation) -> str:
    where = f" (line {arc.line})" if arc.line else ""
    return f"arc {arc.index + 1}{where}" if arc.index >= 0 else "the first step of its plan"


def because(one: Explanation) -> str:
    """The condition, its answer, and the values that it saw."""
    if one.when is None:
        return ", which has no condition"
    if one.error is not None:
        return f": {one.when} could not be asked: {one.error}"
    answer = "true" if one.result else "false"
    return f": {one.when} was {answer}{saw(one.reads)}"


def saw(reads: Iterable[Seen]) -> str:
    words = [f"{one.name} {seen_as(one)}" for one in reads]
    more = ", …" if len(words) > READS_TOLD_MAX else ""
    return f" ({', '.join(words[:READS_TOLD_MAX])}{more})" if words else ""


def seen_as(one: Seen) -> str:
    """`= 3`, or why there is no value."""
    return f"is {one.note}" if one.note and one.value is None else f"= {short(one.value)}"


def short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= VALUE_CHARACTERS_MAX else f"{text[: VALUE_CHARACTERS_MAX - 1]}…"


def unreached(playbook: Playbook, state: State, step: str, missing: list[str]) -> list[str]:
    """Why no token ever came: what leads here has not ended."""
    if missing == [""]:
        return ["No arc leads to it." if playbook.entry != step else "The workflow has not begun."]
    return [not_sent(state, source) for source in missing]


def not_sent(state: State, source: str) -> str:
    status = state.counts[source].status if source in state.counts else NOT_RUN
    if status == NOT_RUN:
        return f'"{source}" leads to it, and has not run.'
    if status in ("running", "cancelled", "skipped"):
        words = {"running": "is still running", "cancelled": "was cancelled", "skipped": "was skipped"}
        return f'"{source}" leads to it, and {words[status]}.'
    return f'"{source}" leads to it, and its arcs were not asked yet.'
