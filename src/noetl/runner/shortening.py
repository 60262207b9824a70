"""Data made shorter: what is recorded for people to look at need not be whole.

A mapping or a text comes in, one that takes no more bytes or characters goes out, the same if it fits. What is cut says
so. Never used for what a playbook computes with.
"""

from __future__ import annotations

from typing import Any

import msgspec

CUTS = ((2_000, 100), (500, 30), (100, 10), (20, 5))  # (characters of a text, items of a list): the first that will do

encode = msgspec.json.Encoder().encode


def shrunk(mapping: dict[str, Any], bytes_max: int) -> dict[str, Any]:
    """A mapping that takes no more bytes: its texts and lists are cut as far as it needs; the same if it fits."""
    if not mapping or len(encode(mapping)) <= bytes_max:
        return mapping
    for characters_max, items_max in CUTS:
        shorter = {name: shortened(value, characters_max, items_max) for name, value in mapping.items()}
        if len(encode(shorter)) <= bytes_max:
            return shorter
    return {}


def begun(value: Any, bytes_max: int) -> Any:
    """How data begins, in so many bytes; nothing, if even that is too much."""
    for characters_max, items_max in CUTS:
        shorter = shortened(value, characters_max, items_max)
        if len(encode(shorter)) <= bytes_max:
            return shorter
    return None


def shortened(value: Any, characters_max: int, items_max: int) -> Any:
    """Data whose texts and lists are cut."""
    if isinstance(value, dict):
        pairs = list(value.items())[:items_max]
        return {name: shortened(item, characters_max, items_max) for name, item in pairs}
    if isinstance(value, list):
        return [shortened(item, characters_max, items_max) for item in value[:items_max]]
    return cut(value, characters_max) if isinstance(value, str) else value


def cut(text: str, characters_max: int) -> str:
    if len(text) <= characters_max:
        return text
    return f"{text[:characters_max]}… ({len(text) - characters_max} more characters)"
