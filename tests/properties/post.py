"""One server and its workers without a network or a loop of their own: every step of the protocol is one call.

The pump, the queue and the store are the real ones (`Intake`, `LocalSitting`, `MemoryQueue`, `MemoryStore`); what a
worker says is made by the real pipeline. Reports are letters: composed, then delivered now, later, twice or never. Time
moves when told to. A crash leaves the store, and the letters that are on their way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec

from noetl.control.catalog import Catalog, Text
from noetl.control.intake import Intake
from noetl.control.live import Executions
from noetl.control.sitting import LocalSitting
from noetl.control.turn import Asked
from noetl.control.verify import Audit
from noetl.engine import commands as ops
from noetl.engine.commands import Key, Operation, Report, Work
from noetl.engine.events import Event, TaskWaiting
from noetl.engine.output import Output, failure
from noetl.engine.pipeline import Invocation, Pipeline
from noetl.engine.work import work_of
from noetl.queues.contract import ACCEPTED, STALE
from noetl.queues.memory import MemoryQueue
from noetl.results.memory import MemoryResults
from noetl.stores.contract import LIVE
from noetl.stores.memory import MemoryStore
from noetl.testing.clocks import ClockByHand
from noetl.testing.engine import answered
from noetl.tools.registry import declarations

MAX_IN_FLIGHT = 2
PLAYBOOK = f"""
apiVersion: noetl.io/v2
kind: Playbook
metadata: {{name: post}}
workflow:
  - step: start
    tool: [{{name: one, kind: noop}}, {{name: two, kind: noop, set: {{ctx.two: 1}}}}]
    next: {{spec: {{mode: inclusive}}, arcs: [{{step: each}}, {{step: slow}}]}}
  - step: each
    loop: {{in: [1, 2, 3, 4], iterator: n, spec: {{mode: parallel, max_in_flight: {MAX_IN_FLIGHT}}}}}
    tool: [{{name: work, kind: noop}}, {{name: more, kind: noop}}]
    next: {{arcs: [{{step: end}}, {{step: end, when: "{{{{ event.name == 'step.failed' }}}}"}}]}}
  - step: slow
    tool:
      - name: wait
        kind: noop
        spec:
          policy:
            rules:
              - {{when: "{{{{ output.status == 'error' }}}}", then: {{do: retry, attempts: 3, delay: 90}}}}
              - {{else: {{then: {{do: continue}}}}}}
    next: {{arcs: [{{step: end}}, {{step: end, when: "{{{{ event.name == 'step.failed' }}}}"}}]}}
  - step: end
    spec: {{policy: {{admit: {{join: all}}}}}}
    tool: [{{name: last, kind: noop}}]
"""
Value = TypeVar("Value")


class Holding(msgspec.Struct):
    """A job in a worker's hands."""

    worker: str
    work: Work
    pipeline: Pipeline
    sent: int = 0  # the number of the last report that was composed
    letter: Report | None = None  # … and waits for its answer
    answered: Report | None = None  # the one before it


