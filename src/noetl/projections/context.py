"""ctx, as its patches add up (SC-02). Writes in, a new mapping out; nothing that an event holds is changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from noetl.engine.events import Patch
from noetl.writes import written


def folded(ctx: dict[str, Any], patches: Iterable[Patch]) -> dict[str, Any]:
    """ctx after some writes; those to step and iter are not its own."""
    for patch in patches:
        scope, _, path = patch.path.partition(".")
        if scope == "ctx":
            ctx = written(ctx, path.split("."), patch.value)
    return ctx
