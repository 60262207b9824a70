"""A pipeline can jump in a circle in which nothing changes.

A jump back is how a pipeline pages and polls: each round fetches something new or counts on, and the rules look at it.
When the rules of a circle look at nothing that a round changes, the second round goes as the first did, and so does
every one after it, until the limit on jumps ends the run.

Wrong:

    tool:
      - name: fetch_page
        kind: http
        url: https://example.com/items?page={{ iter.page }}
      - name: paginate
        kind: noop
        spec:
          policy:
            rules:
              - when: "{{ iter.has_more }}"
                then: { do: jump, to: fetch_page }
              - else:
                  then: { do: break }

Right:

      - name: fetch_page
        kind: http
        url: https://example.com/items?page={{ iter.page }}
        set:
          iter.has_more: "{{ output.data.has_more }}"

Spec: TK-09, RT-10.
"""

from collections.abc import Iterator

import msgspec

from noetl.dsl.conditions import is_condition, reads_of
from noetl.dsl.draft import Draft, Rule, Task
from noetl.dsl.findings import WARNING, Finding, listed
from noetl.dsl.flow import Flow, Way, flows, possible_rules
from noetl.dsl.paths import components, cyclic_components, shortest
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import owner
from noetl.expressions import Read

RULE = contract.Rule(code="NL322", name="endless-jump", spec=("TK-09", "RT-10"), severity=WARNING)

Path = tuple[str | int, ...]


class Round(msgspec.Struct, kw_only=True):
    """What one round through a circle of tasks looks at, and what it changes."""

    reads: list[Read]
    names: set[str]  # names whose value may be another after a round
    targets: set[Path]  # what set writes, and
    above: set[Path]  # everything that holds it


def check(draft: Draft) -> Iterator[Finding]:
    for flow in flows(draft):
        for circle in cyclic_components(flow.successors, components(flow.successors)):
            back = way_back(flow, circle)
            if back is None or circle[0] not in flow.reached:
                continue
            tasks = [flow.tasks[index] for index in circle]
            if all(is_readable(draft, task) for task in tasks):
                one = one_round(draft, tasks)
                if not any(changes(one, read) for read in one.reads):
                    yield finding(flow, circle, back, one)


def way_back(flow: Flow, circle: list[int]) -> Way | None:
    """A jump of the circle that leads back."""
    inside = set(circle)
    ways = (way for index in circle for way in flow.ways[index])
    return next((way for way in ways if way.is_jump and way.target in inside and way.target <= way.source), None)


def is_readable(draft: Draft, task: Task) -> bool:
    """Whether a task's rules can be judged: its kind is known, and they compile."""
    return task.kind in draft.kinds and all(is_condition(draft, rule) for rule in task.rules)


def one_round(draft: Draft, tasks: list[Task]) -> Round:
    rules = [rule for task in tasks for rule, _ in possible_rules(draft, task)]
    sets = [one for task in tasks for one in task.sets] + [one for rule in rules for one in rule.sets]
    targets: set[Path] = {tuple(one.target.split(".")) for one in sets}
    return Round(
        reads=[read for rule in rules for read in reads_of(draft, rule.when)],
        names=changing_names(draft, tasks, rules),
        targets=targets,
        above={target[:length] for target in targets for length in range(1, len(target) + 1)},
    )


def changing_names(draft: Draft, tasks: list[Task], rules: list[Rule]) -> set[str]:
    """Names that are new each round: outputs where a tool does anything, inputs where a task has any."""
    names = {task.label for task in tasks}
    kinds = [draft.kind_of(task) for task in tasks]
    has_input = any(task.fields for task in tasks)
    sets_previous = any(rule.then and "set_prev" in rule.then.entries for rule in rules)
    if has_input or sets_previous or any(kind is None or kind.can_fail for kind in kinds):
        names |= {"output", "_prev"}
    if has_input:
        names.add("input")
    if any(rule.do == "retry" for rule in rules):
        names.add("_attempt")
    return names


def changes(one: Round, read: Read) -> bool:
    """Whether what a condition reads can be another in the next round."""
    path = read.path
    is_set = path in one.above or any(path[:length] in one.targets for length in range(1, len(path)))
    return read.name in one.names or is_set


def finding(flow: Flow, circle: list[int], back: Way, one: Round) -> Finding:
    reads = dict.fromkeys(".".join(map(str, read.path)) for read in one.reads)
    looked = f"its rules look at {listed(reads)}, which no task of it changes" if reads else "its rules look at nothing"
    there = [] if back.target == back.source else shortest(flow.successors, back.target, back.source, frozenset(circle))
    labels = [flow.tasks[index].label for index in (*(there or [back.target]), back.target)]
    target = back.rule.then.get("to") if back.rule and back.rule.then else None
    return RULE.at(
        target.place if target else flow.tasks[back.source].node.place,
        f'{owner(flow.tasks[0])} can jump back to "{labels[0]}" for ever',
        why=f"{' → '.join(labels)}: {looked}, so every round goes as the one before",
        fix="set what the rules look at before the jump, or count rounds and break",
    )