class Post:
    """See the module."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.clock = ClockByHand()
        self.store = MemoryStore()
        self.catalog = Catalog(self.store, declarations, self.clock)
        self.results = MemoryResults(self.clock)
        self.entry = self.run(self.catalog.register(Text(data=PLAYBOOK.encode(), name="post.yaml")))
        self.boots = 0
        self.audits: dict[int, Audit] = {}
        self.holdings: list[Holding] = []
        self.letters: list[Report] = []
        self.granted: dict[Key, int] = {}  # the lease that a job was last handed out under, by this server
        self.heard: dict[int, int] = {}  # of each lease the last report that was accepted
        self.boot()

    def run(self, work: Coroutine[Any, Any, Value]) -> Value:
        return self.loop.run_until_complete(work)

    def close(self) -> None:
        self.loop.close()

    # --- the server --------------------------------------------------------------------------------------------------

    def boot(self) -> None:
        """A process begins: what was in memory is gone, and so are the workers of an embedded one."""
        self.boots += 1
        self.queue = MemoryQueue(self.boots)
        self.executions = Executions(self.store, self.catalog, self.results)
        self.intake = Intake(
            store=self.store,
            sitting=LocalSitting(self.store, self.queue, self.clock),
            results=self.results,
            executions=self.executions,
            clock=self.clock,
            observer=lambda *_: None,
        )
        self.holdings, self.granted = [], {}
        for execution_id in self.live():
            self.ask(ops.Recover(execution_id=execution_id))

    def live(self) -> list[int]:
        return [row.id for row in self.run(self.store.executions()) if row.status in LIVE]

    def ask(self, *operations: Operation) -> list[str]:
        """One batch of the pump; gives its answers."""
        futures = [self.loop.create_future() for _ in operations]
        self.run(self.intake.step([Asked(one, future) for one, future in zip(operations, futures, strict=True)]))
        return [future.result() for future in futures]

    def start(self) -> None:
        execution_id = self.run(self.store.reserve_ids(1))
        self.audits[execution_id] = Audit(execution_id)
        entry = self.entry
        self.ask(ops.Start(execution_id=execution_id, path=entry.path, version=entry.version, sha=entry.sha))

    def expire(self) -> None:
        """The sweep: leases that ran out; jobs that were lost too often."""
        for claim in self.queue.expire(self.clock.monotonic()):
            execution_id, run, index = claim.key
            self.ask(ops.Expire(execution_id=execution_id, run=run, iter=index, kind="worker_lost", message="lost"))

    def read_logs(self) -> None:
        """Bring the audits up to the logs."""
        for execution_id, audit in self.audits.items():
            for seq, event in self.run(self.store.events(execution_id, audit.count)):
                audit.read(seq, event)

    # --- workers -----------------------------------------------------------------------------------------------------

    def poll(self, worker: str, free: int) -> None:
        for claim in self.queue.claim(worker, free, self.clock.monotonic()):
            live = self.executions.known(claim.key[0])
            assert live is not None, "a job of an execution that is not in memory"
            work = work_of(live.loaded.playbook, live.state, *claim.key[1:], claim.lease, "")
            assert claim.lease not in self.granted.values(), "a lease is used again"
            self.granted[claim.key] = claim.lease
            self.holdings.append(Holding(worker, work, Pipeline(live.loaded.playbook, work)))

    def compose(self, holding: Holding, tasks: int) -> None:
        """Work on, and write the next report; the one before must be answered."""
        pipeline, now = holding.pipeline, self.clock.now()
        events: list[Event] = [] if holding.sent else list(pipeline.begin(now))
        is_parked = False
        while pipeline.current() is not None and tasks and not is_parked:
            tasks -= 1
            is_parked = pipeline.progress.ready_at > now
            events += [parked(pipeline, now)] if is_parked else done(pipeline, now)
        if pipeline.current() is None:
            events.append(pipeline.finish(now))
        holding.sent += 1
        key, lease = holding.work.key, holding.work.lease
        holding.letter = Report(
            execution_id=key[0], run=key[1], iter=key[2], lease=lease, n=holding.sent, events=events
        )
        self.letters.append(holding.letter)

    def deliver(self, *letters: Report) -> list[str]:
        """These reports arrive together; whoever waits for an answer gets it."""
        answers = self.ask(*letters)
        for letter, answer in zip(letters, answers, strict=True):
            if answer == ACCEPTED:
                assert self.granted.get(letter.key) == letter.lease, "I2: accepted under another lease"
                assert letter.n == self.heard.get(letter.lease, 0) + 1, "a report was heard twice, or out of order"
                self.heard[letter.lease] = letter.n
            for holding in [one for one in self.holdings if one.letter is letter]:
                self._answer(holding, answer)
        return answers

    def _answer(self, holding: Holding, answer: str) -> None:
        letter, holding.letter = holding.letter, None
        holding.answered = letter
        is_parked = letter is not None and isinstance(letter.events[-1], TaskWaiting)
        if answer == STALE or is_parked or holding.pipeline.current() is None:
            self.holdings.remove(holding)

    def heartbeat(self, worker: str) -> None:
        ours = [one for one in self.holdings if one.worker == worker]
        gone = self.queue.extend(worker, [(one.work.key, one.work.lease) for one in ours], self.clock.monotonic())
        for holding in ours:
            if holding.work.key in gone:
                self.holdings.remove(holding)


def done(pipeline: Pipeline, now: float) -> list[Event]:
    opened, invocation = pipeline.enter(now)
    if invocation is None:
        return opened
    return [*opened, pipeline.close(invocation, answered(output_of(invocation), invocation.attempt), now)]


def output_of(invocation: Invocation) -> Output:
    if invocation.task.label == "wait" and invocation.attempt == 1:
        return failure("connection", "no", is_definite=False)
    return Output(data=invocation.key)


def parked(pipeline: Pipeline, now: float) -> Event:
    task, work = pipeline.current(), pipeline.work
    assert task is not None  # the caller asks while there is one
    at = {"task": task.label, "visit": pipeline.visit(task), "attempt": pipeline.progress.attempt}
    of_job = {"run": work.run, "iter": work.iter, "lease": work.lease}
    return TaskWaiting(ts=now, **of_job, **at, until=pipeline.progress.ready_at)
