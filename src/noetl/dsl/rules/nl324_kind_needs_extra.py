"""A kind's library is not installed here.

NoETL installs light; what only some kinds need comes as an extra. Without it the playbook is still right, and a worker
that has the extra can run it, but this machine cannot.

Wrong:

    $ pip install noetl
    $ noetl run report.yaml        # a playbook with kind: duckdb

Right:

    $ pip install "noetl[duckdb]"
    $ noetl run report.yaml

Spec: TL-01, TL-02.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import kind_place

RULE = contract.Rule(code="NL324", name="kind-needs-extra", spec=("TL-01", "TL-02"), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    said: set[str] = set()
    for task in draft.tasks:
        kind = draft.kind_of(task)
        if kind and kind.is_missing and kind.name not in said:
            said.add(kind.name)
            needed = f'pip install "noetl[{kind.extra}]"'
            yield RULE.at(
                kind_place(task),
                f"kind: {task.kind} needs: {needed}",
                why=f"its library, {kind.module}, is not installed here",
                fix=f"run {needed}, here and where workers run",
            )
