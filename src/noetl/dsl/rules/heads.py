"""The two lines at the head of a playbook, apiVersion and kind, where one of them is missing."""

from __future__ import annotations

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Edit
from noetl.dsl.rules.key_repairs import line_break
from noetl.dsl.rules.whereabouts import first_entry
from noetl.dsl.source import Place


def missing_head(draft: Draft, line: str) -> tuple[Place, tuple[Edit, ...]]:
    """Where a playbook begins, and the edit that puts a line there (none into `{a: 1, b: 2}`)."""
    root = draft.root
    first = first_entry(root)
    start = draft.source.index(root.line, root.column)
    is_flow = draft.source.text.startswith("{", start)
    indent = " " * (root.column - 1)
    edit = Edit(start, start, f"{line}{line_break(draft.source)}{indent}")
    return first.key.place if first else root.place, () if is_flow or not first else (edit,)
