"""Sums that do not depend on the order in which their numbers come: nothing is rounded before the end (SC-12).

A sum in the making is a list: the sum of all whole numbers, then floats that do not overlap (Shewchuk), which together
are the sum of all floats. What outgrows the numbers that a log can hold on the way is written as digits: a whole number
as a text, floats as a list with one text, in units of 2**-1074, of which every float is a whole number. So numbers that
cancel each other out are no fault, in whatever order they meet; only the end has to fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

WHOLE_MAX = 2**63 - 1  # what a log can hold
UNITS = 2**1074
Parts = list[Any]  # see above


def exact_sum(numbers: Iterable[Any]) -> Parts:
    """Finite numbers, and parts of other sums, as one sum."""
    whole = 0
    parts: list[float] = []
    units: int | None = None
    for one in numbers:
        if isinstance(one, int | str):
            whole += int(one)
        elif isinstance(one, list):
            units = (units or 0) + int(one[0])
        elif (added := _with_part(parts, one)) is not None:
            parts = added
        else:
            units, parts = (units or 0) + _units([*parts, one]), []
    kept = whole if -WHOLE_MAX <= whole <= WHOLE_MAX else str(whole)
    return [kept, *parts] if units is None else [kept, [str(units + _units(parts))]]


def rounded_sum(parts: Parts) -> int | float:
    """What a sum comes to: a whole number if all numbers were. Raises OverflowError."""
    whole, *floats = parts
    if not floats:
        if isinstance(whole, str):
            raise OverflowError
        return int(whole)
    units = sum(int(one[0]) if isinstance(one, list) else _units([one]) for one in floats)
    return (int(whole) * UNITS + units) / UNITS


def _with_part(parts: list[float], one: float) -> list[float] | None:
    """One more float among those that do not overlap; None: they become too large."""
    rests = []
    for part in parts:
        large, small = (one, part) if abs(one) >= abs(part) else (part, one)
        one = large + small
        if math.isinf(one):
            return None
        rest = small - (one - large)
        if rest:
            rests.append(rest)
    return [*rests, one]


def _units(floats: list[float]) -> int:
    ratios = (one.as_integer_ratio() for one in floats)
    return sum(above * (UNITS // below) for above, below in ratios)
