"""One rule, arc, collection or write, asked again, with the values it saw: what explaining a decision is made of.

A decision is never made here: what was recorded counts. Asking again shows what it looked at, and where the answer is
another one than was recorded, the note says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from noetl.dsl.model import Assign, Condition, Parts, Value
from noetl.engine.excerpts import excerpt
from noetl.engine.values import ERROR_KINDS, Fault, Scope, holds
from noetl.expressions import Template
from noetl.expressions.seen import STORED_ELSEWHERE, UNDEFINED, Sight, seen
from noetl.secret import MASK

ADMISSION, POLICY, ARC, LOOP, SET = "admission", "policy", "arc", "loop", "set"
VALUE_CHARACTERS_MAX = 2048
READS_MAX = 50  # of one template
TEXT_CHARACTERS_MAX = 2000
KEYCHAIN = "keychain"
ELSEWHERE = ERROR_KINDS["reference"]
NOTES = {UNDEFINED: "undefined", STORED_ELSEWHERE: "kept outside the log"}


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A name that a template read."""

    name: str
    value: Any = None
    note: str = ""  # undefined, cut, secret, kept outside the log


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """See above. `result` None: it was not asked, is no condition, or could not be answered."""

    place: str  # ADMISSION, POLICY, ARC, LOOP or SET
    index: int
    line: int
    step: str
    task: str | None = None
    target: str | None = None
    when: str | None = None
    result: bool | None = None
    is_chosen: bool = False
    was_asked: bool = True
    error: str | None = None
    reads: list[Seen] = []
    note: str = ""


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """A condition that was asked again."""

    result: bool | None = None
    error: str | None = None
    reads: list[Seen] = []
    is_elsewhere: bool = False  # it read a payload that is kept outside the log


def tried(condition: Condition | None, scope: Scope) -> Tried:
    """What a condition says in a scope; none at all always holds."""
    if condition is None or condition.template is None:
        return Tried(result=condition is None or condition.always)
    reads = reads_of([condition.template], scope)
    try:
        return Tried(result=holds(condition, scope), reads=reads)
    except Fault as fault:
        return Tried(error=fault.error.message, reads=reads, is_elsewhere=fault.error.kind == ELSEWHERE)


def reads_of(templates: Iterable[Template], scope: Scope) -> list[Seen]:
    """What some templates read, each name once."""
    found: dict[str, Seen] = {}
    for template in templates:
        for sight in seen(template, scope):
            if len(found) >= READS_MAX:
                return list(found.values())
            found.setdefault(sight.name, shown(sight))
    return list(found.values())


def shown(sight: Sight) -> Seen:
    """A name and its value, short; of a credential never a value."""
    if sight.root == KEYCHAIN:
        return Seen(name=sight.name, value=MASK, note="secret")
    value, is_cut = excerpt(sight.value, VALUE_CHARACTERS_MAX)
    if sight.state in NOTES:
        return Seen(name=sight.name, note=NOTES[sight.state])
    return Seen(name=sight.name, value=value, note="cut" if is_cut else "")


def written(condition: Condition | None) -> str | None:
    """A condition as its author wrote it."""
    if condition is None:
        return None
    if condition.template is None:
        return "true" if condition.always else "false"
    return condition.template.source[:TEXT_CHARACTERS_MAX]


def written_value(value: Value) -> str:
    """A value as its author wrote it, on one line."""
    parts = value.parts
    if isinstance(parts, Template):
        return parts.source[:TEXT_CHARACTERS_MAX]
    data, _ = excerpt(_sources(parts), TEXT_CHARACTERS_MAX)
    return msgspec.json.encode(data).decode()


def _sources(parts: Parts) -> Any:
    if isinstance(parts, Template):
        return parts.source
    if isinstance(parts, dict):
        return {name: _sources(part) for name, part in parts.items()}
    return [_sources(part) for part in parts] if isinstance(parts, list) else parts


def templates_of(parts: Parts) -> Iterator[Template]:
    """The templates in a value."""
    if isinstance(parts, Template):
        yield parts
    elif isinstance(parts, dict | list):
        for part in parts.values() if isinstance(parts, dict) else parts:
            yield from templates_of(part)


def explained_writes(assigns: Iterable[Assign], scope: Scope, step: str, task: str | None = None) -> list[Explanation]:
    """The writes of one `set` that was made."""
    return [
        Explanation(
            place=SET,
            index=index,
            line=one.place.line,
            step=step,
            task=task,
            target=f"{one.scope}.{'.'.join(one.path)}",
            when=written_value(one.value),
            is_chosen=True,
            reads=reads_of(templates_of(one.value.parts), scope),
        )
        for index, one in enumerate(assigns)
    ]
