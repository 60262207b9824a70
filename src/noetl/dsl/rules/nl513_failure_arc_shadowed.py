"""An arc for failures comes after one that takes every failure, so it never has a turn.

In an exclusive router the first arc that matches is taken. An arc that matches `step.failed` without a further
condition takes them all; put the particular cases before it.

Wrong:

    next:
      arcs:
        - step: report_failure
          when: "{{ event.name == 'step.failed' }}"
        - step: wait_and_retry
          when: "{{ output.error.kind == 'rate_limit' }}"

Right:

    next:
      arcs:
        - step: wait_and_retry
          when: "{{ output.error.kind == 'rate_limit' }}"
        - step: report_failure
          when: "{{ event.name == 'step.failed' }}"

Spec: RT-02, RT-11.
"""

from collections.abc import Iterator

from noetl.dsl.boundaries import STEP_FAILED
from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.dead_arcs import routed_arcs

RULE = contract.Rule(code="NL513", name="failure-arc-shadowed", spec=("RT-02", "RT-11"), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    for routed in routed_arcs(draft):
        if routed.is_dead and routed.is_shadowed_failure_arc:
            first = routed.firing.hidden_by[STEP_FAILED].arc.target_name
            target = routed.arc.target_name
            yield RULE.at(
                (routed.arc.target or routed.arc.node).place,
                f'the arc from "{routed.step.name}" to "{target}" never fires: failures all go to "{first}"',
                why=f'the router is exclusive, and on step.failed the arc to "{first}" before it always matches',
                fix=f'put it before the arc to "{first}"',
            )
