"""How deep JSON nests, found before anything is built from it: what comes from outside may be made to be deep."""

from __future__ import annotations

import re

STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # linear: what begins matches, also without an end
NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
OPENING = b"[{"


def is_deeper_than(data: bytes, depth_max: int) -> bool:
    """Whether brackets nest deeper, found before anything is built from them; the brackets in texts do not count."""
    if data.count(b"[") + data.count(b"{") <= depth_max:
        return False
    depth = 0
    for bracket in STRINGS.sub(b"", data).translate(None, NOT_BRACKETS):
        depth += 1 if bracket in OPENING else -1
        if depth > depth_max:
            return True
    return False
