"""Which names a template may read in each place: a table, and the reason where a name is refused.

| place | who evaluates it, and when | reserved names | bare names |
|---|---|---|---|
| admission | server, before the step is scheduled | workload ctx input execution_id event | steps, workload keys |
| loop.in | server, before the (inner) loop | workload ctx input execution_id output; inner: iter | outer iterators, … |
| step input | worker, once per step run | workload ctx input execution_id output | steps, workload keys |
| tool field | worker, before the tool runs | all but event | labels, iterators, steps, workload keys |
| rule, task set | worker, after the tool ran | all but event and keychain | the same |
| step set | worker at the pipeline's end; server after a loop | workload ctx input execution_id step output | labels |
| arc | server, at the step's boundary | workload ctx input execution_id step output event | steps, workload keys |
| keychain entry | server, before the workflow | workload execution_id | workload keys |

Bare names come after every reserved name, in the order labels, iterators, steps, workload keys (TP-06). The checker
reads this table, and so does whoever binds names at run time.
"""

from __future__ import annotations

import msgspec

from noetl.dsl.draft import Draft, Loop, Site, Step, Task, Text

EVERYWHERE = frozenset(("workload", "execution_id"))
REQUEST = EVERYWHERE | {"ctx", "input"}
PIPELINE = frozenset(("step", "output", "_prev", "_task", "_attempt", "_key"))
ARC = REQUEST | {"step", "output", "event"}
RULE = REQUEST | PIPELINE
RESERVED = RULE | {"keychain", "iter", "event"}
OLD_NAMES = frozenset(("args", "outcome", "result_ref", "vars"))  # of older surfaces; nothing new may be called so


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """What can be read in one place, loops aside."""

    called: str  # in a message: "… cannot be read in <called>"
    names: frozenset[str]
    when: str  # who evaluates it and when, as a reason
    is_on_server: bool = False
    is_in_pipeline: bool = False  # task labels and, in a loop, iter are there


def _at_arc(called: str) -> Where:
    return Where(
        called=called, names=ARC, when="arcs are evaluated once, when the whole step has ended", is_on_server=True
    )


def _in_pipeline(called: str, when: str, *, more: frozenset[str] = frozenset()) -> Where:
    return Where(called=called, names=RULE | more, when=when, is_in_pipeline=True)


SITES: dict[str, Where] = {
    Site.ADMIT: Where(
        called="an admission rule",
        names=REQUEST | {"event"},
        when="admission is decided before the step runs",
        is_on_server=True,
    ),
    Site.LOOP_IN: Where(
        called="loop.in",
        names=REQUEST | {"output"},
        when="the collection is made before its iterations begin",
        is_on_server=True,
    ),
    Site.STEP_INPUT: Where(
        called="a step's input",
        names=REQUEST | {"output"},
        when="a step's input is made once, before its loop and its tasks",
    ),
    Site.TASK_FIELD: _in_pipeline("a tool field", "it is rendered before the tool runs", more=frozenset({"keychain"})),
    Site.RULE_WHEN: _in_pipeline("a rule", "rules are tried when the task has answered"),
    Site.RULE_DELAY: _in_pipeline("a retry delay", "it is rendered when the task has answered"),
    Site.RULE_SET: _in_pipeline("a rule's set", "it is rendered when the task has answered"),
    Site.TASK_SET: _in_pipeline("a task's set", "it is rendered when the task has answered"),
    Site.STEP_SET: Where(
        called="a step's set",
        names=REQUEST | {"step", "output"},
        when="a step's set is written once, when the whole step has ended",
    ),
    Site.ARC_WHEN: _at_arc("an arc's condition"),
    Site.ARC_SET: _at_arc("an arc's set"),
    Site.ARC_ARGS: _at_arc("an arc's args"),
    Site.ARC_SPEC: _at_arc("an arc's spec"),
    Site.CREDENTIAL: Where(
        called="a keychain entry",
        names=EVERYWHERE,
        when="credentials are resolved before the workflow starts",
        is_on_server=True,
    ),
}


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """All that can be read in one place of one playbook."""

    scopes: frozenset[str]
    labels: dict[str, Task]
    iterators: dict[str, str]  # bare name → qualified form: city → iter.parent.city
    has_steps: bool  # names of steps that have run


def is_on_server(text: Text) -> bool:
    """Whether the server evaluates a template; a step's set only after a loop (SC-11)."""
    return SITES[text.site].is_on_server or (text.site == Site.STEP_SET and has_loop(text.step))


def has_loop(step: Step | None) -> bool:
    return bool(step and step.has_loop)


