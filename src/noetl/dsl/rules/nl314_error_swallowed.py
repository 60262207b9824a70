"""A task can fail and the pipeline goes on as if it had not.

Without a policy an error fails the step. With a policy the rules decide, and a fallback that continues takes every
error that no rule before it has named: the next task runs without the data it counts on, and the step ends as done.
A rule that names the error (`output.status`, `output.error`, `output.http`, …) and goes on is taken as meant, and so
is one that keeps what happened with `set`, or a later task that looks at it.

Wrong:

    rules:
      - when: "{{ output.status == 'error' and output.http.status == 429 }}"
        then: { do: retry, attempts: 5 }
      - else:
          then: { do: continue }

Right:

    rules:
      - when: "{{ output.status == 'error' and output.http.status == 429 }}"
        then: { do: retry, attempts: 5 }
      - when: "{{ output.status == 'error' }}"
        then: { do: fail }
      - else:
          then: { do: continue }

Spec: TK-06.
"""

from collections.abc import Iterator

import msgspec

from noetl.dsl.conditions import is_condition, reads_of
from noetl.dsl.draft import Draft, Rule, Site, Task
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.flow import FAILED, on_unmatched, possible_rules
from noetl.dsl.nodes import Mapping, scalars
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import said
from noetl.dsl.source import Place
from noetl.expressions import Read

RULE = contract.Rule(code="NL314", name="error-swallowed", spec=("TK-06",), severity=WARNING)

NAMED = """put - when: "{{ output.status == 'error' }}\""""
LOSES_IT = frozenset(("continue", "break", "jump", "skip"))
DATA = frozenset(("data", "ref", "meta"))  # of an output; everything else in it tells of the failure
BOUNDARY = frozenset((Site.STEP_SET, Site.ARC_WHEN, Site.ARC_SET, Site.ARC_ARGS))
GOES_ON = {
    "continue": "goes on",
    "skip": "goes on",
    "jump": "jumps on",
    "break": "ends the pipeline as done",
}


class Swallowing(msgspec.Struct, frozen=True):
    """How an error gets lost: by a rule, or because no rule matches."""

    task: Task
    rule: Rule | None


class Watched(msgspec.Struct):
    """Tasks and steps whose failure some template looks at."""

    labels: set[tuple[str, str]]  # (step, label)
    steps: set[str]  # whose boundary looks at output.status and its like


def check(draft: Draft) -> Iterator[Finding]:
    for task in draft.tasks:
        found = swallowing(draft, task)
        if found:
            yield RULE.at(
                place(found),
                f"{said(task)} {what_happens(found)} after an error that no rule names",
                why=reason(found),
                fix=f"{NAMED} with then: {{ do: fail }} before it, or name the errors that may go on",
            )


def swallowing(draft: Draft, task: Task) -> Swallowing | None:
    """How an error of a task gets lost; None where it does not, or where the author has seen to it."""
    known = draft.prepared.setdefault("swallowings", {})
    if isinstance(known, dict) and id(task) not in known:
        known[id(task)] = find_swallowing(draft, task)
    return known[id(task)] if isinstance(known, dict) else None


def find_swallowing(draft: Draft, task: Task) -> Swallowing | None:
    kind = draft.kind_of(task)
    if not task.rules or kind is None or not kind.can_fail:
        return None
    if not all(is_condition(draft, rule) for rule in task.rules):
        return None
    found = lost(draft, task)
    is_seen = found and (is_watched(draft, found) or is_kept(draft, found))
    return None if is_seen else found


def lost(draft: Draft, task: Task) -> Swallowing | None:
    """Walk the rules with nothing known but that the tool failed."""
    for rule, answer in possible_rules(draft, task, FAILED):
        if answer:
            reads = reads_of(draft, rule.when)
            is_meant = any(tells_failure(read) for read in reads) or is_before_tool(rule, reads)
            return Swallowing(task, rule) if rule.do in LOSES_IT and not is_meant else None
    return None if on_unmatched(task) == "fail" else Swallowing(task, None)


def is_before_tool(rule: Rule, reads: tuple[Read, ...]) -> bool:
    """TK-10: a skip that does not look at the output is asked before the tool runs, so nothing can fail."""
    return rule.do == "skip" and not rule.is_else and not any(read.name == "output" for read in reads)


def tells_failure(read: Read) -> bool:
    """Whether a read looks at more of an output than its data."""
    return read.name == "output" and bool(read.parts) and read.parts[0].key not in DATA


def is_kept(draft: Draft, found: Swallowing) -> bool:
    """Whether `set` keeps what happened, so that something else can look at it."""
    sets = [*found.task.sets, *(found.rule.sets if found.rule else ())]
    texts = [text for one in sets for text in scalars(one.value)]
    return any(tells_failure(read) for text in texts for read in reads_of(draft, text))


def is_watched(draft: Draft, found: Swallowing) -> bool:
    """Whether a later template looks at this task's failure, or the boundary does where this output is the step's."""
    task, step = found.task, found.task.step
    if step is None:
        return False
    marks = watched(draft)
    is_last = task.pipeline[-1] is task or (found.rule is not None and found.rule.do == "break")
    return (step.name, task.label) in marks.labels or (is_last and step.name in marks.steps)


def watched(draft: Draft) -> Watched:
    """All templates that look at a failure, in one pass."""
    found = draft.prepared.get("watched")
    if not isinstance(found, Watched):
        found = draft.prepared["watched"] = Watched(set(), set())
        for text in draft.texts:
            for read in text.template.reads if text.template and text.step else ():
                note(found, text.step.name if text.step else "", text.site, read)
    return found


def note(found: Watched, step: str, site: str, read: Read) -> None:
    if not read.parts or read.parts[0].key in DATA:
        return
    if read.name != "output":
        found.labels.add((step, read.name))
    elif site in BOUNDARY:
        found.steps.add(step)


def place(found: Swallowing) -> Place:
    if found.rule and found.rule.then and found.rule.then.get("do"):
        return found.rule.then.entries["do"].value.place
    policy = found.task.policy
    return policy.entries["rules"].key.place if isinstance(policy, Mapping) else found.task.node.place


def what_happens(found: Swallowing) -> str:
    return GOES_ON[found.rule.do] if found.rule else "goes on"


def reason(found: Swallowing) -> str:
    if found.rule is None:
        return "when no rule matches, the pipeline goes on, after an error too"
    return f"{'else' if found.rule.is_else else 'this rule'} also takes what failed, and does {found.rule.do}"
