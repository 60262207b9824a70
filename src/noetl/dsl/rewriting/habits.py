"""How the author of a text lays things out, so that what is new looks like the rest."""

from __future__ import annotations

from noetl.dsl.rewriting.layout import INDENT
from noetl.dsl.rewriting.parts import Part


class Habits:
    """How an author writes: by how much mappings and lists are indented, whether `{ a: 1 }` or `{a: 1}`, and whether
    all keys stand in quotes, as in JSON."""

    def __init__(self, text: str, root: Part) -> None:
        mappings: list[int] = []
        lists: list[int] = []
        items: list[int] = []
        spaces: list[int] = []
        waiting = [root]
        while waiting:
            for slot in waiting.pop().slots:
                waiting.append(slot.value)
                if slot.offset is not None:
                    sort = mappings if slot.value.kind == "mapping" else lists
                    (sort if slot.key else items).append(slot.offset)
                elif slot.value.is_flow and slot.value.kind == "mapping" and slot.value.slots:
                    spaces.append(slot.value.is_spaced)
        self.indent, self.dash, self.item = usual(mappings, INDENT), usual(lists, INDENT), usual(items, INDENT)
        self.is_spaced = bool(usual(spaces, True))
        self.is_quoted = all(slot.key and text[slot.key.start] == '"' for slot in root.slots)
        if root.is_flow and root.is_wide:
            self.indent = root.slots[0].value.home


def usual(found: list[int], otherwise: int) -> int:
    return max(sorted(set(found)), key=found.count) if found else otherwise
