"""One pipeline at its worst: how often each task is tried, how long it waits between, how long one try may take.

A task is tried again as long as some retry rule that can match has attempts left, and before each try the longest of
their waits is waited (TK-08; the waits are those of `backoff.py`). A jump backwards repeats what lies between, without
a bound but the pipeline's own (TK-09); one forwards only leaves tasks out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from noetl.dsl.model import Playbook, Rule, Task, Value
from noetl.engine.backoff import delay_seconds
from noetl.engine.forecast.bounds import NOTHING, ONCE, Bound, capped, largest, times, together, unknown
from noetl.engine.forecast.known import Known, Unknown
from noetl.engine.pipeline import TASK_RUNS_MAX
from noetl.engine.policy import JUMP, RETRY
from noetl.engine.values import Fault, seconds_of

RETRIES_SUMMED_MAX = 10_000
INSTANT = frozenset(("noop",))  # kinds whose tool does nothing
CALLS_WORKBOOK, CALLS_PLAYBOOK = "workbook", "playbook"
ChildSeconds = Callable[[Task], Bound]  # how long the playbook that a task calls may take


class TaskForecast(msgspec.Struct, frozen=True, kw_only=True):
    """A task at its worst, in one run of its pipeline."""

    task: Task
    attempts: Bound
    visit_attempts: int  # each time that the pipeline comes to it
    attempt_seconds: Bound
    wait_seconds: Bound  # all waits between attempts together
    seconds: Bound


class Reader(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pipeline stands: what is known there, and whom it may call."""

    playbook: Playbook
    known: Known
    child_seconds: ChildSeconds

    def pipeline(self, tasks: Sequence[Task]) -> list[TaskForecast]:
        """Each task of a pipeline."""
        repeated = dict(self._repeated(tasks))
        return [self._task(task, repeated.get(index)) for index, task in enumerate(tasks)]

    def _repeated(self, tasks: Sequence[Task]) -> Iterator[tuple[int, str]]:
        """Which tasks a jump can bring back to, and the reason why that has no bound."""
        places = {task.label: index for index, task in enumerate(tasks)}
        for index, task in enumerate(tasks):
            for rule in self.rules(task):
                back_to = places[rule.to] if rule.do == JUMP and rule.to in places else len(tasks)
                reason = (
                    f'task "{task.label}" can jump back to "{rule.to}" again and again (a pipeline ends after '
                    f"{TASK_RUNS_MAX:,} tasks)"
                )
                yield from ((one, reason) for one in range(back_to, index + 1))

    def _task(self, task: Task, repeats: str | None) -> TaskForecast:
        visits = unknown(repeats) if repeats else ONCE
        attempts, waits = self.attempts(task), self.waits(task)
        one = self.attempt_seconds(task)
        return TaskForecast(
            task=task,
            attempts=times(Bound(attempts), visits),
            visit_attempts=attempts,
            attempt_seconds=one,
            wait_seconds=times(waits, visits),
            seconds=times(together((times(one, Bound(attempts)), waits)), visits),
        )

    # --- rules -------------------------------------------------------------------------------------------------------

    def rules(self, task: Task) -> list[Rule]:
        """The rules that may decide, once the tool has answered: those up to the first that always matches."""
        found: list[Rule] = []
        for rule in task.policy.rules if task.policy else ():
            holds = self.known.holds(rule.when)
            if holds is False or rule.is_before_tool:
                continue
            found.append(rule)
            if holds:
                break
        return found

    def retries(self, task: Task) -> list[Rule]:
        return [rule for rule in self.rules(task) if rule.do == RETRY]

    def attempts(self, task: Task) -> int:
        """How often a task is tried on one visit."""
        return max((rule.attempts for rule in self.retries(task)), default=1)

    def waits(self, task: Task) -> Bound:
        """All waits of one visit together."""
        count, rules = self.attempts(task) - 1, self.retries(task)
        if count > RETRIES_SUMMED_MAX:
            return unknown(f'task "{task.label}" may be tried {count + 1:,} times: too often to add up its waits')
        return together(self._wait(task, rules, retry) for retry in range(1, count + 1))

    def _wait(self, task: Task, rules: Sequence[Rule], retry: int) -> Bound:
        """The wait before a retry, by whichever rule asks for the longest."""
        found = [self._delay(task, rule, retry) for rule in rules if rule.attempts > retry]
        return largest(found)

    def _delay(self, task: Task, rule: Rule, retry: int) -> Bound:
        try:
            delay = self._written_delay(task, rule.delay, retry)
        except Unknown as fault:
            return capped(unknown(f'the delay of task "{task.label}" depends on {fault.words}'), rule.max_delay_seconds)
        except Fault:  # then the task fails at once, and waits no more
            return NOTHING
        longest = delay_seconds(
            rule.backoff, delay, retry, max_delay=rule.max_delay_seconds, jitter=rule.jitter, chance=1.0, at_least=0.0
        )
        return Bound(longest)

    def _written_delay(self, task: Task, delay: Value | float, retry: int) -> float:
        if not isinstance(delay, Value):
            return delay
        there = {"_attempt": retry, "_task": task.label}
        self.known.value(delay, there)
        return seconds_of(delay, {**self.known.names, **there})

    # --- one attempt -------------------------------------------------------------------------------------------------

    def attempt_seconds(self, task: Task) -> Bound:
        """How long one attempt may take."""
        if task.is_transparent or task.kind in INSTANT:
            return NOTHING
        if task.kind == CALLS_WORKBOOK:
            return capped(self._called_seconds(task), task.timeout.total)
        if task.kind == CALLS_PLAYBOOK:
            return capped(self.child_seconds(task), task.timeout.total)
        return Bound(task.timeout.total) if task.timeout.total is not None else unknown(untimed(task))

    def _called_seconds(self, task: Task) -> Bound:
        """A workbook task, with its own retries, within the attempt of its caller (TK-14)."""
        called = workbook_task(self.playbook, task)
        if called is None:
            return NOTHING  # the call fails at once
        if called.kind == CALLS_PLAYBOOK:
            return capped(self.child_seconds(called), called.timeout.total)
        one = self.attempt_seconds(called)
        return together((times(one, Bound(self.attempts(called))), self.waits(called)))


def workbook_task(playbook: Playbook, task: Task) -> Task | None:
    """The workbook task that a task calls, if there is one of that name."""
    name = task.input["task"].parts if "task" in task.input else None
    return playbook.workbook.get(name) if isinstance(name, str) else None


def untimed(task: Task) -> str:
    """Why one attempt of a task has no bound: what it waits for a connection, or in silence, is none."""
    return f'one attempt of task "{task.label}" ({task.kind}) has no time limit: give it spec.timeout'


def seconds_of_all(tasks: Sequence[TaskForecast]) -> Bound:
    return together(one.seconds for one in tasks)


def attempts_of_all(tasks: Sequence[TaskForecast]) -> Bound:
    return together(one.attempts for one in tasks)
