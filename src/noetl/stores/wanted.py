"""Which executions a list has, and which playbooks: what every store must find alike. Pure.

Texts are compared by their code points, as both databases do; the case of letters counts but in `text`, where that of
ASCII letters does not. A prefix becomes a span of paths, and the beginning of an id a few spans of ids, so that indexes
can find them and nothing has to be escaped.
"""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from noetl.stores.contract import Execution

ID_DIGITS_MAX = 19
ID_MAX = 2**63 - 1
LAST, SURROGATES = 0x10FFFF, range(0xD800, 0xE000)  # the last code point, and those that are no character
BEYOND = chr(LAST) * 1024  # no path is so long
LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


class Paths(msgspec.Struct, frozen=True, kw_only=True):
    """One of these paths, or one that begins with one of these prefixes; neither: any."""

    exact: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()

    @property
    def is_any(self) -> bool:
        return not self.exact and not self.prefixes

    def fit(self, path: str) -> bool:
        return self.is_any or path in self.exact or path.startswith(self.prefixes)


ANY_PATH = Paths()


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Executions. All that is given must hold."""

    statuses: tuple[str, ...] = ()  # one of these
    paths: Paths = ANY_PATH
    text: str = ""  # somewhere in the path, or the beginning of the id
    since: float | None = None  # created then or later
    until: float | None = None  # created then or before
    parent_id: int | None = None
    is_root: bool | None = None  # True: no other execution called it; False: one did

    def fits(self, row: Execution) -> bool:
        return (
            (not self.statuses or row.status in self.statuses)
            and self.paths.fit(row.path)
            and (not self.text or has_text(row.path, self.text) or is_id_beginning(self.text, row.id))
            and (self.since is None or row.created_at >= self.since)
            and (self.until is None or row.created_at <= self.until)
            and (self.parent_id is None or row.parent_id == self.parent_id)
            and (self.is_root is None or (row.parent_id is None) == self.is_root)
        )


ALL = Wanted()


def lowered(text: str) -> str:
    """ASCII letters in lower case; the others as they are."""
    return text.translate(LOWER)


def has_text(path: str, text: str) -> bool:
    return lowered(text) in lowered(path)


def is_id_beginning(text: str, execution_id: int) -> bool:
    return any(low <= execution_id <= high for low, high in id_spans(text))


def id_spans(text: str) -> list[tuple[int, int]]:
    """First and last of the ids that begin with these digits, for each length that an id can have."""
    if not (text.isascii() and text.isdigit() and len(text) <= ID_DIGITS_MAX) or text.startswith("0"):
        return []
    scales = (10**digits for digits in range(ID_DIGITS_MAX - len(text) + 1))
    spans = ((int(text) * scale, (int(text) + 1) * scale - 1) for scale in scales)
    return [(low, min(high, ID_MAX)) for low, high in spans if low <= ID_MAX]


def span(prefix: str) -> tuple[str, str]:
    """The prefix, and the first text after all that begin with it."""
    kept = prefix.rstrip(chr(LAST))
    if not kept:
        return prefix, BEYOND
    following = ord(kept[-1]) + 1
    return prefix, kept[:-1] + chr(SURROGATES.stop if following in SURROGATES else following)
