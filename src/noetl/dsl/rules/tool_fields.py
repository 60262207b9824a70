"""The fields a task gives its tool against those that the tool's kind declares; for NL304 to NL307.

A field may stand on the task itself, where only declared ones are allowed, or under `input`, which may hold further
names (TK-11).
"""

from __future__ import annotations

from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import near_miss
from noetl.dsl.kinds import Field, Kind
from noetl.dsl.nodes import Entry, Scalar
from noetl.dsl.rules.misplaced import refused

TOLD_ELSEWHERE = frozenset(("choose", "while", "until", "eval", "pipe"))  # NL318, NL315, NL316


def unknown_direct(draft: Draft, task: Task, kind: Kind) -> dict[str, Entry]:
    """Fields on the task that its kind does not have and no other rule speaks of."""
    told = refused(draft)
    return {
        key: entry
        for key, entry in task.direct.items()
        if kind.field(key) is None and key not in TOLD_ELSEWHERE and id(entry.value) not in told
    }


def misspelt_as(draft: Draft, task: Task, kind: Kind) -> dict[str, str]:
    """Unknown field on the task → the field, not given, that it is most like."""
    given = task.fields
    absent = [field.name for field in kind.fields if field.name not in given]
    found = {key: near_miss(key, absent) for key in unknown_direct(draft, task, kind)}
    return {key: name for key, name in found.items() if name}


def missing(task: Task, kind: Kind) -> list[tuple[str, ...]]:
    """Fields that must be given and are not, each as the group of which one would do."""
    given = task.fields
    absent = [(field.name,) for field in kind.fields if field.required and field.name not in given]
    return absent + [group for group in kind.one_of if not any(name in given for name in group)]


def one_slip_away(word: str, name: str) -> bool:
    """Whether one letter more, less, other or swapped makes the one word the other; a plural is no slip."""
    if word == name or word.rstrip("s") == name.rstrip("s") or min(len(word), len(name)) < 3:
        return False
    if abs(len(word) - len(name)) > 1:
        return False
    start = next((at for at, (one, two) in enumerate(zip(word, name, strict=False)) if one != two), None)
    if start is None:
        return True
    rest, other = word[start:], name[start:]
    is_swap = len(rest) > 1 and rest[:2] == other[:2][::-1] and rest[2:] == other[2:]
    return rest[1:] == other[1:] or rest[1:] == other or rest == other[1:] or is_swap


def verbatim_text(task: Task, kind: Kind) -> str:
    """What the task hands to its tool as written: Python code, which may use any name of its input."""
    entries = [task.fields.get(field.name) for field in kind.fields if not field.is_template]
    return "\n".join(entry.value.text for entry in entries if entry and isinstance(entry.value, Scalar))


def names_read_from_input(draft: Draft, task: Task) -> frozenset[str]:
    """Names that templates of the task read as {{ input.name }}; of all tasks, found in one pass."""
    found = draft.prepared.get("input reads")
    if not isinstance(found, dict):
        found = draft.prepared["input reads"] = input_reads(draft)
    return frozenset(found.get(id(task), ()))


def input_reads(draft: Draft) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for text in draft.texts:
        if text.task and text.template and "input" in text.template.names:
            names = found.setdefault(id(text.task), set())
            names.update(str(read.parts[0].key) for read in text.template.reads if read.name == "input" and read.parts)
    return found


def documented(field: Field) -> str:
    """What the kind's own page says of a field, as a reason: `url: where to; http or https`."""
    doc = field.doc.rstrip(".")
    is_word = doc[1:2].islower() or doc[1:2] == " "
    return f"{field.name}: {doc[:1].lower() if is_word else doc[:1]}{doc[1:]}" if doc else ""
