"""An arc can never fire: whatever happens, its guard is false or another arc is taken first.

A step ends with `step.done` or `step.failed`; one with a loop ends with `loop.done` or `step.failed`. Its arcs are
looked at then, and at no other event. In an exclusive router the first arc that matches is taken, so nothing after an
arc that always matches has a turn. An arc without `when` matches success only: to handle a failure, an arc has to ask
for it.

Wrong:

    - step: fetch_all
      loop: { in: "{{ workload.urls }}", iterator: url }
      tool: { kind: http, url: "{{ iter.url }}" }
      next:
        arcs:
          - step: store
            when: "{{ event.name == 'step.done' }}"

Right:

          - step: store
            when: "{{ event.name == 'loop.done' }}"

Spec: RT-02, RT-03, RT-11, RT-10.
"""

import re
from collections.abc import Iterator

from noetl.dsl.boundaries import LOOP_DONE, STEP_DONE, STEP_FAILED
from noetl.dsl.conditions import reads_failure
from noetl.dsl.draft import Draft
from noetl.dsl.findings import ERROR, WARNING, Finding
from noetl.dsl.net import net_of
from noetl.dsl.nodes import shorten
from noetl.dsl.rules import contract
from noetl.dsl.rules.comparisons import Compared
from noetl.dsl.rules.dead_arcs import Routed, reasons, routed_arcs
from noetl.dsl.rules.nl328_impossible_output_value import impossible_statuses, meant_status

RULE = contract.Rule(
    code="NL505", name="arc-never-fires", spec=("RT-02", "RT-03", "RT-11", "RT-10"), severity=WARNING, also=(ERROR,)
)

SPEAKS_OF_FAILURE = re.compile(r"fail|error|abort|exception", re.IGNORECASE)
FAILURE_GUARD = "when: \"{{ event.name == 'step.failed' }}\""


def check(draft: Draft) -> Iterator[Finding]:
    for routed in routed_arcs(draft):
        for event in routed.unknown_events:
            yield unknown_event(draft, routed, event)
        if routed.is_dead and not routed.is_shadowed_failure_arc:
            yield never_fires(draft, routed)


def unknown_event(draft: Draft, routed: Routed, event: Compared) -> Finding:
    ends = list(routed.firing.guard)
    meant = ends[-1] if SPEAKS_OF_FAILURE.search(event.name) else ends[0]
    return RULE.at(
        event.place,
        f'no step ends with the event "{shorten(event.name)}", so this never holds',
        why=f'arcs are looked at when a step has ended; "{routed.step.name}" ends with {" or ".join(ends)}',
        fix=f'did you mean "{meant}"?',
        severity=WARNING if draft.is_upstream or routed.firing.can_fire else ERROR,
    )


def never_fires(draft: Draft, routed: Routed) -> Finding:
    wrong_event = event_of_another_step(routed)
    if wrong_event:
        return other_boundary(draft, routed, wrong_event)
    arc = routed.arc
    is_guard_to_blame = arc.when is not None and not routed.firing.hidden_by
    blamed = arc.when if is_guard_to_blame else arc.target
    return RULE.at(
        (blamed or arc.node).place,
        f'the arc from "{routed.step.name}" to "{arc.target_name}" never fires',
        why=reasons(routed) + consequence(draft, routed),
        fix=advise(routed),
    )


def event_of_another_step(routed: Routed) -> Compared | None:
    """The success event the guard asks for, if that is one which only steps with a loop, or without one, end with."""
    if routed.firing.hidden_by:
        return None
    foreign = {STEP_DONE, LOOP_DONE} - routed.firing.guard.keys()
    return next((event for event in routed.events if event.name in foreign), None)


def other_boundary(draft: Draft, routed: Routed, event: Compared) -> Finding:
    success = next(iter(routed.firing.guard))
    has = "has a loop" if success == LOOP_DONE else "has no loop"
    ends = " or ".join(routed.firing.guard)
    return RULE.at(
        event.place,
        f'the arc to "{routed.arc.target_name}" waits for {event.name}, which "{routed.step.name}" never ends with',
        why=f'"{routed.step.name}" {has} and ends with {ends}{consequence(draft, routed)}',
        fix=f"write {success}",
    )


def consequence(draft: Draft, routed: Routed) -> str:
    """The step that is lost with the arc, if nothing else leads to it."""
    net = net_of(draft)
    target = routed.arc.target_name
    return f', so "{target}" is never reached' if net and net.numbers[target] not in net.reached else ""


def advise(routed: Routed) -> str:
    firing, hiders = routed.firing, routed.firing.hidden_by
    wrong = next(impossible_statuses(firing.text), None) if firing.text else None
    if wrong and not hiders:
        return f"output.status is ok or error: {meant_status(wrong)}"
    if (
        STEP_FAILED in firing.guard
        and routed.arc.when is None
        and any(hider.arc.when is not None for hider in hiders.values())
    ):
        return f"to handle failures with it, write {FAILURE_GUARD}; otherwise remove it"
    if hiders:
        first = next(iter(hiders.values())).arc
        cure = "let their conditions differ" if first.when else f'give the arc to "{first.target_name}" a `when`'
        return f"{cure}, or put this one before it; to take both, write next.spec: {{ mode: inclusive }}"
    if STEP_FAILED not in firing.guard and firing.template and reads_failure(firing.template):
        return f'remove the arc: "{routed.step.name}" has no tool, so it cannot fail'
    return "let its `when` depend on something that can come true, or remove the arc"
