"""`outcome` is the old name of `output`.

What a task or a step gives is called `output`, with the same fields: status, data, ref, error, meta and the helper of
its kind. `outcome` still works and means the same.

Wrong:

    when: "{{ outcome.status == 'error' and outcome.http.status == 429 }}"

Right:

    when: "{{ output.status == 'error' and output.http.status == 429 }}"

Spec: DI-02, DI-04.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.marks import marked, respelt

RULE = contract.Rule(code="NL902", name="deprecated-outcome", spec=("DI-02", "DI-04"), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    for mark in marked(draft, "outcome"):
        yield respelt(RULE, mark, "what a boundary is given is called input, what it gives output")
