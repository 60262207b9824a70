"""Bounds of the expression language: what every other file here counts against.

Nothing comes in. A `Limits` goes out; `LIMITS` is the one used unless the caller hands over another. Limits never
look at a value, they are only numbers with names. (TP-05, security.md row 3)
"""

from typing import Final

import msgspec

MEBI: Final = 1024 * 1024
INTEGER_MIN: Final = -(2**63)
INTEGER_MAX: Final = 2**64 - 1

# Bounded before Jinja2's recursive parser sees it: a bracket costs it about 14 Python frames of the usual 1 000.
BRACKETS_MAX: Final = 32
# Depth of the whole tree, left-leaning chains (a + b + c …, a.b.c …) included; walking it costs 1 to 2 frames a level.
DEPTH_MAX: Final = 200


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one evaluation may use. A unit of `work` is about one byte made or six nanoseconds spent."""

    source_chars: int = 8 * 1024
    output_chars: int = MEBI
    text_chars: int = MEBI
    items: int = 1_000_000
    range_items: int = 10_000_000
    json_depth: int = 64
    work: int = 12 * MEBI


LIMITS: Final = Limits()

# What work costs, in units.
WORK_PER_ITEM: Final = 16  # one more place in a list
WORK_PER_NEW_NUMBER: Final = 40  # a number object and its place
WORK_PER_PIECE: Final = 72  # a small string object and its place
WORK_PER_CALL: Final = 96  # a filter or test applied to one element
WORK_PER_NODE: Final = 48  # one node of a template, evaluated once more by a loop
WORK_PER_TURN: Final = 64  # a turn of a loop, body aside
WORK_PER_WALK: Final = 128  # one value met while data is measured
