"""One execution of a real engine over a real simulated database, watched by the checks: good histories to begin with.

Everything happens at once: the database is never slow here, so its answers are there without waiting.
"""

import hashlib
from collections.abc import Coroutine
from typing import Any

import msgspec
import pytest

from noetl.control.shared_sitting import FOLLOWED_UP, deed_of, queue_changes
from noetl.engine import events as facts
from noetl.engine.commands import ChildWanted, Report
from noetl.engine.state import canonical
from noetl.engine.work import work_of
from noetl.stores.contract import Append, Batch, Execution
from noetl.stores.shared import Fence, NewJob, QueueChanges
from noetl.testing.clocks import ClockByHand
from noetl.testing.engine import Engine
from noetl.testing.simulator.case import Violation
from noetl.testing.simulator.checks.checks import Checks
from noetl.testing.simulator.checks.effects import Ordeal
from noetl.testing.simulator.checks.view import DatabaseView
from noetl.testing.simulator.coverage import Coverage
from noetl.testing.simulator.database.database import Committed, Database
from noetl.testing.simulator.ledger import Ledger
from noetl.testing.simulator.results import Bucket

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t}\n"
CHILD = 2
PIPELINE = """
workflow:
  - step: start
    tool: [{name: a, kind: noop}, {name: b, kind: noop}]
    set: {ctx.x: 1}
    next: {arcs: [{step: end}]}
  - {step: end, tool: {kind: noop}}
"""
LOOPED = """
workflow:
  - step: start
    loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: [{name: a, kind: noop}]
"""
CALLING = "workflow: [{step: start, tool: {kind: playbook, path: other}}]"
GATED = """
workflow:
  - step: start
    spec: {policy: {admit: {rules: [{when: "{{ ctx.go is not defined }}", then: {allow: false}}], on_deny: wait}}}
    tool: {kind: noop}
"""
CALM = Ordeal(jobs_lost_max=0, heartbeat_seconds=10.0, cut_off_seconds=30.0)
SECRET = "canary-3f9c"


def at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """The answer of something that never waits."""
    try:
        work.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("it waits")


