"""Parallel iterations share a write with set_shared, and no reducer says how to merge it.

`set_shared` of older playbooks announces that iterations of a parallel loop write one value together. It becomes a
write to `step.<key>`; the merging must be declared, as a reducer for that path on the loop.

Wrong:

    loop:
      spec: { mode: parallel }
      in: "{{ workload.rows }}"
      iterator: row
    tool:
      - count:
          kind: noop
          eval:
            - else:
                do: continue
                set_shared: { rows: 1 }

Right:

    loop:
      spec:
        mode: parallel
        policy:
          reducers: { step.rows: sum }
      in: "{{ workload.rows }}"
      iterator: row

Spec: PB-10, SC-13.
"""

from bisect import bisect_right
from collections.abc import Iterator

from noetl.dsl.dialects.tree import Mark
from noetl.dsl.draft import Draft, Step
from noetl.dsl.findings import Finding, listed
from noetl.dsl.rules import contract
from noetl.dsl.rules.loop_nests import is_parallel, reduced_keys
from noetl.dsl.shapes import REDUCERS

RULE = contract.Rule(code="NL410", name="shared-write-without-reducer", spec=("PB-10", "SC-13"))


def check(draft: Draft) -> Iterator[Finding]:
    marks = [mark for mark in draft.marks if mark.name == "set-shared"]
    starts = [step.node.place[1:3] for step in draft.steps] if marks else []
    for mark in marks:
        at = bisect_right(starts, mark.place[1:3]) - 1
        if at >= 0:
            yield from unmerged(draft.steps[at], mark)


def unmerged(step: Step, mark: Mark) -> Iterator[Finding]:
    key = f"step.{mark.facts.get('key', '')}"
    if is_parallel(step) and key not in reduced_keys(step):
        yield RULE.at(
            mark.place,
            f'iterations of step "{step.name}" share {key}, and no reducer merges it',
            why=f"they run at once, so their values must become one: {listed(REDUCERS)}",
            fix=f"add loop.spec.policy.reducers: {{ {key}: … }}",
        )
