"""The truth of a `when`: native values count by truth, text must be true, false or empty (TP-04)."""

from __future__ import annotations

from typing import Final

AS_TRUTH: Final = {"true": True, "false": False, "": False}


def truth_of(value: object) -> bool | None:
    """Whether a condition holds; None for other text, which is a fault."""
    return AS_TRUTH.get(value.strip().lower()) if isinstance(value, str) else bool(value)
