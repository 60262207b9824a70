"""A step or task has a pipe, which never became part of the language.

The list under `tool` is the pipeline: its tasks run one after the other, and each reads what the one before gave as
{{ _prev }}. There is nothing to wrap it in.

Wrong:

    - step: load
      tool:
        pipe:
          - fetch: { kind: http, url: "https://example.com/items" }
          - store: { kind: postgres, auth: warehouse, command: "..." }

Right:

    - step: load
      tool:
        - name: fetch
          kind: http
          url: https://example.com/items
        - name: store
          kind: postgres
          auth: warehouse
          command: "..."

Spec: PB-09, AC-9.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import Entry
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import said

RULE = contract.Rule(code="NL316", name="pipe-construct", spec=("PB-09", "AC-9"))


def check(draft: Draft) -> Iterator[Finding]:
    for step in draft.steps:
        entry = step.node.entries.get("pipe")
        if entry:
            yield finding(
                f'step "{step.name}"', entry, "rename pipe to tool" if "tool" not in step.node.entries else ""
            )
    for task in draft.tasks:
        entry, kind = task.direct.get("pipe"), draft.kind_of(task)
        if entry and not (kind and kind.field("pipe")):
            yield finding(said(task), entry, "")


def finding(owner: str, entry: Entry, fix: str) -> Finding:
    return RULE.at(
        entry.key.place,
        f"{owner} has a pipe, and there is no such construct",
        why="the list under tool is the pipeline: its tasks run in order, each reading {{ _prev }}",
        fix=fix or "write its tasks as items of the step's tool list",
    )
