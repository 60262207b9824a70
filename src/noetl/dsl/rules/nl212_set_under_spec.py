"""A `set` stands under `spec`.

`set` says what is written and is a key of its own: on a step, on a task, on an arc, or in the `then` of a task's rule.
`spec` says how something runs; nothing is written from there.

Wrong:

    - step: fetch
      tool: { kind: http, url: https://example.com/items }
      spec:
        set: { ctx.page: "{{ output.data }}" }

Right:

    - step: fetch
      tool: { kind: http, url: https://example.com/items }
      set: { ctx.page: "{{ output.data }}" }

Spec: DI-04, SC-09, TK-12.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.misplaced import SET, Misplaced, misplaced

RULE = contract.Rule(code="NL212", name="set-under-spec", spec=("DI-04", "SC-09", "TK-12"))


def check(draft: Draft) -> Iterator[Finding]:
    for one in misplaced(draft, SET):
        yield RULE.at(
            one.entry.key.place,
            f"the {one.where} of {one.owner} has a set, which writes nothing there",
            why="set stands on a step, a task or an arc, or in the then of a task's rule; spec says how something runs",
            fix=fix(one),
        )


def fix(one: Misplaced) -> str:
    if one.owner == "the executor":
        return "move it to the first step"
    return f"move it out of spec, beside it, on {one.owner}"
