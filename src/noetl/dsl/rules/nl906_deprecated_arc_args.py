"""An arc hands values over with `args`.

Values for the steps to come are written with `set`: on the step for every way out of it, on the arc for that way only.
The step that needs one reads it from `ctx`, best in its own `input`. `args` still works. It is not rewritten by
`--fix`: where two tokens are on their way to one step at once, each has its own args, while `ctx` is one for all.

Wrong:

    next:
      arcs:
        - step: store
          args: { page: "{{ output.data.page }}" }

Right:

    next:
      arcs:
        - step: store
          set: { ctx.page: "{{ output.data.page }}" }
    …
    - step: store
      input: { page: "{{ ctx.page }}" }

Spec: DI-02, DI-04, PB-11, RT-04.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.marks import marked

RULE = contract.Rule(
    code="NL906", name="deprecated-arc-args", spec=("DI-02", "DI-04", "PB-11", "RT-04"), severity=WARNING
)


def check(draft: Draft) -> Iterator[Finding]:
    for mark in marked(draft, "arc-args"):
        step = mark.facts.get("step", "")
        yield RULE.at(
            mark.place,
            f'the arc to "{step}" hands values over with args',
            why="next routes; values for the steps to come are written with set",
            fix=f'write set: {{ctx.<name>: …}} here, and input: {{<name>: "{{{{ ctx.<name> }}}}"}} on step "{step}"',
            edits=mark.edits,
        )
