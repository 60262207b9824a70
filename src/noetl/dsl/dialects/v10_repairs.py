"""How a deprecated key of the v10 surface is respelt in the file, as edits that touch nothing else.

    args: {…}                →  input: {…}
    - fetch: {kind: http}    →  - {name: fetch, kind: http}          (or, in block style, the body moves left)
    set_iter: {page: 1}      →  set: {iter.page: 1}                  (or joins the `set` that stands beside it)

Comments, quotes, order and line breaks stay. Where the file does not spell a thing plainly (aliases, anchors, merged
keys, a comment in the way) there is no edit: the finding says what to write. A key is repaired once; if that makes room
for another repair, the next pass finds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from noetl.dsl.findings import Edit
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Node, Scalar, Sequence
from noetl.dsl.source import Source

Edits = tuple[Edit, ...]

COLON = re.compile(r"[ \t]*:")
BETWEEN = re.compile(r"[ \t]*:(?:\s|#[^\n]*(?:\n|\Z))*\Z")
BETWEEN_FLOW = re.compile(r"[ \t]*:\s*\Z")
INDENT = re.compile(" *")


def repairs_of(mark: str, node: Mapping, key: str) -> Edits:
    """The edits for a marked key of a mapping; none where there is no mechanical repair."""
    repair = REPAIRS.get(mark)
    return repair(node, node.entries[key]) if repair else ()


def start_of(node: Node) -> int:
    return node.source.index(node.line, node.column)


def end_of(node: Node) -> int:
    return node.source.index(node.end_line, node.end_column)


def raw(node: Node) -> str:
    return node.source.text[start_of(node) : end_of(node)]


def is_plainly(key: Scalar, text: str) -> bool:
    """Whether the file spells a key so, in quotes or not."""
    return raw(key) in (text, f'"{text}"', f"'{text}'")


def is_inside(entry: Entry, node: Mapping) -> bool:
    """Whether an entry was written in this mapping, not merged into it."""
    return start_of(node) <= start_of(entry.key) < end_of(node)


def is_flow(node: AnyNode) -> bool:
    return node.source.text[start_of(node) : start_of(node) + 1] in ("{", "[")


def is_written_here(entry: Entry, between: re.Pattern[str] = BETWEEN) -> bool:
    """Whether a value stands right after its key: no alias, no anchor, no tag."""
    source = entry.key.source
    start, end = end_of(entry.key), start_of(entry.value)
    return end > start and bool(between.match(source.text[start:end])) and source.text[end : end + 1] not in ("&", "!")


def replaced_key(key: Scalar, old: str, new: str) -> Edit:
    quote = int(raw(key) != old)
    return Edit(start_of(key) + quote, end_of(key) - quote, new)


def to_input(node: Mapping, entry: Entry) -> Edits:
    """args: → input:"""
    if "input" in node.entries or not is_plainly(entry.key, "args") or not is_inside(entry, node):
        return ()
    return (replaced_key(entry.key, "args", "input"),)


def to_named(item: Mapping, entry: Entry) -> Edits:
    """- label: {…} → - name: label, with the rest beside it"""
    body, label = entry.value, entry.key
    if not isinstance(body, Mapping) or not is_plainly(label, label.text) or not is_inside(entry, item):
        return ()
    if "name" in body.entries:
        return ()
    name = raw(label) if isinstance(label.value, str) else f'"{label.text}"'
    if is_flow(body):
        return named_in_flow(item, entry, body, name) if is_written_here(entry, BETWEEN_FLOW) else ()
    return named_in_block(entry, body, name) if is_written_here(entry) else ()


def named_in_flow(item: Mapping, entry: Entry, body: Mapping, name: str) -> Edits:
    text, inside = body.source.text, start_of(body) + 1
    if name[0] not in "'\"" and any(char in ",[]{}" for char in name):
        return ()  # plain in a block, not so between braces
    made = f" name: {name}," if text[inside : inside + 1].isspace() else f"name: {name}, "
    if not is_flow(item):
        return (Edit(start_of(entry.key), start_of(body), ""), Edit(inside, inside, made))
    before, after = text[start_of(item) + 1 : start_of(entry.key)], text[end_of(body) : end_of(item) - 1]
    if before.strip() or after.strip(" \t\r\n,"):
        return ()
    return (
        Edit(start_of(item), start_of(body), ""),
        Edit(inside, inside, made),
        Edit(end_of(body), end_of(item), ""),
    )


def named_in_block(entry: Entry, body: Mapping, name: str) -> Edits:
    source, shift = body.source, body.column - entry.key.column
    colon = COLON.match(source.text, end_of(entry.key))
    if shift <= 0 or colon is None or body.line == entry.key.line:
        return ()
    head = Edit(start_of(entry.key), colon.end(), f"name: {name}")
    return (head, *moved_left(source, entry.key.line + 1, last_line(body), body.column - 1, shift))


def last_line(node: Node) -> int:
    """The last line that a block collection has a part in: its end is where the next thing begins."""
    before = node.source.line(node.end_line)[: node.end_column - 1]
    return node.end_line if before.strip() else node.end_line - 1


def moved_left(source: Source, first: int, last: int, indent: int, shift: int) -> Iterator[Edit]:
    """Take `shift` spaces from every line of a block that is indented by `indent` or more, and from its blank lines."""
    for number in range(first, last + 1):
        line = source.line(number)
        match = INDENT.match(line)
        spaces = match.end() if match else 0
        is_blank = spaces == len(line)
        width = min(shift, spaces) if is_blank else shift if spaces >= indent else 0
        if width:
            start = source.index(number, 1)
            yield Edit(start, start + width, "")


def to_set(then: Mapping, entry: Entry) -> Edits:
    """set_iter: {page: 1} → set: {iter.page: 1}"""
    values, old = entry.value, entry.key.text
    scope = old.removeprefix("set_")
    if not isinstance(values, Mapping) or not is_plainly(entry.key, old) or not is_inside(entry, then):
        return ()
    entries = list(values.entries.values())
    plainly = all(is_plainly(one.key, one.key.text) and is_inside(one, values) for one in entries)
    if not plainly or not is_written_here(entry):
        return ()
    other = then.entries.get("set")
    if other is None:
        return (replaced_key(entry.key, old, "set"), *(prefixed(one.key, scope) for one in entries))
    if not isinstance(other.value, Mapping) or not is_plainly(other.key, "set") or not is_written_here(other):
        return ()
    if any(f"{scope}.{name}" in other.value.entries for name in values.entries):
        return ()
    return joined(then, entry, other, scope)


def prefixed(key: Scalar, scope: str) -> Edit:
    at = start_of(key) + int(raw(key)[:1] in ("'", '"'))
    return Edit(at, at, f"{scope}.")


def joined(then: Mapping, entry: Entry, other: Entry, scope: str) -> Edits:
    """Move the writes of one mapping into the `set` beside it, each in the style of where it goes."""
    values, target = entry.value, other.value
    if not isinstance(values, Mapping) or not isinstance(target, Mapping):
        return ()
    there = [one for one in target.entries.values() if is_inside(one, target)]
    moved = list(values.entries.values())
    if not there or not moved or not all(is_on_one_line(one) for one in (*moved, *there)):
        return ()
    if not is_flow(values) and not is_flow(target):
        return joined_in_block(entry, values, target, there, scope)
    if not is_flow(values) and not is_bare_block(entry, moved):
        return ()
    gone = without_entry(then, entry)
    pieces = [with_prefix(written(one), start_of(one.key), one, scope) for one in moved]
    added = added_in_flow(target, there, pieces) if is_flow(target) else added_in_block(target, there, pieces)
    return (added, gone) if gone and added else ()


def is_on_one_line(entry: Entry) -> bool:
    value = entry.value
    is_block = isinstance(value, Scalar) and value.style in ("|", ">")
    is_block = is_block or (isinstance(value, Mapping | Sequence) and not is_flow(value))
    return not is_block and value.end_line == entry.key.line and is_written_here(entry)


def is_bare_block(entry: Entry, moved: list[Entry]) -> bool:
    """Whether the lines of a block mapping hold its entries and nothing else: no comment that would be lost."""
    source = entry.key.source
    lines = [f"{raw(entry.key)}:", *(written(one) for one in moved)]
    found = [source.line(number).strip() for number in range(entry.key.line, entry.key.line + len(lines))]
    return found == lines


def written(entry: Entry) -> str:
    return entry.key.source.text[start_of(entry.key) : end_of(entry.value)]


def with_prefix(text: str, offset: int, entry: Entry, scope: str) -> str:
    """A piece of the file that begins at `offset`, with an entry's key prefixed."""
    edit = prefixed(entry.key, scope)
    return text[: edit.start - offset] + edit.text + text[edit.start - offset :]


