"""The parts of a process put together for a rehearsal: server, worker and engine as they are, everything around them
in memory, time simulated (loop.py), chance the same each time.

A playbook, its payload and whoever answers come in; what happened goes out. One stage serves many rehearsals, one after
another. Nothing is kept, no folder is written to, and no rehearsal can last: the real seconds and the events of each
have a bound.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from noetl.chance import Chance
from noetl.config import Settings
from noetl.control import replaying
from noetl.control.calls import child_ended
from noetl.control.catalog import Loaded
from noetl.control.requests import RunRequest
from noetl.control.timers import Timers
from noetl.dsl.playbook_tests import Signal
from noetl.embedded import Embedded
from noetl.engine import commands as ops
from noetl.engine.commands import Operation
from noetl.engine.events import Event
from noetl.engine.state import INCIDENT, RUNNING, WAITING, State
from noetl.errors import RequestError
from noetl.rehearsal.answers import Answers
from noetl.rehearsal.asking import Asked, Whereabouts
from noetl.rehearsal.envelopes import Answer, output_of
from noetl.rehearsal.families import found_beside
from noetl.rehearsal.loop import VirtualLoop
from noetl.rehearsal.surroundings import NOWHERE, DozingClock, MemoryStores, Placeholders, StageClock, TurningStore
from noetl.rehearsal.tools import HARMLESS, RealTools, RehearsalKinds, Unanswered
from noetl.tools.contract import Call

BEGUN_AT = 1_767_225_600.0  # 2026-01-01T00:00:00Z: a rehearsal is always on that day, unless it says another one
SECONDS_MAX = 60.0  # of the machine's
EVENTS_MAX = 200_000
LEASE_SECONDS = 1e9  # nobody else could take a job over
SEED = 1
UNANSWERED, LATE, LONG = "unanswered", "too late", "too long"


class Called(msgspec.Struct, frozen=True, kw_only=True):
    """A call and what answered it."""

    asked: Asked
    answer: Answer | None  # None: the real tool, or nobody


class Rehearsed(msgspec.Struct, frozen=True, kw_only=True):
    """What happened."""

    loaded: Loaded
    execution_id: int
    events: dict[int, list[Event]]  # by execution: of the playbook and of those it called
    summary: dict[str, Any]  # as `noetl run --format json` has it
    state: State
    calls: list[Called]
    unanswered: Asked | None = None  # the call at which it ended, since nobody answered
    seconds: float = 0.0  # simulated
    stopped: str = ""  # why it was ended before its end: it took too long, or has too many events
    playbooks: dict[int, Loaded] = {}  # of each execution
    signals_sent: int = 0
    called_rules: dict[int, set[tuple[str, int]]] = {}  # by execution: the workbook's tasks, and which rule decided


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be rehearsed."""

    request: RunRequest
    answers: Answers
    real: frozenset[str] = HARMLESS
    begun_at: float = BEGUN_AT
    signals: tuple[Signal, ...] = ()  # sent one after another
    seconds_max: float = SECONDS_MAX
    events_max: int = EVENTS_MAX


class Stage:
    """Rehearsals, one after another, in one loop."""

    def __init__(self, settings: Settings) -> None:
        changed = {"lease_seconds": LEASE_SECONDS, "results_stores": (), "store_url": f"sqlite:///{NOWHERE}/noetl.db"}
        self.settings = msgspec.structs.replace(settings, **changed)
        self._runner: asyncio.Runner | None = None
        self._real_tools: RealTools | None = None

    def __enter__(self) -> Stage:
        self._runner = asyncio.Runner(loop_factory=VirtualLoop)
        return self

    def __exit__(self, *_: object) -> None:
        if self._runner is not None:
            if self._real_tools is not None:
                self._runner.run(self._real_tools.close())
            self._runner.close()

    def rehearse(self, wanted: Wanted) -> Rehearsed:
        """Run it to its end. Raises InvalidPlaybook, and what else makes it no run at all."""
        if self._runner is None:
            raise RuntimeError("a stage is entered first")
        return self._runner.run(self._rehearsed(wanted))

    async def _rehearsed(self, wanted: Wanted) -> Rehearsed:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)  # noqa: S101 - the runner makes no other
        if self._real_tools is None:
            self._real_tools = RealTools(loop)
        rehearsal = Rehearsal(self.settings, wanted, loop, self._real_tools)
        return await rehearsal.run()


