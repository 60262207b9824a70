"""What the tools did, compared with what the logs have: the effects ledger against the books.

Whatever is recorded ran, and what a task was handed is what some task gave. Nothing that is recorded runs again under a
lease that was given later; no attempt runs twice under one lease; one that runs again does so under the same
idempotency key. What runs again at all does so because whoever ran it died, or is within a budget, so that needless
work is found too. No worker runs a task of a job that it was never given, starts one after it was told that the job is
over, one of a job that may be another's by now, one of a cancelled execution once it must know, or more at a time than
it has slots. The idempotency key counts the attempts that got a definite answer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping

import msgspec

from noetl.engine.commands import Key
from noetl.engine.events import Event, TaskDone
from noetl.testing.simulator.case import Violation
from noetl.testing.simulator.checks.leases import Given, Leases
from noetl.testing.simulator.checks.lineage import is_own, value_of
from noetl.testing.simulator.checks.log_book import LogBook, TaskRun
from noetl.testing.simulator.ledger import FAILED_BY_WORLD, Invocation, Ledger

Attempt = tuple[str, int]  # task run id, attempt
TASKS_UNREPORTED = 4  # of one job, at least: iterations of a local loop are done one after the other by one worker
INDEFINITE = frozenset(("connection", "timeout"))  # error.kind of an attempt that may have had its effect
MOMENT_SECONDS = 1e-6  # by which sums of seconds are off
RECORDED_WITHIN_SECONDS = 2.0  # a result of a task that takes time is, where only workers die


class Ordeal(msgspec.Struct, frozen=True, kw_only=True):
    """What a world went through, as far as it excuses anything."""

    jobs_lost_max: (
        int  # how often somebody who lives may have lost a job since its last report: paused, cut off, unheard
    )
    heartbeat_seconds: float  # by then a worker knows that a job of its is over
    cut_off_seconds: float  # by then even one that hears nothing starts no task any more
    cut_off: Collection[str] = ()  # nodes that were paused, or could not be reached, at some time
    killed: Mapping[str, float] = {}  # nodes that died, and when
    is_prompt: bool = False  # nothing went wrong that could keep a result from being recorded, but that nodes died
    incidents: Collection[int] = ()  # executions in which a fault of the engine was planted
    slots: int = 0  # of each worker; 0: nobody counts them
    is_storing_faulty: bool = False  # a result could not be stored: an attempt that runs again may end in another way


class Effects:
    """See above."""

    def __init__(self, ledger: Ledger, books: Mapping[int, LogBook], leases: Leases) -> None:
        self.ledger = ledger
        self.books = books
        self.leases = leases
        self._told_at: dict[tuple[str, Key, int], float] = {}  # worker, job, lease
        self._firm: dict[tuple[str, Key, int], list[tuple[float, float]]] = {}  # since when it is known, until when
        self._ran: Counter[Attempt] = Counter()
        self._read = 0  # lines of the ledger

    def told(self, worker: str, key: Key, lease: int, now: float) -> None:
        """A worker learnt that a job is no longer its: stale, gone, or its end was recorded."""
        self._told_at.setdefault((worker, key, lease), now)

    def firm(self, worker: str, key: Key, lease: int, until: float, now: float) -> None:
        """A worker knows from now on that a job is its own until then."""
        self._firm.setdefault((worker, key, lease), []).append((now, until))

    def recorded(self, execution_id: int, seq: int, event: Event) -> None:
        """Whatever is recorded as the result of a script ran before."""
        if not isinstance(event, TaskDone) or not is_own(event.task, value_of(event.output)):
            return
        for line in self.ledger.invocations[self._read :]:
            self._ran[line.task_run_id, line.attempt] += 1
        self._read = len(self.ledger.invocations)
        task_run_id = f"{execution_id}:{event.run}:{event.iter}:{event.task}:{event.visit}"
        if not self._ran[task_run_id, event.attempt]:
            raise Violation(
                "I3", f"{task_run_id}, attempt {event.attempt} is recorded, but never ran", execution_id, seq
            )

    # --- at the end --------------------------------------------------------------------------------------------------

    def check(self, ordeal: Ordeal, shortened: Collection[int]) -> None:
        """`shortened`: executions whose history a failover cut, so that their work was rightly done again."""
        under: dict[tuple[Attempt, int], str] = {}
        keys: dict[Attempt, str] = {}
        given_away = {line.gave for line in self.ledger}
        attempts: Counter[Attempt] = Counter()
        before: dict[Attempt, Invocation] = {}
        reruns = 0
        for line in self.ledger:
            attempt = line.task_run_id, line.attempt
            attempts[attempt] += 1
            key, place = _places(line)
            given = self.leases.held(key, line.node, line.seconds)
            if given is not None:
                self._check_told(line, key, given)
                self._check_firm(line, key, given)
            elif self.leases.given:  # where leases are told of at all
                _fail(line, "ran, but its worker never had that job")
            if line.saw is not None and line.saw not in given_away:
                _fail(line, f"was handed the result of {line.saw}, which nobody gave")
            if line.execution_id in shortened:
                continue
            if keys.setdefault(attempt, line.key) != line.key and not self._may_differ(line, attempts, ordeal):
                _fail(line, f"ran under the idempotency key {line.key}, but before under {keys[attempt]}")
            if given is not None:
                self._check_once(line, given, under)
                self._check_needed(line, place, given)
            self._check_cancelled(line, place, ordeal)
            is_excused = line.execution_id in ordeal.incidents  # whose reports the engine failed on, many at once
            reruns += attempt in before and not is_excused and not _is_orphan(before[attempt], line, ordeal)
            before[attempt] = line
            if not ordeal.is_storing_faulty and not self.ledger.is_disturbed(line.execution_id):
                self._check_key(line, place)
        if ordeal.slots:
            _check_slots(self.ledger, ordeal.slots)
        reruns_max = ordeal.jobs_lost_max * _unreported_max(attempts)
        if reruns > reruns_max:
            message = f"tasks of workers that live ran again {reruns} times; what happened explains {reruns_max}"
            raise Violation("reruns", message)

    def _may_differ(self, line: Invocation, attempts: Mapping[Attempt, int], ordeal: Ordeal) -> bool:
        """The key counts the definite answers before it. An attempt before that was not recorded ran again, and got a
        definite answer only one of the two times: the other time what it gave could not be stored, or the world broke
        it, so nobody knows."""
        again = [n for n in range(1, line.attempt) if attempts[line.task_run_id, n] > 1]
        if ordeal.is_storing_faulty:
            return bool(again)
        lines = self.ledger.of(line.execution_id)
        return any(
            one.attempt in again and one.task_run_id == line.task_run_id and one.state == FAILED_BY_WORLD
            for one in lines
        )

    def _check_told(self, line: Invocation, key: Key, given: Given) -> None:
        told_at = self._told_at.get((line.node, key, given.lease))
        if told_at is not None and line.seconds > told_at:
            _fail(line, f"began {line.seconds - told_at:.3f} s after its worker was told that the job is over")

    def _check_firm(self, line: Invocation, key: Key, given: Given) -> None:
        """Rule 4 of workers: no task is started under a lease that may be over."""
        known = [until for since, until in self._firm.get((line.node, key, given.lease), ()) if since <= line.seconds]
        late = line.seconds - max(known, default=line.seconds)
        if late > MOMENT_SECONDS:
            _fail(line, f"began {late:.3f} s after its worker could be sure of lease {given.lease}")

    def _check_once(self, line: Invocation, given: Given, under: dict[tuple[Attempt, int], str]) -> None:
        place = (line.task_run_id, line.attempt), given.lease
        if place in under:
            _fail(line, f"ran twice under lease {given.lease}, on {under[place]} and on {line.node}")
        under[place] = line.node

    def _check_needed(self, line: Invocation, place: TaskRun, given: Given) -> None:
        """Rule 5 of workers: what is recorded when a job is handed out is not run again."""
        book = self.books.get(line.execution_id)
        recorded = book.recorded.get(place) if book else None
        if recorded is not None and recorded.lease != given.lease and recorded.at < given.at:
            _fail(line, f"ran under lease {given.lease}, though event {recorded.seq} had its end before")

    def _check_key(self, line: Invocation, place: TaskRun) -> None:
        """After a crash, a time-out or a broken connection the key stays: nobody knows what came of that attempt."""
        book = self.books.get(line.execution_id)
        earlier = [(*place[:4], attempt) for attempt in range(1, line.attempt)] if line.task == place[2] else []
        if book is None or any(one not in book.recorded for one in earlier):
            return
        answered = sum(book.recorded[one].error_kind not in INDEFINITE for one in earlier)
        if line.key != f"{line.task_run_id}.{answered}":
            _fail(line, f"ran under the idempotency key {line.key}, after {answered} attempts with a definite answer")

    def _check_cancelled(self, line: Invocation, place: TaskRun, ordeal: Ordeal) -> None:
        book = self.books.get(line.execution_id)
        if book is None or book.cancelled_at is None or place[0] in book.compensations:
            return
        grace = ordeal.cut_off_seconds if line.node in ordeal.cut_off else ordeal.heartbeat_seconds
        late = line.seconds - book.cancelled_at
        if late > grace:
            _fail(line, f"began {late:.1f} s after the cancel, more than {grace:g} s")


def _check_slots(ledger: Ledger, slots: int) -> None:
    """Tools that took their time, at the same time on one worker."""
    running: dict[str, list[float]] = {}  # when each ends
    for line in ledger:
        if line.is_finished and line.ended_seconds > line.seconds:
            still = [end for end in running.get(line.node, ()) if end > line.seconds]
            running[line.node] = [*still, line.ended_seconds]
            if len(still) >= slots:
                _fail(line, f"began while {len(still)} others ran there, and its worker has {slots} slots")


def _unreported_max(attempts: Collection[Attempt]) -> int:
    """How many tasks one job may have done since its last report: its whole pipeline, jumps included, because tasks
    that take no time are all done before a commit is."""
    jobs = Counter(tuple(task_run_id.split(":", 3)[:3]) for task_run_id, _ in attempts)
    return max((TASKS_UNREPORTED, *jobs.values()))


def _fail(line: Invocation, message: str) -> None:
    what = f"{line.task_run_id}, attempt {line.attempt}, on {line.node}"
    raise Violation("effects", f"{what}: {message}", line.execution_id)


def _places(line: Invocation) -> tuple[Key, TaskRun]:
    """The job and the attempt that a line is about; a label has no colon."""
    execution_id, run, index, label, visit = line.task_run_id.split(":")
    place = int(run), int(index)
    return (int(execution_id), *place), (*place, label, int(visit), line.attempt)


def _is_orphan(before: Invocation, line: Invocation, ordeal: Ordeal) -> bool:
    """Whether what ran before was of a worker that died before it ran again: nobody else could know what came of it.
    Where nothing else went wrong it is recorded soon after its end."""
    died_at = ordeal.killed.get(before.node, math.inf)
    if died_at > line.seconds:
        return False
    seconds = died_at - before.ended_seconds
    if ordeal.is_prompt and before.is_finished and not before.is_called and seconds > RECORDED_WITHIN_SECONDS:
        _fail(line, f"ran again, though {before.node} had its result for {seconds:.1f} s before it died")
    return True
