"""Lines as SVG paths: straight beside boxes, curved in the gaps between rows."""

from __future__ import annotations

import msgspec

CORNER = 10.0


class Ends(msgspec.Struct):
    """The x of a link's upper and of its lower end."""

    upper: float
    lower: float


class Frame(msgspec.Struct):
    """Where each row begins and ends."""

    tops: list[float]
    bottoms: list[float]


def number(value: float) -> str:
    """A coordinate, short."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def point(x: float, y: float) -> str:
    return f"{number(x)},{number(y)}"


def across(x: float, y: float, to_x: float, to_y: float) -> str:
    """A curve from one row to the next that leaves and arrives upright."""
    middle = (y + to_y) / 2
    return f"C{point(x, middle)} {point(to_x, middle)} {point(to_x, to_y)}"


def down_path(frame: Frame, row: int, xs: list[float], start: float, end: float) -> str:
    """From the bottom of a box down to the top of another, past a point in every row between."""
    path = [f"M{point(xs[0], start)}"]
    here = start
    for at in range(len(xs) - 1):
        path += upright(here, frame.bottoms[row + at])
        here = frame.tops[row + at + 1]
        path.append(across(xs[at], frame.bottoms[row + at], xs[at + 1], here))
    return " ".join([*path, *upright(here, end)])


def upright(y: float, to_y: float) -> list[str]:
    """A line straight down, if there is a way to go: one without a length would turn the arrow at its end aside."""
    return [f"V{number(to_y)}"] if number(y) != number(to_y) else []


def back_path(frame: Frame, row: int, xs: list[float], start: tuple[float, float], end: tuple[float, float]) -> str:
    """From the right side of a box up to the right side of another, which stands in `row`."""
    last = len(xs) - 1
    path = [f"M{point(*start)}", f"H{number(xs[last] - CORNER)}"]
    path.append(f"Q{point(xs[last], start[1])} {point(xs[last], start[1] - CORNER)}")
    for at in range(last, 0, -1):
        path.append(f"V{number(frame.tops[row + at])}")
        path.append(across(xs[at], frame.tops[row + at], xs[at - 1], frame.bottoms[row + at - 1]))
    path.append(f"V{number(end[1] + CORNER)}")
    path.append(f"Q{point(xs[0], end[1])} {point(xs[0] - CORNER, end[1])}")
    return " ".join([*path, f"H{number(end[0])}"])


def loop_path(side: float, out: float, upper: float, lower: float) -> str:
    """From the right side of a box and back to it."""
    return f"M{point(side, upper)} C{point(out + CORNER, upper)} {point(out + CORNER, lower)} {point(side, lower)}"
