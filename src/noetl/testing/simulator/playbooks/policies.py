"""The rules of one generated task: what becomes of it when it fails, and when it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.testing.simulator.playbooks.places import IS_ERROR, NUMBER, Place
from noetl.testing.simulator.playbooks.plans import HTTP, Rule, Task, Write
from noetl.testing.simulator.playbooks.scripts import ERROR_STATUSES, Script
from noetl.testing.simulator.playbooks.terms import Constant, Operation, Read, Term, compare, read

if TYPE_CHECKING:
    from noetl.testing.simulator.playbooks.pipelines import PipelineAuthor

LONG_DELAY_SECONDS = 65.0  # the job is parked (protocol §7, rule 6)
ERROR_KINDS = ("server_error", "connection", "client_error", "rate_limit", "exception", "not_found")


class PolicyAuthor:
    """Draws the rules of tasks."""

    def __init__(self, pipelines: PipelineAuthor) -> None:
        self.pipelines = pipelines
        self.stream = pipelines.stream
        self.has = pipelines.has

    def rules(self, task: Task, script: Script, place: Place, before: list[Task]) -> tuple[Rule, ...] | None:
        if place.is_plain or place.is_undo:
            return None
        rules: list[Rule] = []
        if self.has("skips", 0.12):
            rules.append(self._skip(place))
        if script.fails or self.has("retries", 0.15):
            rules.append(self._retry(task, script, place))
        if self.has("jumps", 0.2):
            rules.append(self._jump(task, place, before))
        if self.has("breaks", 0.15):
            rules.append(Rule(when=compare(NUMBER, ">=", 7), do="break"))
        if self.has("failures", 0.03):
            rules.append(Rule(when=compare(NUMBER, "==", 4), do="fail"))
        if not rules:
            return None
        is_swallowing = self.stream.chance(0.3)
        if not is_swallowing and self.stream.chance(0.7):
            rules.append(Rule(when=IS_ERROR, do="fail"))
        if self.stream.chance(0.7):
            rules.append(Rule(when=None, do="continue"))
        return tuple(rules)

    def _skip(self, place: Place) -> Rule:
        """Before the tool runs, by what is known; or after it, by what it gave."""
        if self.stream.chance(0.5):
            return Rule(when=compare(Operation("%", self.pipelines.value(place, []), Constant(4)), "==", 1), do="skip")
        return Rule(when=compare(NUMBER, "==", 2), do="skip")

    def _retry(self, task: Task, script: Script, place: Place) -> Rule:
        """Mostly of every error, and often enough; sometimes of another error than the one that comes."""
        stream = self.stream
        when: Term = IS_ERROR
        if task.kind == HTTP and stream.chance(0.1):
            when = compare(read("output.http.status"), "==", stream.pick(sorted(ERROR_STATUSES.values())))
        elif stream.chance(0.07):
            when = compare(read("output.error.kind"), "==", stream.pick(ERROR_KINDS))
        attempts = stream.integer(2, 3) if stream.chance(0.12) else len(script.fails) + 1
        if self.pipelines.may_wait and not place.loop and self.has("waits", 0.1):
            return Rule(when=when, do="retry", attempts=max(2, attempts), delay_seconds=LONG_DELAY_SECONDS)
        return Rule(
            when=when,
            do="retry",
            attempts=max(2, attempts),
            backoff=stream.pick(("none", "linear", "exponential")),
            delay_seconds=stream.pick((0.0, 0.01, 0.5, 2.0)),
        )

    def _jump(self, task: Task, place: Place, before: list[Task]) -> Rule:
        """Back to a task before it, or itself; a counter lets it do so a few times."""
        counter = ("iter" if place.loop else "step", f"j_{task.label}")
        another = Operation("+", Read(counter, 0), Constant(1))
        is_wanted = compare(Operation("%", NUMBER, Constant(2)), "==", 0)
        return Rule(
            when=Operation("and", is_wanted, compare(Read(counter, 0), "<", self.stream.integer(1, 2))),
            do="jump",
            to=self.stream.pick([*before, task]).label,
            writes=(Write(path=".".join(counter), term=another),),
        )
