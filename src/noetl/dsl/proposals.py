"""What completion proposes: items, and the column from which they replace what is typed."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

ITEMS_MAX = 200
KEY, VALUE, STEP, TASK, NAME, FILTER = "key", "value", "step", "task", "name", "filter"


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that may be written."""

    label: str
    insert: str
    kind: str  # KEY, VALUE, STEP, TASK, NAME or FILTER
    detail: str = ""
    doc: str = ""


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """All of them; columns count from 1."""

    start_column: int
    items: list[Item]

    @classmethod
    def of(cls, items: Iterable[Item], typed: str, start_column: int) -> Proposal:
        """Those that what is typed can become: that begin with it, then those that have it inside."""
        word = typed.lower()
        found = list(items)
        begin = [one for one in found if one.label.lower().startswith(word)]
        inside = [one for one in found if word in one.label.lower() and not one.label.lower().startswith(word)]
        return cls(start_column=max(start_column, 1), items=[*begin, *inside][:ITEMS_MAX])
