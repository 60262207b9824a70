"""Iterations that run at once write the same ctx key, and nothing says how their values become one.

In a parallel loop each iteration sees ctx as it was when the loop began, plus its own writes; at the end they are
merged in the order of the list. If two iterations wrote different values to one key, the step fails (ctx_conflict),
unless a reducer for that key says what to do: sum, min, max, count, append, merge, first, last or union.

Wrong:

    loop:
      in: "{{ workload.cities }}"
      iterator: city
      spec: { mode: parallel }
    tool:
      kind: http
      url: https://example.com/{{ iter.city }}
      set:
        ctx.population: "{{ output.data.population }}"

Right:

    loop:
      in: "{{ workload.cities }}"
      iterator: city
      spec:
        mode: parallel
        policy:
          reducers: { ctx.population: sum }

Spec: SC-12.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding, listed
from noetl.dsl.rules import contract
from noetl.dsl.rules.loop_nests import is_parallel, iteration_writes, reduced_keys
from noetl.dsl.shapes import REDUCERS

RULE = contract.Rule(code="NL405", name="ctx-write-in-parallel-loop", spec=("SC-12",), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    told: set[int] = set()
    for step in draft.steps:
        if not is_parallel(step):
            continue
        reduced = reduced_keys(step)
        for one in iteration_writes(draft, step):
            if one.scope == "ctx" and one.target not in reduced and id(one) not in told:
                told.add(id(one))
                yield RULE.at(
                    one.key.place,
                    f'iterations of step "{step.name}" run at once and each writes {one.target}',
                    why=f"different values for one key fail the step, unless a reducer merges them: {listed(REDUCERS)}",
                    fix=f"add loop.spec.policy.reducers: {{ {one.target}: … }}, or write iter.* and use output.data",
                )
