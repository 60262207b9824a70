"""Why a step of an execution ran, waited, was skipped, was passed by or failed: each with the rules and arcs about it.

Where to look is known from `projections.visits`; what was seen there is asked again on the states of those moments.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from noetl.control.explaining import Explainer, verdicts
from noetl.control.moments import History
from noetl.control.why_sentences import Told, sentence, unreached
from noetl.dsl.findings import did_you_mean, listed
from noetl.dsl.model import Playbook
from noetl.engine.events import Event, timestamp
from noetl.engine.explaining import explained
from noetl.engine.explanations import ARC, POLICY, Explanation
from noetl.engine.state import State
from noetl.errors import RequestError
from noetl.projections.progress import NOT_RUN
from noetl.projections.visits import FAILED, NOT_REACHED, REFUSED, Often, Visit
from noetl.stores.contract import Execution

FIRST_MAX, LAST_MAX = 10, 40  # visits that are told
FAILURES_MAX = 3  # of them: a loop may fail ten thousand times for one reason


class Looked(msgspec.Struct, frozen=True):
    """One event of the log, and what is said of it."""

    event: Event
    said: list[Explanation]


async def why(explainer: Explainer, row: Execution, step: str) -> dict[str, Any]:
    """The document that `noetl why` prints."""
    history = await explainer.moments.history(row)
    state = history.state
    playbook = (await explainer.decision(state, 0.0)).playbook
    if step not in playbook.steps:
        advice = did_you_mean(step, playbook.steps, f"it has {listed(playbook.steps)}")
        raise RequestError(f'the playbook of execution {row.id} has no step "{step}"; {advice}')
    found, total = visits_of(history, playbook, step)
    shown = [*found[:FIRST_MAX], *found[FIRST_MAX:][-LAST_MAX:]]
    looked = await look(explainer, row, shown)
    told = [told_of(visit, step, looked) for visit in shown]
    missing = not_reached(history, playbook, step)
    return {
        "execution_id": str(row.id),
        "step": step,
        "status": state.counts[step].status if step in state.counts else NOT_RUN,
        "sentences": [*(sentence(one, playbook, step) for one in told), *unreached(playbook, state, step, missing)],
        "visits": [*(visit_row(one, state) for one in told), *not_reached_row(state, row, bool(missing))],
        "omitted_visits": total - len(shown),
    }


def visits_of(history: History, playbook: Playbook, step: str) -> tuple[list[Visit], int]:
    """The visits of a step that are known, in order; and how many there were."""
    of_step = history.visits.of_steps.get(step, Often())
    found: list[Visit] = list(of_step)
    total: int = of_step.count
    for source in senders(playbook, step):
        routed = history.visits.routed.get(source, Often())
        refused = [one for one in routed if step not in one.targets]
        found += [Visit(seq=one.seq, ts=one.ts, happened=REFUSED, sent_by=(one.seq,)) for one in refused]
        total += len(refused)
    failed = history.visits.failed.get(step, Often())
    found += list(failed)[:FAILURES_MAX]
    total += failed.count
    return sorted(found, key=lambda visit: visit.seq), total


def senders(playbook: Playbook, step: str) -> list[str]:
    """The steps that have an arc to a step."""
    return [name for name, one in playbook.steps.items() if any(arc.target == step for arc in one.router.arcs)]


async def look(explainer: Explainer, row: Execution, visits: Iterable[Visit]) -> dict[int, Looked]:
    """What is said of the events that visits are about, by seq."""
    seqs = sorted({seq for visit in visits for seq in (visit.seq, *visit.sent_by) if seq})
    found: dict[int, Looked] = {}
    async for state, event in explainer.moments.each(row, seqs):
        decision = await explainer.decision(state, event.ts)
        found[state.seq + 1] = Looked(event, explained(decision, event))
    return found


def told_of(visit: Visit, step: str, looked: dict[int, Looked]) -> Told:
    """A visit with the arcs that led to it, or past it, and its gate."""
    senders = [looked[seq] for seq in visit.sent_by if seq in looked]
    arcs = [one for sender in senders for one in sender.said if one.place == ARC and is_about(one, step)]
    own = looked[visit.seq]
    if visit.happened == FAILED:
        return Told(visit=visit, event=own.event, rules=[one for one in own.said if one.place == POLICY])
    gate = [] if visit.happened == REFUSED else own.said
    return Told(visit=visit, event=own.event, senders=[one.event for one in senders], arcs=arcs, gate=gate)


def is_about(arc: Explanation, step: str) -> bool:
    """Of a router: the arcs to the step, and those that were taken instead."""
    return arc.target == step or arc.is_chosen


def visit_row(told: Told, state: State) -> dict[str, Any]:
    visit = told.visit
    return {
        "seq": visit.seq,
        "at": timestamp(visit.ts),
        "happened": visit.happened,
        "run": visit.run or None,
        "verdicts": verdicts([*told.arcs, *told.gate, *told.rules], state),
    }


def not_reached(history: History, playbook: Playbook, step: str) -> list[str]:
    """The steps that lead to a step and whose arcs were never asked; empty where some token came, or was refused."""
    if history.visits.of_steps.get(step):
        return []
    routed = history.visits.routed
    missing = [source for source in senders(playbook, step) if source not in routed]
    return missing if missing or senders(playbook, step) else [""]


def not_reached_row(state: State, row: Execution, is_missing: bool) -> list[dict[str, Any]]:
    if not is_missing:
        return []
    at = timestamp(state.ended_at or row.ended_at or row.created_at)
    return [{"seq": state.seq, "at": at, "happened": NOT_REACHED, "run": None, "verdicts": []}]
