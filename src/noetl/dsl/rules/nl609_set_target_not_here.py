"""A set writes to a scope that cannot be written in this place, or that does not exist.

Every target begins with its scope: `ctx.` for the execution, `step.` for this run of the step, `iter.` for this
iteration. An arc writes `ctx` only, because its step is over. A step's own set writes `ctx` and `step`, because its
iterations are over. `iter` can be written by tasks and rules of a step with a loop.

Wrong:

    next:
      arcs:
        - step: store
          set:
            step.page: 2
            last_status: "{{ output.status }}"

Right:

    next:
      arcs:
        - step: store
          set:
            ctx.page: 2
            ctx.last_status: "{{ output.status }}"

Spec: SC-09.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Assignment, Draft, Site
from noetl.dsl.findings import Finding, near_miss
from noetl.dsl.rules import contract
from noetl.dsl.rules.nl608_write_to_read_only import read_only_head
from noetl.dsl.rules.sets import CALLED, SCOPES, writable

RULE = contract.Rule(code="NL609", name="set-target-not-here", spec=("SC-09",))

SAME_AS = {"context": "ctx", "execution": "ctx", "vars": "step", "var": "step", "loop": "iter", "iteration": "iter"}
WHY_NOT = {
    Site.ARC_SET: "an arc is chosen when its step is over, so it writes ctx only",
    Site.STEP_SET: "a step's set is written when its iterations are over",
}


def check(draft: Draft) -> Iterator[Finding]:
    for write in draft.assignments:
        scope = write.scope
        if not scope or read_only_head(write.target):
            continue
        if scope not in SCOPES:
            yield unknown_scope(write)
        elif scope not in writable(write.site, write.step, write.task):
            yield wrong_place(write)


def unknown_scope(write: Assignment) -> Finding:
    scopes = writable(write.site, write.step, write.task)
    miss = SAME_AS.get(write.scope) or near_miss(write.scope, SCOPES) if "." in write.target else None
    rest = write.target.partition(".")[2] if miss else write.target
    advice = f'write "{scopes[-1] if scopes[-1] == "iter" else scopes[0]}.{rest}"'
    return RULE.at(
        write.key.place,
        f'"{write.target}" does not begin with a scope',
        why=f"{CALLED[write.site]} writes {', '.join(f'{scope}.*' for scope in scopes)} here",
        fix=f'did you mean "{miss}.{rest}"?' if miss in scopes else advice,
    )


def wrong_place(write: Assignment) -> Finding:
    rest = write.target.partition(".")[2] or "<name>"
    return RULE.at(
        write.key.place,
        f'"{write.target}" cannot be written in {CALLED[write.site]}',
        why=reason(write),
        fix=f'write "{"step" if write.scope == "iter" and write.site != Site.ARC_SET else "ctx"}.{rest}"',
    )


def reason(write: Assignment) -> str:
    if write.scope == "iter" and write.step and not write.step.has_loop:
        return f'iter exists only inside an iteration, and step "{write.step.name}" has no loop'
    if write.task and write.task.is_compensation:
        return "a compensation runs when the step's iterations are over"
    return WHY_NOT.get(write.site, "iter exists only inside an iteration")
