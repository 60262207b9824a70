"""The playbook has `vars` at its root, which the language does not have.

Values that are given once and never change are `workload`; a request may override them. Values that change while the
playbook runs are written with `set`: to `ctx` when later steps read them, to `iter` when they belong to one iteration
of a loop.

Wrong:

    vars:
      page_size: 100

Right:

    workload:
      page_size: 100

Spec: PB-03, PB-09.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL113", name="root-vars", spec=("PB-03", "PB-09"))


def check(draft: Draft) -> Iterator[Finding]:
    entry = draft.root.entries.get("vars")
    if entry:
        has_workload = "workload" in draft.root.entries
        yield RULE.at(
            entry.key.place,
            'a playbook has no "vars" at its root',
            why="what never changes is workload; what changes is ctx (across steps) or iter (in a loop), through set",
            fix="move its values into workload and read them as {{ workload.<name> }}"
            if has_workload
            else "call it workload and read its values as {{ workload.<name> }}",
        )
