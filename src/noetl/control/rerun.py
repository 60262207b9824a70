"""Rerun: a new execution that keeps what another one did up to a point, and goes on from there; the old one stays.

Without a point it begins anew, with the same playbook and payload. With one, the events up to there are the beginning
of the new log: steps and iterations that had ended are not run again. From a step whose loop failed it goes on with
what the loop has done (`engine.reopening`), unless all of it is asked for. Values may be changed (`ctx.…`: the context;
others: the workload), and the playbook may be another one, as long as it can continue what was under way (`fitting`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.control import reading
from noetl.control.catalog import Loaded
from noetl.control.desk import IDS_TRIED_MAX, NO_ID, PAYLOAD_BYTES_MAX, Desk, Started
from noetl.control.fitting import EARLIER, refuse_misfit
from noetl.control.live import Live
from noetl.control.planning import BadPlan
from noetl.control.reading import EVENTS_PER_READ
from noetl.control.requests import RerunRequest, RunRequest
from noetl.control.stored_lists import ReadBy
from noetl.engine import commands as ops
from noetl.engine.apply import apply
from noetl.engine.decide import merged
from noetl.engine.events import (
    NAMES,
    Event,
    LoopDone,
    LoopIterationDone,
    LoopIterationFailed,
    NextEvaluated,
    Patch,
    PlaybookExecutionRequested,
    StepFailed,
    StepScheduled,
    WorkflowExtended,
    WorkflowFailing,
    WorkflowFinished,
)
from noetl.engine.reopening import reopened
from noetl.engine.rows import check_signal
from noetl.engine.state import State
from noetl.errors import PayloadTooLarge, RequestError, Unreachable, WrongState
from noetl.projections.progress import Progress
from noetl.references import reference_of
from noetl.stores.contract import Execution, HeadMoved, Store

EVENTS_MAX = 200_000
BEGUN_AT = 3  # requested, evaluated, started: before that there is nothing to go on from


async def rerun(desk: Desk, read_by: ReadBy, request: RerunRequest) -> Started:
    """Fork an execution, or begin it anew. Raises RequestError, WrongState, InvalidPlaybook."""
    row = await reading.row_of(desk.store, request.execution_id)
    points = [bool(one) for one in (request.from_step, request.at, request.is_from_failed)]
    if sum(points) > 1:
        raise RequestError("rerun goes on from a step or from a point of the log: name one of them")
    if not any(points):
        return await _anew(desk, read_by, row, request)
    prefix, reopened = await _prefix(desk.store, row, request)
    loaded, start = await _playbook(desk, row, request)
    if (existing := await desk.under_key(request.request_key, start["sha"])) is not None:
        return existing
    state = State(execution_id=row.id)
    for event in prefix:
        apply(state, event)
    refuse_misfit(loaded, state)
    live = Live(state=state, loaded=loaded, folder=row.folder)
    await _complete(desk, live)
    patches, changes = split(request.set)
    check_signal(state, patches, loaded.playbook)
    fork = ops.Fork(
        **start,
        execution_id=0,
        folder=row.folder,
        request_key=request.request_key,
        trace_id=desk.new_trace(),
        source_execution_id=row.id,
        prefix=prefix,
        workload=_bounded(merged(state.workload, changes)) if changes else None,
        patches=patches,
        reopened=reopened,
    )
    return await _forked(desk, fork, loaded)


async def _complete(desk: Desk, live: Live) -> None:
    """Fetch what the state needs besides; steps that were planned by then must go with the text."""
    try:
        await desk.executions.complete(live)
    except BadPlan as problem:
        raise RequestError(
            f"by that point steps were planned that do not go with this playbook: {problem}; {EARLIER}"
        ) from problem


async def _forked(desk: Desk, fork: ops.Fork, loaded: Loaded) -> Started:
    """Record a fork under a new id."""
    for _ in range(IDS_TRIED_MAX):
        fork = msgspec.structs.replace(fork, execution_id=await desk.new_id())
        desk.announce(fork.execution_id, loaded, fork.path, so_far(fork.prefix))
        try:
            await desk.pump.submit(fork)
        except HeadMoved:  # the same was asked at the same time, or the id was given twice
            if (existing := await desk.under_key(fork.request_key, fork.sha)) is not None:
                return existing
        else:
            return Started(fork.execution_id, loaded, True)
    raise Unreachable(NO_ID)


def so_far(prefix: list[Event]) -> Progress:
    """What was done before: no news to whoever watches."""
    progress = Progress()
    for event in prefix:
        progress.apply(event)
    return progress


async def _anew(desk: Desk, read_by: ReadBy, row: Execution, request: RerunRequest) -> Started:
    patches, changes = split(request.set)
    if patches:
        raise RequestError("ctx is empty at the beginning; name a step or a point of the log to change it there")
    [(_, first)] = await desk.store.events(row.id, 0, 1)
    if not isinstance(first, PlaybookExecutionRequested):
        raise WrongState(f"execution {row.id} has no request to repeat")
    reference = reference_of(first.payload_ref)
    payload = first.payload
    if reference is not None:
        payload = msgspec.json.decode(await (await read_by(row.id, reference)).fetch(reference))
    entry = {"path": row.path, "version": row.version}
    text = {"data": request.data, "name": request.name} if request.data is not None else entry
    return await desk.start(
        RunRequest(
            **text,
            folder=row.folder,
            payload=_bounded(merged(payload, changes)),
            is_legacy=request.is_legacy,
            is_upstream=request.is_upstream,
            request_key=request.request_key,
            rerun_of=row.id,
        )
    )


async def _prefix(store: Store, row: Execution, request: RerunRequest) -> tuple[list[Event], int]:
    """The events to keep; and the step run whose loop is reopened, or 0."""
    if request.at and not BEGUN_AT <= request.at <= row.head:
        raise RequestError(f"a point of the log of execution {row.id} is from {BEGUN_AT} to {row.head}")
    if (request.at or row.head) > EVENTS_MAX:
        also = "" if request.at else "; name an earlier event (--at)"
        raise RequestError(f"the log of execution {row.id} has {row.head} events; rerun keeps up to {EVENTS_MAX}{also}")
    events = await _read(store, row, request.at)
    step, until = _failed(events, row) if request.is_from_failed else (request.from_step, request.at)
    reopening = reopened(events, step) if step and not until and not request.is_whole else None
    until = until or (len(reopening.prefix) if reopening else _before(events, step, row))
    if not request.at:
        _refuse_undone(events[:until], events, row)
    if reopening is not None:
        return reopening.prefix, reopening.run
    until = whole_until(events, until)
    if any(isinstance(event, WorkflowFinished) for event in events[:until]):
        raise WrongState(f"execution {row.id} had ended by event {until}; choose an earlier point, or a step")
    return events[:until], 0


async def _read(store: Store, row: Execution, at: int) -> list[Event]:
    """The log; of a point of it, what comes up to there and a little more, since it may have to be moved on."""
    events: list[Event] = []
    while page := await store.events(row.id, len(events), EVENTS_PER_READ):
        events.extend(event for _, event in page)
        if at and len(events) >= at + EVENTS_PER_READ:
            break
    return events


def whole_until(events: list[Event], until: int) -> int:
    """A point of a log, moved on where it parts two events of which one alone says nothing that can be gone on from."""
    while 0 < until < len(events) and _is_half(events[until - 1], events[until]):
        until += 1
    return until


def _is_half(event: Event, following: Event) -> bool:
    if isinstance(event, LoopDone):  # an inner loop, and the iteration that ends with it
        return isinstance(following, LoopIterationDone | LoopIterationFailed)
    if isinstance(event, WorkflowExtended):  # a plan, and the token that goes to its first step, or its refusal
        return isinstance(following, NextEvaluated)
    if isinstance(event, NextEvaluated) and isinstance(following, WorkflowFailing):  # a failure that no arc took
        return event.error is not None or (event.boundary == NAMES[StepFailed] and not event.handled)
    return False


def _refuse_undone(prefix: list[Event], events: list[Event], row: Execution) -> None:
    """What was compensated later is no longer done: from a step after it nothing can be gone on with. Whoever names an
    event of the log knows better."""
    undone = {event.compensates for event in events if isinstance(event, StepScheduled) and event.compensates}
    kept = [event.step for event in prefix if isinstance(event, StepScheduled) and event.run in undone]
    if kept:
        names = ", ".join(dict.fromkeys(kept))
        raise WrongState(
            f"execution {row.id} has undone what was done before that step: {names}; go on from the first of them "
            f"(--from {kept[0]}), begin anew (without a point), or, if it was done again, name an event (--at)"
        )


def _failed(events: list[Event], row: Execution) -> tuple[str, int]:
    """The step whose failure no arc handled; the first, where a best effort was made after it. If it was its gate that
    failed, it did not run: then how many events there are before that, else 0."""
    for place, event in enumerate(events):
        if isinstance(event, WorkflowFailing):
            return event.step, 0 if _is_half(events[place - 1], event) else place
    raise WrongState(f"no step of execution {row.id} failed without being handled ({row.status}); name a step")


def _before(events: list[Event], step: str, row: Execution) -> int:
    """How many events there are before a step's latest run."""
    found = 0
    ran: dict[str, None] = {}
    for seq, event in enumerate(events, 1):
        if isinstance(event, StepScheduled) and not event.compensates:
            ran[event.step] = None
            found = seq - 1 if event.step == step else found
    if not found:
        raise RequestError(f'step "{step}" did not run in execution {row.id}; those that did: {", ".join(ran)}')
    return found


