"""ctx, as its patches add up (SC-02). Writes in, a new mapping out; nothing that an event holds is changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from noetl.engine.events import Patch


def folded(ctx: dict[str, Any], patches: Iterable[Patch]) -> dict[str, Any]:
    """ctx after some writes; those to step and iter are not its own."""
    for patch in patches:
        scope, _, path = patch.path.partition(".")
        if scope == "ctx":
            ctx = with_value(ctx, path.split("."), patch.value)
    return ctx


def with_value(data: dict[str, Any], keys: list[str], value: Any) -> dict[str, Any]:
    """The data with one value replaced; the mappings on the way are copied, for events share them."""
    below = data.get(keys[0])
    if len(keys) > 1:
        value = with_value(below if isinstance(below, dict) else {}, keys[1:], value)
    return {**data, keys[0]: value}
