"""An arc leads to a step that the workflow does not have.

The target of an arc is the name of a step, written out. A name that no step has would end the branch without a word,
so it is refused before anything runs.

Wrong:

    - step: fetch
      tool: { kind: http, url: "https://example.com/orders" }
      next:
        arcs:
          - step: stroe
    - step: store
      tool: { kind: noop }

Right:

          - step: store

Spec: RT-01.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Arc, Draft
from noetl.dsl.findings import Finding, listed, near_miss
from noetl.dsl.nodes import shorten
from noetl.dsl.routers import is_name
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL501", name="unknown-step", spec=("RT-01",))

ENDINGS = frozenset(("end", "ends", "stop", "done", "finish", "exit", "terminate", "null", "none"))
NEAR_MISSES_MAX = 50  # a name is compared with every step; beyond this many names the list must do


def check(draft: Draft) -> Iterator[Finding]:
    names = {step.name: None for step in draft.steps}
    advice: dict[str, str] = {}
    for arc in draft.arcs:
        if arc.target and is_name(arc.target) and arc.target_name not in names:
            if arc.target_name not in advice:
                advice[arc.target_name] = advise(arc, list(names), len(advice) < NEAR_MISSES_MAX)
            yield RULE.at(
                arc.target.place,
                f'"{arc.step.name}" leads to "{shorten(arc.target_name)}", but there is no such step',
                why=f"an arc names a step of this workflow: {listed(names)}",
                fix=advice[arc.target_name],
            )


def advise(arc: Arc, names: list[str], may_compare: bool) -> str:
    miss = near_miss(arc.target_name, names) if may_compare else None
    if miss:
        return f'did you mean "{miss}"?'
    if arc.target_name.lower() in ENDINGS:
        return f'a branch ends where no arc matches: remove this arc, or add a step "{arc.target_name}"'
    return f'name one of these steps, or add a step "{shorten(arc.target_name)}"'
