"""Where control can go inside a pipeline: which rules can answer, and which task comes after which.

Pure facts over one pipeline, asked for by NL313, NL314, NL321 and NL322. What cannot be known is possible.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from noetl.dsl.conditions import NOTHING, Known, truth
from noetl.dsl.draft import Draft, Rule, Task
from noetl.dsl.nodes import Mapping
from noetl.dsl.paths import reach
from noetl.dsl.shapes import DIRECTIVES
from noetl.expressions import SomeMapping

GOES_ON = frozenset(("continue", "skip"))
STOPS = frozenset(("fail", "retry"))  # retries that are used up fail (TK-08)
FAILED: Known = {("output", "status"): "error", ("output", "error"): SomeMapping()}  # TK-04: an error has its object


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """A way from one task to another, by their places in the pipeline."""

    source: int
    target: int
    rule: Rule | None  # None: no rule matched, or there is no policy

    @property
    def is_jump(self) -> bool:
        return self.rule is not None and self.rule.do == "jump"


class Flow(msgspec.Struct, kw_only=True):
    """All ways of a pipeline, and the tasks that can be reached from the first."""

    tasks: list[Task]
    ways: list[list[Way]]  # from each task
    successors: list[list[int]]
    reached: set[int]


def possible_rules(draft: Draft, task: Task, known: Known = NOTHING) -> Iterator[tuple[Rule, bool | None]]:
    """The rules that can answer, each with whether it certainly does; after a certain one none can."""
    for rule in task.rules:
        answer = truth(draft, rule, known)
        if answer is not False:
            yield rule, answer
        if answer:
            return


def can_be_unmatched(draft: Draft, task: Task, known: Known = NOTHING) -> bool:
    """Whether no rule of a policy may match."""
    return not any(answer for _, answer in possible_rules(draft, task, known))


def on_unmatched(task: Task) -> str:
    """What a policy does when no rule matched (TK-06, TK-16)."""
    return (task.policy.text("on_unmatched") or "continue") if isinstance(task.policy, Mapping) else "continue"


def can_end_with_error(draft: Draft, tasks: list[Task]) -> bool:
    """Whether a pipeline can end as done while the output of the last task run is an error (SC-11).

    Asked from the end: a task that goes on after an error matters only if nothing need run after it.
    """
    is_last = True
    for task in reversed(tasks):
        ways = ways_after_error(draft, task)
        if "break" in ways or (is_last and not ways.isdisjoint(GOES_ON)) or not ways <= frozenset(DIRECTIVES):
            return True
        is_last = is_last and any(rule.do == "skip" for rule in task.rules)
    return False


def ways_after_error(draft: Draft, task: Task) -> set[str]:
    """What the policy of a task can do after an error; of a workbook's task, its own policy comes before."""
    found: set[str] = set()
    kind = draft.kind_of(task)
    called = task.called
    inner = draft.workbook.get(called.text) if called else None
    if inner is not None and inner.policy is not None:
        found |= ways_by_rules(draft, inner) - STOPS
    if task.policy is not None and (kind is None or kind.can_fail):
        found |= ways_by_rules(draft, task)
    return found


def ways_by_rules(draft: Draft, task: Task) -> set[str]:
    found = {rule.do for rule, _ in possible_rules(draft, task, FAILED)}
    is_open = can_be_unmatched(draft, task, FAILED) and on_unmatched(task) != "fail"
    return found | {"continue"} if is_open else found


def flow(draft: Draft, tasks: list[Task]) -> Flow | None:
    """The flow of one pipeline; None where it means nothing, because a label is double or a jump leads nowhere."""
    places = {task.label: index for index, task in enumerate(tasks)}
    if len(places) < len(tasks):
        return None
    ways: list[list[Way]] = []
    for task in tasks:
        found = ways_from(draft, task, len(ways), places)
        if found is None:
            return None
        ways.append([way for way in found if way.target < len(tasks)])
    successors = [[way.target for way in found] for found in ways]
    return Flow(tasks=tasks, ways=ways, successors=successors, reached=reach(successors, (0,)))


def ways_from(draft: Draft, task: Task, index: int, places: dict[str, int]) -> list[Way] | None:
    """The ways out of one task; None where a rule is not whole."""
    found: list[Way] = []
    is_certain = False
    for rule, answer in possible_rules(draft, task):
        is_certain = bool(answer)
        target = rule.then.text("to") if rule.then and rule.do == "jump" else None
        if rule.do not in DIRECTIVES or (rule.do == "jump" and target not in places):
            return None
        if rule.do in GOES_ON or target in places:
            found.append(Way(source=index, target=places[target] if target else index + 1, rule=rule))
    if not is_certain and on_unmatched(task) != "fail":
        found.append(Way(source=index, target=index + 1, rule=None))
    return found


def flows(draft: Draft) -> list[Flow]:
    """The flow of every pipeline that has one; made once."""
    found = draft.prepared.get("flows")
    if not isinstance(found, list):
        pipelines = [tasks for step in draft.steps for tasks in (step.tasks, step.compensation) if tasks]
        made = [flow(draft, tasks) for tasks in pipelines]
        found = draft.prepared["flows"] = [one for one in made if one]
    return found
