"""The tree of a text that is to be written back: what dialects change in the nodes, changed in the text.

It is the tree of `nodetree.py`, so a dialect does to a file exactly what it does to a playbook that is read. Beside
that it remembers which characters every node was written with (`rewriting/`), and afterwards makes the outline of the
new text: parts that nobody touched are the old ones and will be copied, comments and blank lines go with the keys and
items they were written at, and only what is new is spelled here.
"""

from __future__ import annotations

from collections.abc import Sequence as Several

from noetl.dsl.dialects.nodetree import NodeTree
from noetl.dsl.dialects.tree import Key, Node, Respelling
from noetl.dsl.nodes import Entry, Mapping
from noetl.dsl.rewriting.habits import Habits
from noetl.dsl.rewriting.layout import Patcher
from noetl.dsl.rewriting.pairing import Pairing
from noetl.dsl.rewriting.parts import Document
from noetl.dsl.rewriting.rebuild import Rebuild
from noetl.dsl.rewriting.spelling import anew, spliced

STEP_KEYS = ("step", "desc", "spec", "loop", "input", "tool", "set", "next")


class TextTree(NodeTree):
    """See `tree.Tree`; one document of a text."""

    def __init__(self, text: str, document: Document, root: Mapping) -> None:
        super().__init__()
        self.text = text
        self.document = document
        self.root = root
        self.pairing = Pairing(text)
        self.pairing.pair(root, document.root)

    def rename_all(self, node: Node, names: dict[str, str]) -> None:
        before = node.entries
        super().rename_all(node, names)
        for key, new in names.items():
            entry = node.entries[new]
            self.pairing.kept.append(entry)
            self.pairing.renamed.add(id(entry))
            self.inherit(entry, before[key])

    def put(self, node: Node, key: str, value: Node, *, first: bool = False) -> None:
        old = node.entries.get(key)
        super().put(node, key, value, first=first)
        entry = node.entries[key]
        self.pairing.kept.append(entry)
        if old:
            self.inherit(entry, old)
            if id(old) in self.pairing.renamed:
                self.pairing.renamed.add(id(entry))
            return
        usual = usual_place(list(node.entries), key)
        if usual and not first:
            self.move_before(node, key, usual)

    def put_before(self, node: Node, key: str, value: Node, other: str) -> None:
        """Set a key in front of another one."""
        self.put(node, key, value)
        self.move_before(node, key, other)

    def move_before(self, node: Node, key: str, other: str) -> None:
        names = [name for name in node.entries if name != key]
        at = names.index(other) if other in names else len(names)
        node.entries = {name: node.entries[name] for name in [*names[:at], key, *names[at:]]}

    def put_item(self, node: Node, index: int, value: Node) -> None:
        slot = self.pairing.slots.get(id(node.items[index]))
        super().put_item(node, index, value)
        if slot:
            self.pairing.slots[id(value)] = slot

    def mapping(self, pairs: Several[tuple[str, Node]], like: Node) -> Node:
        return self.keep(super().mapping(pairs, like))

    def list(self, items: Several[Node], like: Node) -> Node:
        return self.keep(super().list(items, like))

    def scalar(self, value: str | int | float | bool | None, like: Node) -> Node:
        return self.keep(super().scalar(value, like))

    def keep(self, node: Node) -> Node:
        self.pairing.kept.append(node)
        return node

    def inherit(self, entry: Entry, old: Entry) -> None:
        """An entry takes another one's place, and what was said beside it."""
        slot = self.pairing.slots.get(id(old))
        if slot:
            self.pairing.slots[id(entry)] = slot
        if id(old) in self.pairing.merged:
            self.pairing.merged.add(id(entry))

    def respell(self, parent: Node, key: Key, respellings: Several[Respelling]) -> None:
        node = self.get(parent, key)
        part = self.pairing.parts.get(id(node))
        raw = self.pairing.raws.get(id(node)) or (self.text[part.start : part.end] if part else None)
        ordered = sorted(respellings, key=lambda one: one.offset)
        new = spliced(raw, node.text, node.style, ordered) if raw is not None else None
        super().respell(parent, key, respellings)
        if part:
            self.pairing.raws[id(node)] = new if new is not None else anew(raw or "", node, part.home)

    def write(self, *, is_expanded: bool = False) -> str:
        """The document's text as it is now; `is_expanded` writes out what aliases stand for."""
        habits = Habits(self.text, self.document.root)
        root = Rebuild(self.pairing, self.document.root, self.root, habits, is_expanded).root()
        if root is self.document.root:
            return self.text[self.document.start : self.document.end]
        document = self.document
        start = self.text.rfind("\n", 0, document.entry) + 1 if document.root.is_block else document.entry
        writer = Patcher(self.text, habits.indent, habits.dash, habits.item)
        return self.text[document.start : start] + "\n".join(writer.root(root)) + document.tail


def usual_place(names: list[str], key: str) -> str | None:
    """The key of a step that a new one usually stands in front of."""
    if key not in STEP_KEYS or not {"tool", "next"} & set(names):
        return None
    return next((name for name in STEP_KEYS[STEP_KEYS.index(key) + 1 :] if name in names), None)
