"""`result_ref` is the old name of `output.ref`.

The reference to a payload that is kept outside the event log is `output.ref`. `outcome.result_ref` still works and
means the same.

Wrong:

    set:
      ctx.orders_ref: "{{ outcome.result_ref }}"

Right:

    set:
      ctx.orders_ref: "{{ output.ref }}"

Spec: DI-02, DI-04.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.marks import marked, respelt

RULE = contract.Rule(code="NL907", name="deprecated-result-ref", spec=("DI-02", "DI-04"), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    for mark in marked(draft, "result-ref"):
        yield respelt(RULE, mark, "output.ref is the only name of the reference")
