"""Old playbook text to the same playbook in today's spelling (PB-11).

The dialects that read the old surfaces rewrite the text's tree (`dialects/texttree.py`); comments, order and all that
is spelled as today stay. Then arc `args` become `set` and `input` where that says the same (`arc_args.py`). What
comes out is read again, and must be the tree that was meant, with every comment: else the text is left as it is.

Comes in: a text and the surface it is written in. Goes out: the new text, what was changed, and what could not be.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from types import ModuleType
from typing import TypeGuard

import msgspec

from noetl.dsl.arc_args import Kept, move_args
from noetl.dsl.check import STRICT_WARNINGS, Checked, check
from noetl.dsl.dialects import legacy, upstream, v10
from noetl.dsl.dialects.nodetree import NodeTree
from noetl.dsl.dialects.reading import asks_for_upstream
from noetl.dsl.dialects.texttree import TextTree
from noetl.dsl.dialects.tree import Mark
from noetl.dsl.draft import OTHER_KINDS
from noetl.dsl.findings import ERROR, Finding
from noetl.dsl.kinds import Kinds
from noetl.dsl.nodes import AnyNode, Mapping, Sequence, plain
from noetl.dsl.parse import parse
from noetl.dsl.read import Fault, Reading, read
from noetl.dsl.rewriting.outline import comments, outline
from noetl.dsl.rewriting.pairing import Unpaired
from noetl.dsl.rewriting.parts import Document
from noetl.dsl.source import Place, Source

LEGACY, V10, UPSTREAM = "legacy", "v10", "upstream"
SURFACES = (LEGACY, V10, UPSTREAM)
LINE_BREAKS = re.compile("\r\n?")
NOT_REWRITTEN = frozenset(("arc-args", "set-shared", "legacy-set-prev"))  # marks of what no dialect rewrites
ARC_ARGS_CODE = "NL906"
SET_PREV = "nothing else sets _prev: let a task of its own give that value, then delete set_prev"
COMPAT = "executor.spec.compat: upstream"
KEPT = (
    f"kept: {COMPAT}, for data read without .data, variables of Python code and iter._total, which have no other"
    " spelling; remove it when the playbook uses none of them"
)
BELOW_EXECUTOR = ("workload", "workbook", "workflow")
UNWRITTEN = "it cannot be rewritten without losing something: aliases or keys are written in an unusual way"


KEY_CHANGES = {
    "args": ("args", "input"),
    "labelled-task": ("{label}: …", "name: {label}"),
    "set-scope": ("{old}", "set: {{ {scope}.… }}"),
}


class Change(msgspec.Struct, frozen=True):
    """One old spelling that was rewritten, where it stood."""

    name: str
    place: Place
    old: str
    new: str


class Leftover(msgspec.Struct, frozen=True):
    """What still has its old spelling: where it stood, where it stands now, and why."""

    place: Place
    new_place: Place
    message: str
    why: str


class Migrated(msgspec.Struct, frozen=True):
    """The new text; with faults the text as it was."""

    surface: str
    text: str
    changes: tuple[Change, ...] = ()
    left_over: tuple[Leftover, ...] = ()
    faults: tuple[Fault, ...] = ()


def migrate(data: bytes | str, name: str, kinds: Kinds, surface: str | None = None) -> Migrated:
    """Rewrite every playbook of a text; without a surface it is recognised."""
    given = read(data, name)
    if given.faults and any(fault.fault != "number-kept-as-text" for fault in given.faults):
        return Migrated(surface or V10, given.source.text, faults=tuple(given.faults))
    text = LINE_BREAKS.sub("\n", given.source.text)
    surface = surface or recognise(read(text, name), kinds)
    return _Migration(text, name, kinds, surface).run(given)


def recognise(reading: Reading, kinds: Kinds) -> str:
    """The surface that a text is written in: that of the first playbook in it with something only one surface has."""
    for root in playbooks(reading):
        if any(is_of_003(mark) for mark in marks_of(legacy, root, kinds)):
            return LEGACY
    for root in playbooks(read(reading.source.text, reading.source.name)):
        found = {mark.name for mark in marks_of(upstream, root, kinds)} - upstream.DEFAULTS
        if found or asks_for_upstream(root):
            return UPSTREAM
    return V10


def is_of_003(mark: Mark) -> bool:
    """A backoff may be called fixed by others as well, and a status success."""
    return mark.name.startswith("legacy-") and mark.name not in ("legacy-backoff", "legacy-status")


def marks_of(dialect: ModuleType, root: Mapping, kinds: Kinds) -> list[Mark]:
    tree = NodeTree()
    dialect.translate(tree, root, kinds)
    return tree.marks


def playbooks(reading: Reading) -> Iterator[Mapping]:
    return (root for root in reading.documents if is_playbook(root))


def is_playbook(root: AnyNode) -> TypeGuard[Mapping]:
    return isinstance(root, Mapping) and root.text("kind") not in OTHER_KINDS


class _Rewritten(msgspec.Struct):
    """One document on its way."""

    text: str
    root: AnyNode
    changes: list[Change] = []
    left: list[tuple[Mapping, str, str, str]] = []  # a mapping, a key of it that stays, what to say, and why


class _Migration:
    def __init__(self, text: str, name: str, kinds: Kinds, surface: str) -> None:
        self.text, self.name, self.kinds, self.surface = text, name, kinds, surface

    def run(self, given: Reading) -> Migrated:
        reading = read(self.text, self.name)
        documents = outline(self.text)
        pairs = zip(documents, reading.documents, strict=True)
        pieces = [
            self.document(number, document, root, reading.source) for number, (document, root) in enumerate(pairs)
        ]
        text = "".join(piece.text for piece in pieces) + (self.text[documents[-1].end :] if documents else "")
        changes = tuple(change for piece in pieces for change in piece.changes)
        left = self.leftovers(pieces, text)
        if text == self.text:
            return Migrated(self.surface, given.source.text, changes, left)
        return Migrated(
            self.surface, text.replace("\n", "\r\n") if has_crlf(given.source.text) else text, changes, left
        )

    def document(self, number: int, document: Document, root: AnyNode, source: Source) -> _Rewritten:
        old = self.text[document.start : document.end]
        if not is_playbook(root):
            return _Rewritten(old, root)
        if document.is_odd:
            return self.unwritten(old, number)
        try:
            tree = TextTree(self.text, document, root)
        except Unpaired:
            return self.unwritten(old, number)
        made = self.rewrite(tree, root, source)
        for is_expanded in (False, True):
            made.text = tree.write(is_expanded=is_expanded)
            if self.is_meant(made.text, old, root):
                return made
        return self.unwritten(old, number)

    def rewrite(self, tree: TextTree, root: Mapping, source: Source) -> _Rewritten:
        is_upstream = self.surface == UPSTREAM or asks_for_upstream(root)
        is_legacy = self.surface == LEGACY
        if is_legacy:
            legacy.translate(tree, root, self.kinds)
        if is_upstream:
            upstream.translate(tree, root, self.kinds)
        v10.translate(tree, root, self.kinds)
        made = _Rewritten("", root, [change_of(mark) for mark in tree.marks if mark.name not in NOT_REWRITTEN])
        draft = parse(source, root, self.kinds, is_legacy=is_legacy, is_upstream=is_upstream, marks=tree.marks)
        outcome = move_args(tree, draft)
        made.changes += [
            Change("arc-args", one.key.place, f"args: {one.name}", f"set: {one.target}") for one in outcome.moved
        ]
        if is_upstream:
            made.changes += keep_compat(tree, root, has_changes=bool(made.changes))
        made.changes.sort(key=lambda change: change.place)
        made.left += [left_argument(one) for one in outcome.kept]
        made.left += [
            (rule.then, "set_prev", f'set_prev of task "{rule.task.label}" stays', SET_PREV)
            for rule in draft.rules
            if rule.then and "set_prev" in rule.then.entries
        ]
        return made

    def unwritten(self, old: str, number: int) -> _Rewritten:
        """A document that stays as it is."""
        root = read(self.text, self.name).documents[number]
        made = _Rewritten(old, root)
        if isinstance(root, Mapping) and root.entries:
            made.left.append((root, next(iter(root.entries)), "this playbook stays as it is", UNWRITTEN))
        return made

    def is_meant(self, text: str, old: str, root: Mapping) -> bool:
        """Whether a new text says what the tree says, and all that was said in comments."""
        is_same = self.says(text, old, root) or self.says(text + "\n", old, root)  # a document may end before its line
        return is_same and not Counter(comments(old)) - Counter(comments(text))

    def says(self, text: str, old: str, root: Mapping) -> bool:
        """Whether a text reads as the tree, with no fault that the old one had not."""
        after = read(text, self.name)
        known = {fault.fault for fault in read(old, self.name).faults}
        has_new_fault = any(fault.fault not in known for fault in after.faults)
        return not has_new_fault and len(after.documents) == 1 and repr(plain(after.documents[0])) == repr(plain(root))

    def leftovers(self, pieces: list[_Rewritten], text: str) -> tuple[Leftover, ...]:
        if not any(piece.left for piece in pieces):
            return ()
        found: list[Leftover] = []
        for piece, root in zip(pieces, read(text, self.name).documents, strict=True):
            now = dict(twins(piece.root, root))
            for mapping, key, message, why in piece.left:
                new = now[id(mapping)].entries[key].key.place
                found.append(Leftover(mapping.entries[key].key.place, new, message, why))
        return tuple(sorted(found, key=lambda one: one.place))


def keep_compat(tree: TextTree, root: Mapping, *, has_changes: bool) -> list[Change]:
    """What was read as upstream has meanings that no spelling has: the playbook asks for them itself."""
    if asks_for_upstream(root):
        return [Change("upstream-compat", root.place, COMPAT, KEPT)] if has_changes else []
    executor = root.get("executor")
    spec = executor.get("spec") if isinstance(executor, Mapping) else None
    if any(node is not None and not isinstance(node, Mapping) for node in (executor, spec)):
        return []
    word = tree.scalar("upstream", root)
    if isinstance(spec, Mapping):
        tree.put(spec, "compat", word)
    elif isinstance(executor, Mapping):
        tree.put(executor, "spec", tree.mapping([("compat", word)], root))
    else:
        made = tree.mapping([("spec", tree.mapping([("compat", word)], root))], root)
        tree.put_before(root, "executor", made, next((key for key in root.entries if key in BELOW_EXECUTOR), ""))
    return [Change("upstream-compat", root.place, "--compat upstream", KEPT)]


def change_of(mark: Mark) -> Change:
    old, new = mark.facts.get("old", mark.name), mark.facts.get("new", "")
    named = KEY_CHANGES.get(mark.name)
    if named:
        old, new = (text.format(**mark.facts) for text in named)
    return Change(mark.name, mark.place, old, new)


def left_argument(kept: Kept) -> tuple[Mapping, str, str, str]:
    arc = kept.arc
    assert arc.args is not None  # noqa: S101 - it has this argument
    message = f'args.{kept.name} of the arc from "{arc.step.name}" to "{arc.target_name}" stays'
    return arc.args, kept.name, message, kept.why


def has_crlf(text: str) -> bool:
    """Whether the first line ends as those of Windows do."""
    first = text.find("\n")
    return first > 0 and text[first - 1] == "\r"


def twins(old: AnyNode, new: AnyNode) -> Iterator[tuple[int, Mapping]]:
    """Each mapping of a tree with the one in the same place of another."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        yield id(old), new
        for name, entry in old.entries.items():
            yield from twins(entry.value, new.entries[name].value)
    elif isinstance(old, Sequence) and isinstance(new, Sequence):
        for one, other in zip(old.items, new.items, strict=True):
            yield from twins(one, other)


def remaining(data: bytes | str, done: Migrated, name: str, kinds: Kinds) -> Checked:
    """The errors that --strict finds in the new text, and those of the old text that the new spelling hides.

    What was left over is not said again, and an empty step is none of a spelling's business.
    """
    after = check(done.text, name, kinds, is_strict=True)
    before = check(data, name, kinds, is_legacy=done.surface == LEGACY, is_upstream=done.surface == UPSTREAM)
    left = {one.new_place[1:3] for one in done.left_over}
    found = [one for one in after.findings if is_news(one, left)]
    known = {finding.code for finding in after.findings}
    hidden = [one for one in before.findings if one.code not in known and is_news(one, set())]
    return Checked(after.source, after.drafts, found + hidden)


def is_news(finding: Finding, left: set[tuple[int, int]]) -> bool:
    is_said = finding.place[1:3] in left or (finding.code == ARC_ARGS_CODE and left)
    return finding.severity == ERROR and finding.code not in STRICT_WARNINGS and not is_said
