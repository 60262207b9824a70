"""A past execution as a script: its payload, and the recorded answer to every call of a tool, by its place.

Comes in: the log, and whoever fetches payloads that are kept outside it. Goes out: answers for a rehearsal. A call that
was not made then has none; a task that only hands its input on (noop) is not answered but run, for what it gives
follows from what it is given.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from noetl.control.catalog import Catalog, Text
from noetl.control.reading import EVENTS_PER_READ
from noetl.engine.events import (
    Envelope,
    Event,
    ExecutionForked,
    PlaybookExecutionRequested,
    PlaybookRequestEvaluated,
    TaskDone,
)
from noetl.errors import WrongState
from noetl.ids import iteration_id
from noetl.references import Reference, reference_of
from noetl.rehearsal.asking import Asked, Whereabouts
from noetl.rehearsal.envelopes import DURATION, Answer
from noetl.stores.contract import Execution, Store

REAL = frozenset(("noop", "workbook"))  # what they give follows from what they are given
EVENTS_MAX = 200_000
Place = tuple[str, int, str, str, int, int]  # step, its run, iteration, task, visit, attempt
Fetch = Callable[[int, Reference], Awaitable[bytes]]


class Recorded:
    """The answers of one log; see `rehearsal.answers.Answers`."""

    def __init__(self, by_place: dict[Place, Answer]) -> None:
        self.by_place = by_place

    def answer(self, asked: Asked) -> Answer | None:
        return None if asked.kind == "noop" else self.by_place.get(place_of(asked))


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """One past execution."""

    row: Execution
    events: list[Event]
    payload: dict[str, Any]
    text: Text
    answers: Recorded


async def past_of(store: Store, catalog: Catalog, fetch: Fetch, row: Execution) -> Past:
    """Read one. Raises WrongState where it cannot be rehearsed at all."""
    if row.head > EVENTS_MAX:
        raise WrongState(f"the log of execution {row.id} has {row.head} events; up to {EVENTS_MAX} are rehearsed")
    events: list[Event] = []
    while page := await store.events(row.id, len(events), EVENTS_PER_READ):
        events.extend(event for _, event in page)

    async def fetched(given: dict[str, Any]) -> Any:
        reference = reference_of(given)
        if reference is None:
            raise WrongState(f"execution {row.id} names a result that is no reference")
        return msgspec.json.decode(await fetch(row.id, reference))

    return Past(
        row=row,
        events=events,
        payload=await _payload(events, fetched),
        text=(await catalog.known(row.sha, [])).text,
        answers=Recorded(await _answers(row.id, events, fetched)),
    )


async def _payload(events: list[Event], fetched: Callable[[dict[str, Any]], Awaitable[Any]]) -> dict[str, Any]:
    """What it was asked for; of a fork with another workload, that workload."""
    payload: dict[str, Any] = {}
    for event in events:
        if isinstance(event, PlaybookExecutionRequested):
            payload = event.payload if event.payload_ref is None else await fetched(event.payload_ref)
        elif isinstance(event, ExecutionForked) and (event.workload is not None or event.ref is not None):
            payload = event.workload if event.ref is None else await fetched(event.ref)  # type: ignore[assignment]
        elif isinstance(event, PlaybookRequestEvaluated) and event.error is not None:
            raise WrongState("it was refused before it began")
    return payload


async def _answers(
    execution_id: int, events: list[Event], fetched: Callable[[dict[str, Any]], Awaitable[Any]]
) -> dict[Place, Answer]:
    where = Whereabouts()
    found: dict[Place, Answer] = {}
    for event in events:
        where.committed(execution_id, 0, [event])
        if isinstance(event, TaskDone) and event.output is not None:
            key = f"{iteration_id(execution_id, event.run, event.iter)}:{event.task}:{event.visit}.0"
            place = place_of(where.asked(key, "", event.task, event.attempt, {}))
            found[place] = await _answer(event, event.output, fetched)
    return found


async def _answer(event: TaskDone, output: Envelope, fetched: Callable[[dict[str, Any]], Awaitable[Any]]) -> Answer:
    """An envelope in the words of a test; what NoETL itself stored of it is fetched."""
    answer = {name: value for name, value in output.items() if name not in ("status", "ref", "error", "meta")}
    if output.get("error"):
        answer["error"] = output["error"]
    if output.get("ref"):
        if (output.get("meta") or {}).get("is_stored"):
            answer["data"] = await fetched(output["ref"])
        else:
            answer["ref"] = output["ref"]
    took = {key: value for key, value in (output.get("meta") or {}).items() if key == DURATION}
    return {**answer, "definite": event.is_definite, "logs": event.logs, "meta": took}


def place_of(asked: Asked) -> Place:
    return asked.step, asked.run, asked.iteration, asked.task, asked.visit, asked.attempt
