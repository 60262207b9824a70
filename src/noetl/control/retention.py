"""The retention sweep: stored results that nothing needs any more are removed, and no others (RS-08).

What names a result keeps it:

- An execution that has not ended keeps all that its log names, for as long as it has not ended.
- One that has ended keeps it until the reference's `ttl` has passed since its end; without a ttl until
  `results.keep_days` has; without either for ever.
- A result keeps what its content names, for as long as it is kept itself (a list of references, say).

A log says everything: state, snapshots and ctx are made from it. What no log names is either an orphan of a crash or
was stored a moment ago and its event is on the way; so nothing goes that was stored within the last day, nor since the
oldest task began that runs now. Storing the same content again renews its time, and a store removes only what was not
stored again meanwhile, so a sweep is safe while executions run. Whatever was recorded while it looked is read before
it removes anything. A log or a store that cannot be read ends the sweep with nothing removed.

A result in a store of a playbook's own is not searched: what its content names is kept by the logs alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec

from noetl.control.marks import Marks, Unread
from noetl.control.mentions import Mention, mentions_in, shas_in
from noetl.engine.events import Event, StepCancelled, TaskDone, TaskStarted, TaskWaiting, encode
from noetl.errors import ReferenceCorrupt, ReferenceMissing
from noetl.references import Reference
from noetl.results.contract import Results
from noetl.stores.contract import LIVE, Execution, Store

GRACE_SECONDS = 24 * 3600.0  # an event may come so long after what it names was stored, whatever its task does
EXECUTIONS_PER_READ = 500
EVENTS_PER_READ = 100  # each may have a megabyte
Task = tuple[int, int, int, str]  # execution, run, iteration, label


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """How long results are kept."""

    keep_seconds: float = math.inf  # after the end of the execution, where a reference has no ttl
    grace_seconds: float = GRACE_SECONDS


class Swept(NamedTuple):
    """What a sweep did, or would do."""

    removed: int
    removed_bytes: int
    kept: int
    kept_bytes: int


async def sweep(store: Store, results: Results, rule: Rule, now: float, *, is_dry_run: bool = False) -> Swept:
    """Remove what nothing needs; `is_dry_run`: only count it."""
    marks = Marks()
    try:
        return await _Sweep(store, results, rule, marks, now).run(is_dry_run=is_dry_run)
    finally:
        marks.close()


class _Sweep:
    def __init__(self, store: Store, results: Results, rule: Rule, marks: Marks, now: float) -> None:
        self.store = store
        self.results = results
        self.rule = rule
        self.marks = marks
        self.now = now
        self.running: dict[Task, float] = {}  # tasks whose tool is at work, since when

    async def run(self, *, is_dry_run: bool) -> Swept:
        await self._mark_logs()
        stored_before = min([self.now - self.rule.grace_seconds, *self.running.values()])
        async for found in self.results.walk():
            self.marks.keep(found)
        if self.marks.has_dead(stored_before, self.now):  # else the contents need not be read
            await self._mark_contents()
            await self._mark_logs()
            await self._mark_contents()
        return await self._removed(stored_before, is_dry_run=is_dry_run)

    async def _removed(self, stored_before: float, *, is_dry_run: bool) -> Swept:
        total = self.marks.kept()
        count = size = 0
        for locator, found_bytes in self.marks.dead(stored_before, self.now):
            if is_dry_run or await self.results.remove(locator, stored_before=stored_before):
                count += 1
                size += found_bytes
        return Swept(count, size, total.results - count, total.size - size)

    # --- what is wanted ----------------------------------------------------------------------------------------------

    async def _mark_logs(self) -> None:
        """Read every log, as far as it has not been read."""
        before: int | None = None
        while page := await self.store.executions(EXECUTIONS_PER_READ, before):
            for execution in page:
                await self._mark_log(execution)
            before = page[-1].id

    async def _mark_log(self, execution: Execution) -> None:
        seq = self.marks.head(execution.id)
        while seq < execution.head and (page := await self.store.events(execution.id, seq, EVENTS_PER_READ)):
            for _, event in page:
                if execution.status in LIVE:
                    self._note_task(execution.id, event)
                self.marks.add((one, self._until(execution, one)) for one in mentions_in(encode(event)))
            seq = page[-1][0]
        self.marks.read_log(execution.id, seq)

    def _until(self, execution: Execution, mention: Mention) -> float:
        if execution.status in LIVE or execution.ended_at is None:
            return math.inf
        kept_seconds = self.rule.keep_seconds if mention.ttl_seconds is None else mention.ttl_seconds
        return execution.ended_at + kept_seconds

    def _note_task(self, execution_id: int, event: Event) -> None:
        """A tool at work may have stored what no event names yet."""
        task = (execution_id, event.run, event.iter, event.task)
        if isinstance(event, TaskStarted):
            self.running.setdefault(task, event.ts)
        elif isinstance(event, TaskDone | TaskWaiting):
            self.running.pop(task, None)
        elif isinstance(event, StepCancelled):
            for cancelled in [one for one in self.running if one[:2] == task[:2]]:
                del self.running[cancelled]

    async def _mark_contents(self) -> None:
        """Hand on what a result is wanted for to what its content names, until nothing new is found."""
        is_settled = False
        while not is_settled:
            is_settled = True
            for one in self.marks.unread(self.now):
                await self._mark_content(one)
                is_settled = False

    async def _mark_content(self, one: Unread) -> None:
        if one.locator is not None:
            try:
                async for sha in shas_in(self.results.stream(Reference(type="blob", locator=one.locator))):
                    self.marks.add([(Mention(sha), one.until)])
            except (ReferenceMissing, ReferenceCorrupt):
                pass  # gone or damaged: it cannot be used, and so neither can what it names
        self.marks.read(one)
