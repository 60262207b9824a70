"""The texts that a template compares a path with: `event.name == 'step.done'`, `output.status in ['ok', 'error']`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import msgspec

from noetl.dsl.draft import Text
from noetl.dsl.source import Place

LITERAL = r"'[^'\\]*'|\"[^\"\\]*\""
ONE_LITERAL = re.compile(LITERAL)
HOLDS = r"==|\bin\b"
DIFFERS = r"!=|\bnot\s+in\b"


class Compared(msgspec.Struct, frozen=True):
    """A text that a path is compared with, and where it stands (without its quotes)."""

    name: str
    place: Place


@cache
def pattern(path: tuple[str, ...], signs: str) -> re.Pattern[str]:
    first, *keys = path
    read = rf"(?<![\w.]){first}" + "".join(rf"\s*(?:\.\s*{key}\b|\[\s*(?:'{key}'|\"{key}\")\s*\])" for key in keys)
    return re.compile(
        rf"{read}\s*(?:{signs})\s*(?P<right>{LITERAL}|[\[(](?:\s*(?:{LITERAL})\s*,?)*[\])])"
        rf"|(?P<left>{LITERAL})\s*(?:{signs})\s*{read}(?!\s*[.\[(])"
    )


def compared_texts(text: Text, path: tuple[str, ...], signs: str = HOLDS) -> Iterator[Compared]:
    """What a template compares a path with, by these signs."""
    source = text.template.source if text.template else ""
    if path[0] not in source or path[-1] not in source:
        return
    for match in pattern(path, signs).finditer(source):
        group = "right" if match["right"] else "left"
        for literal in ONE_LITERAL.finditer(match[group]):
            start = match.start(group) + literal.start() + 1
            end = match.start(group) + literal.end() - 1
            yield Compared(literal[0][1:-1], text.place_of(start, end))
