"""A task is written as a label with a mapping below it.

A task's name is a field like any other, `name:`, so that tools, schemas and people can tell the name from the fields.
The labelled form still works and means the same.

Wrong:

    tool:
      - fetch_page:
          kind: http
          url: "{{ workload.api_url }}/items"

Right:

    tool:
      - name: fetch_page
        kind: http
        url: "{{ workload.api_url }}/items"

Spec: DI-02, TK-01.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.marks import marked

RULE = contract.Rule(code="NL905", name="labelled-task", spec=("DI-02", "TK-01"), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    for mark in marked(draft, "labelled-task"):
        label = mark.facts.get("label", "")
        yield RULE.at(
            mark.place,
            f'task "{label}" is written as a label',
            why="a task's name is one of its fields",
            fix=f'write "name: {label}" with the other fields beside it',
            edits=mark.edits,
        )
