"""An arc that looks as if it should handle failures has no `when`, so it is only taken on success.

A step that fails is not routed by arcs without `when`: only an arc that asks for the failure handles it, and a failure
that no arc handles fails the workflow. An arc to a step called `on_error` at the end of a list reads like a catch-all,
but it is the fallback of the successes.

Wrong:

    next:
      arcs:
        - step: store
          when: "{{ output.data.rows > 0 }}"
        - step: on_error

Right:

    next:
      arcs:
        - step: store
          when: "{{ output.data.rows > 0 }}"
        - step: on_error
          when: "{{ event.name == 'step.failed' }}"

Spec: RT-11.
"""

import re
from collections.abc import Iterator

from noetl.dsl.boundaries import STEP_FAILED
from noetl.dsl.draft import Draft
from noetl.dsl.findings import INFO, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.dead_arcs import Routed, routed_arcs

RULE = contract.Rule(code="NL511", name="unguarded-failure-arc", spec=("RT-11",), severity=INFO)

SPEAKS_OF_FAILURE = re.compile(
    r"(?:^|[_-])(?:error|errors|fail|failed|failure|failures|catch|rescue|rollback)(?:$|[_-])"
)


def check(draft: Draft) -> Iterator[Finding]:
    for routed in routed_arcs(draft):
        if is_meant_for_failure(routed):
            yield RULE.at(
                (routed.arc.target or routed.arc.node).place,
                f'the arc to "{routed.arc.target_name}" is not taken when "{routed.step.name}" fails',
                why="an arc without `when` matches success only, and no other arc here handles a failure",
                fix="if it should, write when: \"{{ event.name == 'step.failed' }}\"",
            )


def is_meant_for_failure(routed: Routed) -> bool:
    """Named for failures, the last of several, without a guard, and nothing else takes them."""
    is_last_of_several = len(routed.others) > 1 and routed.others[-1] is routed.firing
    if not is_last_of_several or routed.arc.when is not None or not routed.firing.can_fire:
        return False
    if not SPEAKS_OF_FAILURE.search(routed.arc.target_name) or SPEAKS_OF_FAILURE.search(routed.step.name):
        return False
    answers = [firing.fires.get(STEP_FAILED, False) for firing in routed.others]
    return STEP_FAILED in routed.firing.guard and all(answer is False for answer in answers)
