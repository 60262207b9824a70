"""The labels in the gap between two rows: each on its curve, none on another label, and if it can be on no other curve.

A gap has room for some lines of labels. On each line a label may stand in the middle of its curve, or right or left of
it; it takes the first place where it covers no other label and the fewest other curves, lines in the middle first. A
gap grows by a line while that helps, and has never more lines than labels and one.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

LABEL_LINE, LABEL_AIR, GAP = 18.0, 8.0, 42.0
BISECTIONS = 20
CURVES_MINDED_MAX = 40
LABELS_TRIED_MAX = 12

Span = tuple[float, float]


class Label(msgspec.Struct):
    """A guard at its curve: the middle of its text."""

    text: str
    width: float
    x: float = 0.0
    y: float = 0.0


class Segment(msgspec.Struct, frozen=True):
    """A curve across the gap, from its x at the upper row to its x at the lower one, with its label if it has one."""

    label: Label | None
    upper: float
    lower: float


class Trial(msgspec.Struct):
    """The places of a gap's labels with so many lines, and how often one covers another's curve."""

    count: int
    places: list[tuple[Label, float, int]]  # label, the middle of it, its line
    covered: int


def place_labels(segments: Sequence[Segment], top: float) -> float:
    """Give the labels of a gap that begins at `top` their places; where it ends."""
    labelled = sorted((one for one in segments if one.label), key=lambda one: one.upper + one.lower)
    best: Trial | None = None
    for count in counts_to_try(len(labelled)):
        trial = try_lines(labelled, segments, count)
        if trial and (best is None or trial.covered < best.covered):
            best = trial
        if best and (not best.covered or len(labelled) > LABELS_TRIED_MAX):
            break
    if best is None:
        return top + GAP
    for label, middle, line in best.places:
        label.x, label.y = middle, top + share(line, best.count) * height(best.count)
    return top + height(best.count)


def counts_to_try(labels: int) -> list[int]:
    """How many lines of labels to try: all numbers for a few labels; for many, each twice the one before."""
    if labels <= LABELS_TRIED_MAX:
        return list(range(1, labels + 2))
    return [*(2**power for power in range(labels.bit_length())), labels + 1]


def height(count: int) -> float:
    return GAP + LABEL_LINE * (count - 1)


def share(line: int, count: int) -> float:
    """How far down the gap a line is, from 0 to 1."""
    return (GAP / 2 + LABEL_LINE * line) / height(count)


def try_lines(labelled: Sequence[Segment], segments: Sequence[Segment], count: int) -> Trial | None:
    """Places for all labels in so many lines; None if there is no room."""
    trial = Trial(count, [], 0)
    sways = [sway(share(line, count)) for line in range(count)]
    lines = sorted(range(count), key=lambda line: abs(line - (count - 1) / 2))
    taken: list[list[Span]] = [[] for _ in range(count)]
    minded = segments[:CURVES_MINDED_MAX]
    for segment in labelled:
        label = segment.label
        if label is None:
            continue
        free = [
            (covered, line, middle)
            for line in lines
            for middle in middles(segment, label, sways[line])
            if has_room(middle, label, taken[line])
            for covered in [covers(segment, middle, label, minded, sways[line])]
        ]
        if not free:
            return None
        covered, line, middle = min(free, key=lambda place: place[0])
        taken[line].append((middle - label.width / 2, middle + label.width / 2))
        trial.places.append((label, middle, line))
        trial.covered += covered
    return trial


def middles(segment: Segment, label: Label, swayed: float) -> tuple[float, float, float]:
    """Where the middle of a label may be on a line: on its curve, right of it, left of it."""
    on = crossing(segment, swayed)
    beside = label.width / 2 + LABEL_AIR
    return on, on + beside, on - beside


def has_room(middle: float, label: Label, taken: list[Span]) -> bool:
    left, right = middle - label.width / 2 - LABEL_AIR, middle + label.width / 2 + LABEL_AIR
    return all(right <= other[0] or other[1] <= left for other in taken)


def covers(segment: Segment, middle: float, label: Label, others: Sequence[Segment], swayed: float) -> int:
    """How many other curves a label would lie on."""
    half = label.width / 2 + 2
    return sum(abs(crossing(other, swayed) - middle) < half for other in others if other is not segment)


def crossing(segment: Segment, swayed: float) -> float:
    return segment.upper + (segment.lower - segment.upper) * swayed


def sway(down: float) -> float:
    """How much of its way across a curve has made that has come so far down its gap (`curves.py` draws the same)."""
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if 1.5 * middle * (1 - middle) + middle**3 < down:
            low = middle
        else:
            high = middle
    return 3 * low**2 - 2 * low**3
