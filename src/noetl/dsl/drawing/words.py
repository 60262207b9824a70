"""Words in a picture: how wide they are, how they are cut, what of a guard is shown.

Nobody can ask a font here, so widths are those of a common sans-serif with some air. What a playbook says is data: it
is cleaned of control characters here, and escaped where it is written.
"""

from __future__ import annotations

import re
import unicodedata

from noetl.dsl.graph import GraphArc, GraphStep

NARROW = frozenset("iljtfrI.,:;'|!()[]{} -")
WIDE = frozenset("mwMW@%→…")
EM_NARROW, EM_NORMAL, EM_CAPITAL, EM_WIDE, EM_FULL = 0.34, 0.585, 0.7, 0.87, 1.0
EM_CODE = 0.602
BOLD = 1.07
KINDS_SHOWN_MAX = 4
EVENT_GUARD = re.compile(r"event\.name == ['\"]([\w.]+)['\"]")


def em(char: str) -> float:
    if char in NARROW:
        return EM_NARROW
    if char in WIDE:
        return EM_WIDE
    if unicodedata.combining(char):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return EM_FULL
    return EM_CAPITAL if char.isupper() else EM_NORMAL


def width(text: str, size: float, is_bold: bool = False) -> float:
    """About how wide a text is, in pixels."""
    return sum(map(em, text)) * size * (BOLD if is_bold else 1.0)


def code_width(text: str, size: float) -> float:
    """About how wide a text is where all letters are equally wide."""
    return sum(em(char) if em(char) in (0.0, EM_FULL) else EM_CODE for char in text) * size


def cut(text: str, size: float, widest: float, is_bold: bool = False) -> str:
    """A text cut so that it is no wider than that."""
    if width(text, size, is_bold) <= widest:
        return text
    room = widest - width("…", size, is_bold)
    kept = 0
    for char in text:
        room -= em(char) * size * (BOLD if is_bold else 1.0)
        if room < 0:
            break
        kept += 1
    return text[:kept].rstrip() + "…"


def clean(text: str) -> str:
    """A text on one line, with nothing in it that is not to be seen."""
    line = " ".join(text.split())
    return "".join(char if char.isprintable() else "\ufffd" for char in line)


def kinds_line(step: GraphStep) -> str:
    """What the step's pipeline does: http → python → postgres."""
    kinds = [clean(task.kind) or "?" for task in step.tasks]
    if len(kinds) > KINDS_SHOWN_MAX:
        half = KINDS_SHOWN_MAX // 2
        kinds = [*kinds[:half], "…", *kinds[-half:]]
    return " → ".join(kinds)


def loop_line(step: GraphStep) -> str:
    """What the step loops over: page · parallel × 8, then hotel."""
    return ", then ".join(
        clean(loop.iterator) + (" · parallel" if loop.is_parallel else "") + in_flight(loop.max_in_flight)
        for loop in step.loops
    )


def in_flight(bound: int | None) -> str:
    return f" × {bound}" if bound is not None else ""


def arc_label(arc: GraphArc) -> str:
    """What is written beside an arc: its guard, in short."""
    if arc.when is None:
        return "otherwise" if arc.is_fallback else ""
    alone = EVENT_GUARD.fullmatch(arc.when)
    return alone[1] if alone else clean(arc.when)