def rehearse(settings: Settings, wanted: Wanted) -> Rehearsed:
    """One rehearsal."""
    with Stage(settings) as stage:
        return stage.rehearse(wanted)


class Rehearsal:
    """One of them."""

    def __init__(self, settings: Settings, wanted: Wanted, loop: VirtualLoop, real_tools: RealTools) -> None:
        self.wanted = wanted
        self.loop = loop
        self.calls: list[Called] = []
        self.unanswered: Asked | None = None
        self.over = loop.create_future()
        self.where = Counting(self._count)
        self.clock = StageClock(loop, wanted.begun_at)
        kinds = RehearsalKinds(settings, real_tools)
        kinds.ask = self._ask
        results = MemoryStores()
        kinds.store = results.kept
        self.keychain = Placeholders()
        self.parts = Embedded(
            settings,
            TurningStore(),
            self.where,
            self.clock,
            kinds,
            results=results,
            keychain=self.keychain,
            chance=Chance(random.Random(SEED)),  # noqa: S311 - the same each time is what is wanted
            name="rehearsal",
        )
        self.parts.queue.lease_seconds = LEASE_SECONDS
        self.parts.timers.clock = DozingClock(self.clock)
        self.parts.following.stand_in = self._stand_in
        self._begun_at = loop.time()
        self.signals_sent = 0
        self.called_rules: dict[int, set[tuple[str, int]]] = {}
        self.parts.worker.kit.invoker.on_called_verdict = self._note_rule

    async def run(self) -> Rehearsed:
        loop, parts = self.loop, self.parts
        loop.next_due = partial(_next_due, parts.timers, self.clock)
        loop.on_late = partial(self._end, LATE)
        loop.late_at = time.monotonic() + self.wanted.seconds_max
        try:
            async with parts:
                execution_id, loaded = await parts.start(self.wanted.request)
                self.keychain.text = loaded.text.data.decode("utf-8", "replace")
                parts.work()
                await self._until_over(execution_id)
                return await self._told(execution_id, loaded)
        finally:
            loop.late_at = None
            loop.next_due = lambda: None

    async def _until_over(self, execution_id: int) -> None:
        """To its end, or until it waits for something that no signal brings."""
        for signal in self.wanted.signals:
            await self._until_quiet(execution_id, signal.at)
            if signal.at is not None:
                await asyncio.wait({self.over}, timeout=self._seconds_until(signal.at))
            targets = [] if self.over.done() else self._targets(execution_id, signal.child)
            if not targets:
                break
            for target in targets:
                await self.parts.desk.signal(target, signal.patches)
            self.signals_sent += 1
        await self._until_quiet(execution_id)

    def _targets(self, execution_id: int, child: str | None) -> list[int]:
        """Who gets a signal: of those meant the ones that have not ended."""
        numbers = [execution_id] if child is None else [key for key, path in self.where.names.items() if path == child]
        states = [self.parts.watched(number) for number in numbers]
        return [state.execution_id for state in states if state is not None and not state.is_ended]

    def _seconds_until(self, at: float) -> float:
        return max(0.0, at - (self.loop.time() - self._begun_at))

    async def _until_quiet(self, execution_id: int, at: float | None = None) -> None:
        """Until it has ended, waits or is stopped; not longer than to a moment, if one is given."""
        quiet = asyncio.ensure_future(self.parts.until_quiet(execution_id))
        try:
            seconds = None if at is None else self._seconds_until(at)
            await asyncio.wait({quiet, self.over}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if quiet.done():
                quiet.result()
        finally:
            while not quiet.done():  # before Python 3.12 one that has just heard something overhears it
                quiet.cancel()
                await asyncio.sleep(0)

    async def _told(self, execution_id: int, loaded: Loaded) -> Rehearsed:
        parts, stopped = self.parts, self.over.result() if self.over.done() else ""
        state = parts.watched(execution_id)
        if state is None:
            raise RequestError("the rehearsal lost its execution")
        step_names = list(loaded.playbook.steps)
        summary = replaying.summary_of(state, step_names)
        if summary["status"] == RUNNING and not stopped:
            summary |= self._held_up(execution_id)
        return Rehearsed(
            loaded=loaded,
            execution_id=execution_id,
            events=self.where.events,
            summary=summary,
            state=state,
            calls=self.calls,
            unanswered=self.unanswered,
            seconds=(state.ended_at or self.clock.now()) - state.created_at,
            stopped="" if stopped == UNANSWERED else stopped,
            playbooks=await self._playbooks(),
            signals_sent=self.signals_sent,
            called_rules=self.called_rules,
        )

    def _held_up(self, execution_id: int) -> dict[str, Any]:
        child = self.parts.incident_below(execution_id)
        if child is None:
            return {"status": WAITING}
        message = f"child execution {child.execution_id} ({child.path}): {child.incident}"
        return {"status": INCIDENT, "error": replaying.error_of({"kind": INCIDENT, "message": message})}

    async def _playbooks(self) -> dict[int, Loaded]:
        found = {}
        for execution_id in self.where.events:
            row = await self.parts.store.execution(execution_id)
            if row is not None:
                found[execution_id] = await self.parts.catalog.known(row.sha, [])
        return found

    # --- asked meanwhile ---------------------------------------------------------------------------------------------

    def _ask(self, call: Call, kind: str) -> Answer | None:
        asked = self.where.asked(call.key, kind, call.task, call.attempt, call.given)
        return self._answered(asked)

    def _answered(self, asked: Asked) -> Answer | None:
        """An answer; None: the real tool is to run. Raises Unanswered."""
        answer = self.wanted.answers.answer(asked)
        self.calls.append(Called(asked=asked, answer=answer))
        if answer is None and asked.kind not in self.wanted.real:
            self.unanswered = self.unanswered or asked
            self._end(UNANSWERED)
            raise Unanswered(asked)
        return answer

    def _stand_in(self, wanted: ops.ChildWanted, folder: str) -> list[Operation] | None:
        """What answers in place of a child; None: it is rehearsed too."""
        _, run, index = wanted.key
        live = self.parts.executions.known(wanted.key[0])
        attempt = live.state.runs[run].jobs[index].progress.attempt if live else 1
        asked = self.where.asked_child(wanted, attempt)
        self.where.calls[wanted.child["key"]] = str(wanted.child["path"])
        try:
            answer = self._answered(asked)
        except Unanswered:
            return []
        if answer is not None:
            return [child_answered(wanted, answer, self.parts.kinds["playbook"])]
        if found_beside(str(wanted.child["path"]), folder) is not None:
            return None
        self.unanswered = self.unanswered or asked
        self._end(UNANSWERED)
        return []

    def _note_rule(self, execution_id: int, label: str, rule: int) -> None:
        self.called_rules.setdefault(execution_id, set()).add((label, rule))

    def _count(self, count: int) -> None:
        if count > self.wanted.events_max:
            self._end(LONG)

    def _end(self, why: str) -> None:
        if not self.over.done():
            self.over.set_result(why)


def child_answered(wanted: ops.ChildWanted, answer: Answer, kind: Any) -> Operation:
    """The end of a child as a test says it."""
    output = output_of(answer, kind)
    helper = output.helpers.get("playbook") or {}
    number = str(helper.get("execution_id") or "")
    if output.error is not None:
        result = (
            "cancelled" if output.error.kind == "cancelled" else "timeout" if output.error.kind == "timeout" else ""
        )
        cause = output.error.details.get("cause") or output.error.as_data()
        state = State(execution_id=int(number) if number.isdecimal() else 0, status=result or "failed", error=cause)
    else:
        found = {"status": "ok", "data": output.data, "ref": output.ref, "error": None, "meta": {}}
        state = State(execution_id=int(number) if number.isdecimal() else 0, status="success", output=found)
    return child_ended(wanted.child["key"], state, None)


def _next_due(timers: Timers, clock: StageClock) -> float | None:
    """When timers or parked jobs have something to do, in the loop's time."""
    dues = [at for at in (clock.in_loop(timers.next_at), timers.queue.next_at()) if at is not None]
    return min(dues, default=None)


class Counting(Whereabouts):
    """One that counts aloud."""

    reveals = True

    def __init__(self, told: Callable[[int], None]) -> None:
        super().__init__()
        self._told = told

    def committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None:
        super().committed(execution_id, first_seq, events)
        self._told(self.count)
