"""Writes: `ctx.a.b` and a value, onto data that others may still be looking at.

Data is never changed in place. A write copies the mappings along its path and shares the rest, so whoever holds the
old data keeps it: a pipeline sees ctx as it was when it was scheduled (SC-14) at the price of a pointer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from noetl.engine.events import Patch
from noetl.writes import written

Mapping = dict[str, Any]
SCOPES = ("ctx", "step", "iter")


def scope_of(path: str) -> str:
    return path.partition(".")[0]


def patched(data: Mapping, patches: Iterable[Patch], scope: str) -> Mapping:
    """The data of one scope with its writes, in order."""
    for patch in patches:
        head, _, rest = patch.path.partition(".")
        if head == scope:
            data = written(data, rest.split("."), patch.value)
    return data


def value_at(data: Mapping, path: str) -> Any:
    """What a mapping has under a dotted path below its scope; None where there is nothing."""
    found: Any = data
    for key in path.split(".")[1:]:
        if not isinstance(found, dict) or key not in found:
            return None
        found = found[key]
    return found