def added_in_flow(target: Mapping, there: list[Entry], pieces: list[str]) -> Edit | None:
    last = max(end_of(one.value) for one in there)
    is_plain = not target.source.text[last : end_of(target) - 1].strip()
    return Edit(last, last, "".join(f", {piece}" for piece in pieces)) if is_plain else None


def added_in_block(target: Mapping, there: list[Entry], pieces: list[str]) -> Edit | None:
    source, last = target.source, max(one.value.end_line for one in there)
    if last >= len(source.starts):
        return None
    end = source.starts[last]
    line_break = source.text[source.starts[last - 1] : end][len(source.line(last)) :]
    indent = " " * (target.column - 1)
    return Edit(end, end, "".join(f"{indent}{piece}{line_break}" for piece in pieces))


def without_entry(then: Mapping, entry: Entry) -> Edit | None:
    """The removal of an entry: its lines in block style, itself and one comma in flow style."""
    source, text = then.source, then.source.text
    start, end = start_of(entry.key), value_end(entry)
    if not is_flow(then):
        last = source.line_and_column(end)[0]
        line_end = source.starts[last] if last < len(source.starts) else len(text)
        line_start = source.index(entry.key.line, 1)
        is_alone = not text[line_start:start].strip() and not text[end:line_end].strip()
        return Edit(line_start, line_end, "") if is_alone else None
    after = re.compile(r"\s*,\s*").match(text, end)
    if after:
        return Edit(start, after.end(), "")
    before = re.compile(r",\s*\Z").search(text[start_of(then) : start])
    return Edit(start_of(then) + before.start(), end, "") if before else None


