"""Writes: `ctx.a.b` and a value, onto data that others may still be looking at.

Data is never changed in place. A write copies the mappings along its path and shares the rest, so whoever holds the
old data keeps it: a pipeline sees ctx as it was when it was scheduled (SC-14) at the price of a pointer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from noetl.engine.events import Patch

Mapping = dict[str, Any]
SCOPES = ("ctx", "step", "iter")


def scope_of(path: str) -> str:
    return path.partition(".")[0]


def written(data: Mapping, keys: list[str], value: Any) -> Mapping:
    """The data with one value replaced; what stands in the way of the path gives way to mappings."""
    copy = dict(data)
    key = keys[0]
    if len(keys) == 1:
        copy[key] = value
    else:
        below = copy.get(key)
        copy[key] = written(below if isinstance(below, dict) else {}, keys[1:], value)
    return copy


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