def names_at(text: Text) -> Names:
    """The names that a template may read where it stands."""
    where, labels, loops = SITES[text.site], labels_at(text), loops_around(text)
    return Names(
        scopes=where.names | {"iter"} if loops or is_called_anywhere(text) else where.names,
        labels=labels,
        iterators=qualified(loops),
        has_steps=text.site != Site.CREDENTIAL,
    )


def labels_at(text: Text) -> dict[str, Task]:
    """The tasks whose output a template may read: of its own pipeline, or of the one that has just ended."""
    if text.task and SITES[text.site].is_in_pipeline:
        return {task.label: task for task in text.task.pipeline}
    if text.site == Site.STEP_SET and text.step and not text.step.has_loop:
        return {task.label: task for task in text.step.tasks}
    return {}


def loops_around(text: Text) -> list[Loop]:
    """The loops whose iteration a template stands in, outermost first."""
    if text.site == Site.LOOP_IN:
        return outer_loops(text.loop)
    is_inside = SITES[text.site].is_in_pipeline and text.step and text.task and not text.task.is_compensation
    return text.step.loops if is_inside and text.step else []


def outer_loops(loop: Loop | None) -> list[Loop]:
    found: list[Loop] = []
    while loop and loop.outer:
        found.insert(0, loop.outer)
        loop = loop.outer
    return found


def is_called_anywhere(text: Text) -> bool:
    """A workbook task runs in its caller's place, which may be inside a loop."""
    return text.task is not None and text.step is None


def qualified(loops: list[Loop]) -> dict[str, str]:
    """The iterators' names with the way to each (SC-04); of two equal names the inner one counts."""
    found: dict[str, str] = {}
    for depth, loop in enumerate(reversed(loops)):
        if loop.iterator:
            found.setdefault(loop.iterator.text, f"iter{'.parent' * depth}.{loop.iterator.text}")
    return found


def workload_keys(draft: Draft) -> frozenset[str]:
    """The top-level keys of the workload's defaults."""
    return frozenset(draft.workload.entries) if draft.workload else frozenset()


class Refusal(msgspec.Struct, frozen=True):
    """Why a reserved name cannot be read in a place, and what to write instead."""

    why: str
    fix: str


ITERATION_GONE = Refusal(
    "iter ends with its iteration, and {when}",
    "read output.data, the list of what the iterations gave; or keep the value with set: ctx.<name> in a task",
)
ITERATION_NOT_BEGUN = Refusal(
    "iter exists only inside an iteration, and {when}",
    "read the collection itself, or move this into a task of the step",
)
NO_LOOP = Refusal(
    'iter exists only inside an iteration, and step "{step}" has no loop',
    "give the step a loop, or keep the value in step.<name> with set",
)
NO_RUN_YET = Refusal(
    "step.* belongs to one run of a step, and {when}",
    "keep the value in ctx.<name> with set, in a step before this one",
)
NO_OUTPUT_YET = Refusal(
    "{when}, so there is no output yet", "read event, or write what it needs to ctx in a step before"
)
ONLY_IN_TASKS = Refusal(
    "{name} belongs to one task of a pipeline; {when}",
    "read output.data, what the last task gave",
)
NO_EVENT = Refusal("event is what arcs and admission rules look at; {when}", "read output.status or output.error")
TOO_EARLY = Refusal("{when}: only workload and execution_id are there", "put the value into workload")

REFUSALS: dict[tuple[str, str], Refusal] = {
    ("output", Site.ADMIT): NO_OUTPUT_YET,
    ("iter", Site.ADMIT): ITERATION_NOT_BEGUN,
    ("iter", Site.LOOP_IN): ITERATION_NOT_BEGUN,
    ("iter", Site.STEP_INPUT): ITERATION_NOT_BEGUN,
    ("step", Site.ADMIT): NO_RUN_YET,
    ("step", Site.LOOP_IN): NO_RUN_YET,
    ("step", Site.STEP_INPUT): NO_RUN_YET,
}
BY_NAME: dict[str, Refusal] = {"iter": ITERATION_GONE, "event": NO_EVENT}


def refusal(name: str, text: Text) -> Refusal:
    """Why a reserved name is refused where this template stands."""
    where = SITES[text.site]
    found = REFUSALS.get((name, text.site)) or BY_NAME.get(name, ONLY_IN_TASKS)
    if text.site == Site.CREDENTIAL:
        found = TOO_EARLY
    elif name == "iter" and text.step and not text.step.has_loop:
        found = NO_LOOP
    facts = {"name": name, "when": when_of(text, where), "step": text.step.name if text.step else ""}
    return Refusal(found.why.format(**facts), found.fix.format(**facts))


def when_of(text: Text, where: Where) -> str:
    if text.task and text.task.is_compensation:
        return "a compensation runs when the whole step is over"
    return where.when