def value_end(entry: Entry) -> int:
    """Where the last thing of an entry ends: a block mapping's own end is where the next thing begins."""
    value = entry.value
    if isinstance(value, Mapping) and not is_flow(value):
        return max(end_of(one.value) for one in value.entries.values())
    return end_of(value)


def joined_in_block(entry: Entry, values: Mapping, target: Mapping, there: list[Entry], scope: str) -> Edits:
    source = entry.key.source
    entries = list(values.entries.values())
    first, last = entries[0].key.line, max(one.value.end_line for one in entries)
    after = max(one.value.end_line for one in there)
    if last >= len(source.starts) or after >= len(source.starts):
        return ()
    if source.line(entry.key.line).strip() != f"{raw(entry.key)}:" or first != entry.key.line + 1:
        return ()  # a comment beside or below the key would be lost
    start, end = source.index(first, 1), source.starts[last]
    moved = source.text[start:end]
    for one in reversed(entries):
        moved = with_prefix(moved, start, one, scope)
    at = source.starts[after]
    return (
        Edit(at, at, indented(moved, target.column - values.column)),
        Edit(source.index(entry.key.line, 1), end, ""),
    )


def indented(text: str, shift: int) -> str:
    """Lines moved right, or left."""
    lines = text.splitlines(keepends=True)
    if shift >= 0:
        return "".join(" " * shift + line if line.strip() else line for line in lines)
    return "".join(line[-shift:] if line[:-shift].isspace() else line for line in lines)


REPAIRS: dict[str, Callable[[Mapping, Entry], Edits]] = {
    "args": to_input,
    "labelled-task": to_named,
    "set-scope": to_set,
}