async def _playbook(desk: Desk, row: Execution, request: RerunRequest) -> tuple[Loaded, dict[str, Any]]:
    sha, path, version = row.sha, row.path, row.version
    if request.data is not None:
        asked = RunRequest(
            data=request.data, name=request.name, is_legacy=request.is_legacy, is_upstream=request.is_upstream
        )
        entry = await desk.register(asked)
        sha, path, version = entry.sha, entry.path, entry.version
    return await desk.catalog.loaded(sha, []), {"sha": sha, "path": path, "version": version}


def split(values: dict[str, Any]) -> tuple[list[Patch], dict[str, Any]]:
    """Dotted names: writes to ctx, and changes of the workload as nested mappings."""
    if whole := next((name for name in ("ctx", "workload") if name in values), None):
        raise RequestError(f"{whole} as a whole cannot be set; name a value of it: {whole}.NAME")
    patches = [Patch(name, value) for name, value in values.items() if name.startswith("ctx.")]
    changes: dict[str, Any] = {}
    for name, value in values.items():
        if not name.startswith("ctx."):
            for part in reversed(name.removeprefix("workload.").split(".")):
                value = {part: value}
            changes = merged(changes, value)
    return patches, changes


def _bounded(workload: dict[str, Any]) -> dict[str, Any]:
    size = len(msgspec.json.encode(workload))
    if size > PAYLOAD_BYTES_MAX:
        raise PayloadTooLarge("a payload", size, PAYLOAD_BYTES_MAX)
    return workload
