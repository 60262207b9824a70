"""What a template saw: the names it reads, as written, and what each has in a scope. For whoever explains a decision.

Nothing is evaluated but the paths themselves, and nothing is refused: a name that is not there is one that was not
there. Of a path with a computed part (`rows[ctx.i].name`) that which is written out before it is looked up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from noetl.expressions.faults import Refusal
from noetl.expressions.spans import Read
from noetl.expressions.template import Template
from noetl.expressions.values import MISSING, Stored, member

FOUND: Final = "found"
UNDEFINED: Final = "undefined"
STORED_ELSEWHERE: Final = "stored"


class Sight(msgspec.Struct, frozen=True):
    """One name that a template reads."""

    name: str  # as written: output.data.rows
    root: str  # its first part: output
    state: str  # FOUND, UNDEFINED or STORED_ELSEWHERE
    value: object = None


def seen(template: Template, scope: Mapping[str, object]) -> list[Sight]:
    """Each path that a template reads, once, in the order written."""
    found: dict[str, Sight] = {}
    for read in template.reads:
        name = " ".join(template.source[read.offset : read.path_end].split())
        if name not in found:
            found[name] = _looked_up(name, read, scope)
    return list(found.values())


def _looked_up(name: str, read: Read, scope: Mapping[str, object]) -> Sight:
    value = scope.get(read.name, MISSING)
    try:
        for part in read.parts:
            if value is MISSING:
                break
            value = member(value, part.key)
    except Refusal as refusal:
        return Sight(name, read.name, STORED_ELSEWHERE if refusal.kind == "reference" else UNDEFINED)
    if value is MISSING:
        return Sight(name, read.name, UNDEFINED)
    return Sight(name, read.name, STORED_ELSEWHERE if type(value) is Stored else FOUND, value)
