"""A task lacks a field that its tool cannot do without.

Wrong:

    tool:
      kind: http
      method: GET

Right:

    tool:
      kind: http
      method: GET
      url: https://example.com/items

Where a kind wants one of several fields, any one of them will do: `command`, `query` or `commands` for SQL.

Spec: TL-03.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import Finding, listed, near_miss
from noetl.dsl.kinds import Kind
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import kind_place, with_kind
from noetl.dsl.rules.tool_fields import documented, missing, misspelt_as

RULE = contract.Rule(code="NL306", name="missing-tool-field", spec=("TL-03",))


def check(draft: Draft) -> Iterator[Finding]:
    for task in draft.tasks:
        kind = draft.kind_of(task)
        groups = missing(task, kind) if kind else []
        meant = set(misspelt_as(draft, task, kind).values()) if kind and groups else set()
        for group in groups:
            if kind and not meant.intersection(group):  # NL304 names the near miss
                yield finding(draft, task, kind, group)


def finding(draft: Draft, task: Task, kind: Kind, group: tuple[str, ...]) -> Finding:
    field = kind.field(group[0])
    return RULE.at(
        kind_place(task),
        f"{with_kind(task)} has {f'none of {listed(group)}' if group[1:] else f'no {group[0]}'}",
        why=documented(field) if field else "",
        fix=fix(draft, task, kind, group),
    )


def fix(draft: Draft, task: Task, kind: Kind, group: tuple[str, ...]) -> str:
    for key in task.input:
        meant = near_miss(key, group) if not kind.field(key) else None
        if meant:
            return f'did you mean "{meant}" where input says "{key}"?'
    if kind.name == "workbook" and task.label in draft.workbook:
        return f"add task: {task.label}"
    return f"add {group[0]}: …" + (f", or one of {listed(group[1:])}" if group[1:] else "")
