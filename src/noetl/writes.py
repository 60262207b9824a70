"""One value written below a path of keys, onto data that others may still be looking at: what changes is copied."""

from __future__ import annotations

from typing import Any


def written(data: dict[str, Any], keys: list[str], value: Any) -> dict[str, Any]:
    """The data with one value replaced; what stands in the way of the path gives way to mappings."""
    if len(keys) > 1:
        below = data.get(keys[0])
        value = written(below if isinstance(below, dict) else {}, keys[1:], value)
    return {**data, keys[0]: value}
