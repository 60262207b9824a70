"""The contract between a dialect and the tree it rewrites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import msgspec

from noetl.dsl.findings import Edit
from noetl.dsl.source import Place

Node = Any  # one node of whichever tree it is; only the tree looks inside
Key = str | int  # of a mapping, or of a list
NOT_LABELS = frozenset(("name", "desc", "kind", "input", "set", "spec", "auth", "args", "choose", "while", "until"))


class Mark(msgspec.Struct, frozen=True):
    """A deprecated spelling that a dialect met; the 9xx rule of that name says it to the author."""

    name: str
    place: Place
    facts: dict[str, str] = {}
    edits: tuple[Edit, ...] = ()


class Respelling(msgspec.Struct, frozen=True):
    """A part of a template's text that becomes another, in coordinates of the old text."""

    offset: int
    length: int
    text: str


class Tree(Protocol):
    """A document that can be rewritten without losing where things stood (or what was said beside them)."""

    def keys(self, node: Node) -> list[str]:
        """The keys of a mapping, in order; none of anything else."""
        ...

    def items(self, node: Node) -> list[Node]:
        """The items of a list; none of anything else."""
        ...

    def is_mapping(self, node: Node) -> bool: ...

    def is_list(self, node: Node) -> bool: ...

    def get(self, node: Node, key: Key) -> Node:
        """The value under a key or index; None where there is none."""
        ...

    def key(self, node: Node, key: str) -> Node:
        """The key itself, for where it stands."""
        ...

    def value(self, node: Node) -> object:
        """The data of a scalar; None of anything else."""
        ...

    def rename(self, node: Node, key: str, new: str) -> None:
        """Give a key another name, in its old place."""
        ...

    def rename_all(self, node: Node, names: dict[str, str]) -> None:
        """Give several keys other names, each in its old place."""
        ...

    def put(self, node: Node, key: str, value: Node, *, first: bool = False) -> None:
        """Set a key: in place where it is there, else at the end (or the beginning)."""
        ...

    def take(self, node: Node, key: str) -> Node:
        """Remove a key and give its value."""
        ...

    def put_item(self, node: Node, index: int, value: Node) -> None:
        """Replace an item of a list."""
        ...

    def add_item(self, node: Node, value: Node, *, at: int | None = None) -> None:
        """Add an item to a list, at the end or before an index."""
        ...

    def mapping(self, pairs: Sequence[tuple[str, Node]], like: Node) -> Node:
        """A new mapping that stands where `like` stands."""
        ...

    def list(self, items: Sequence[Node], like: Node) -> Node:
        """A new list that stands where `like` stands."""
        ...

    def scalar(self, value: str | int | float | bool | None, like: Node) -> Node:
        """A new value that stands where `like` stands."""
        ...

    def respell(self, parent: Node, key: Key, respellings: Sequence[Respelling]) -> None:
        """Change parts of a text in place."""
        ...

    def mark_key(self, name: str, node: Node, key: str, /, **facts: str) -> None:
        """Say that a mapping's key is a deprecated spelling."""
        ...

    def mark_text(self, name: str, parent: Node, key: Key, respelling: Respelling, /, **facts: str) -> None:
        """Say that a part of a text is a deprecated spelling."""
        ...


def steps(tree: Tree, root: Node) -> list[Node]:
    """The step mappings of a document."""
    return [step for step in tree.items(tree.get(root, "workflow")) if tree.is_mapping(step)]


def pipelines(tree: Tree, step: Node) -> list[Node]:
    """The `tool` values of a step: its own, its compensation's, and those inside choose, while and until."""
    policy = tree.get(tree.get(step, "spec"), "policy")
    found = [tree.get(step, "tool"), tree.get(tree.get(policy, "compensation"), "tool")]
    for tool in found:
        for item in tree.items(tool):
            found.extend(sugar_bodies(tree, item))
    return [tool for tool in found if tool is not None]


def sugar_bodies(tree: Tree, item: Node) -> list[Node]:
    """The pipelines inside one item of sugar (TK-17)."""
    found = [tree.get(tree.get(item, word), "tool") for word in ("while", "until")]
    for case in tree.items(tree.get(item, "choose")):
        found.append(tree.get(tree.get(case, "then"), "tool"))
        found.append(tree.get(tree.get(tree.get(case, "else"), "then"), "tool"))
    return [tool for tool in found if tool is not None]


def tasks(tree: Tree, tool: Node) -> list[Node]:
    """The task mappings of a pipeline that is already in the named form."""
    items = tree.items(tool) if tree.is_list(tool) else [tool]
    return [task for task in items if tree.is_mapping(task)]


def is_labelled(tree: Tree, item: Node) -> bool:
    """`- label: {kind: …}`, the way v10 and 003 name a task."""
    keys = tree.keys(item)
    return len(keys) == 1 and keys[0] not in NOT_LABELS and tree.is_mapping(tree.get(item, keys[0]))


def all_tasks(tree: Tree, root: Node) -> Iterator[Node]:
    """Every task of the document: pipelines, compensations, workbook."""
    for step in steps(tree, root):
        for tool in pipelines(tree, step):
            yield from tasks(tree, tool)
    workbook = tree.get(root, "workbook")
    for name in tree.keys(workbook):
        if tree.is_mapping(entry := tree.get(workbook, name)):
            yield entry