class Played(Engine):
    """Every decision is committed, and every commit checked."""

    def __init__(self, text: str, answers: dict[str, Any] | None = None) -> None:
        super().__init__(HEAD + text, answers)
        self.clock = ClockByHand()
        self.ledger = Ledger()
        self.database = Database(self.clock)
        self.store = self.database.client("server-1")
        self.checks = Checks(
            coverage=Coverage(),
            view=lambda: DatabaseView(self.database.tables, Bucket()),
            now=self.clock.now,
            ledger=self.ledger,
            secrets=[SECRET],
        )
        self.database.on_commit = self.tell
        self.database.on_lease = self.leased
        self.is_late = False  # what is handed out does not come until a test says so
        self.tag = 0

    def tell(self, committed):
        self.told = committed
        self.checks.committed(committed)

    def leased(self, key, lease, worker):
        self.checks.leased(key, lease, worker)
        if not self.is_late:
            self.checks.came(key, lease)

    @property
    def tables(self):
        return self.database.tables

    def do(self, operation):
        events, changes = len(self.log), len(self.changes)
        decided = super().do(operation)
        self.append(self.log[events:], self.changes[changes:], operation)
        return decided

    def appended(self, events, first_seq):
        return Append(
            execution_id=1,
            first_seq=first_seq,
            events=events,
            status=self.status,
            digest=hashlib.sha256(canonical(self.state)).hexdigest() if self.state.is_ended else "",
        )

    def append(self, events, changes, operation):
        """Commit events as a pump does."""
        report = operation if isinstance(operation, Report) else None
        deeds = {report.key: deed_of(report)} if report else {}
        fences = [Fence(key=key, lease=report.lease, n=report.n, does=does) for key, does in deeds.items()]
        is_owed = any(isinstance(change, FOLLOWED_UP) for change in changes)
        append = self.appended(events, len(self.tables.logs.get(1, ())) + 1)
        batch = Batch(appends=[msgspec.structs.replace(append, follow_until=30.0 if is_owed else None)])
        if 1 not in self.tables.executions:
            batch.executions.append(Execution(id=1, sha="sha", path="t", version=1, request_key="wish"))
        queued = queue_changes(changes, deeds)
        self._begin_child(batch, queued, changes)
        self.commit(batch, queued, fences)

    def _begin_child(self, batch, queued, changes):
        for change in changes:
            if isinstance(change, ChildWanted) and CHILD not in self.tables.executions:
                key = change.child["key"]
                batch.executions.append(Execution(id=CHILD, sha="c", path="c", version=1, parent_id=1, parent_key=key))
                batch.appends.append(Append(execution_id=CHILD, first_seq=1, events=first_events(), status="running"))
                queued.added.append(NewJob(key=(CHILD, 1, -1), pool="default"))

    def commit(self, batch, changes, fences=(), expiries=()):
        self.tag += 1
        self.clock.seconds += 0.001
        transaction = at_once(self.store.transaction())
        at_once(transaction.begin([one.execution_id for one in batch.appends], fences, expiries))
        at_once(transaction.commit(batch, self.tag, changes))

    def claim(self, worker="worker-1"):
        """All jobs that are ready."""
        self.leases += 100
        numbers = range(self.leases, self.leases + 100)
        return at_once(self.store.claim(worker, "default", numbers, 30.0))

    def expire(self):
        return at_once(self.store.expire(10, 5))

    def work(self, run, index):
        """The job as whoever holds it gets it."""
        self.claim()
        lease = self.tables.jobs[1, run, index].lease
        return work_of(self.playbook, self.state, run, index, lease, "")

    def _report(self, work, events):
        n = self.tables.jobs[work.key].last_report + 1
        self.do(Report(execution_id=1, run=work.run, iter=work.iter, lease=work.lease, n=n, events=events))

    def row(self, execution_id=1):
        return self.tables.executions[execution_id]

    def live(self):
        """What a server that is up to date has in memory."""
        return [Cached(self.state, self.row().tag)]


class Cached:
    def __init__(self, state, tag):
        self.state = state
        self.tag = tag


def first_events():
    """The log of an execution whose first step is ready."""
    return [
        facts.PlaybookExecutionRequested(ts=1.0, path="c", version=1, sha="c"),
        facts.PlaybookRequestEvaluated(ts=1.0),
        facts.WorkflowStarted(ts=1.0, entry="start", token=1),
        facts.StepScheduled(ts=1.0, run=1, step="start", tokens=[1]),
    ]


def ended(text, answers=None):
    """A run to its end."""
    made = Played(text, answers)
    made.start()
    made.run()
    return made


def begun(text=PIPELINE):
    """An execution whose first job is ready."""
    made = Played(text)
    made.start()
    return made


def halfway(text=PIPELINE):
    """The first task of its first job is reported."""
    made = begun(text)
    made.run_job(1, -1, tasks=1)
    return made


def violation(what, why=""):
    return pytest.raises(Violation, match=f"^{what}: .*{why}")


def committed(made, events, words=None, fences=(), expiries=(), changes=None):
    """A commit as a faulty store might tell of it."""
    head = len(made.tables.logs[1])
    append = made.appended(events, head + 1)
    return Committed(
        number=0,
        node="server-1",
        batch=Batch(appends=[append]),
        tag=99,
        words=words or {},
        changes=changes or QueueChanges(),
        fences=fences,
        expiries=expiries,
        revoked=(),
    )


def started(lease, **fields):
    ids = {"ts": 1.0, "run": 1, "lease": lease, "task": "b", "visit": 1, "attempt": 1, "kind": "noop"}
    return facts.TaskStarted(**{**ids, **fields})
