"""A fault, its place, and how it prints.

Rules make findings; `check.py` sorts them; the command line prints them as text, JSON, SARIF or GitHub annotations.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain, islice

import msgspec

from noetl.dsl.source import Place, Source

ERROR, WARNING, INFO = "error", "warning", "info"
EXCERPT_COLUMNS = 160
SENSITIVE = (  # compiled with the first line that is shown: that takes longer than importing this module
    r"""(?i)((?:password|passwd|secret|token|api_?key|private_?key|authorization)[\w-]*["']?\s*:\s*["']?)"""
    r"""(?!\{|\[|[|>&*!]|\w+\s+\{|true|false|null|[\d.]+\s*[,}]?$)((?:bearer |basic )?[^\s,}"'{]+)"""
)
NAMES_COMPARED_MAX = 60  # more names than this are looked up by an index instead of one by one
WORD_CHARS_MAX = 80
CLOSE = 0.85  # so alike that it can only be a slip
SEVERITIES = (ERROR, WARNING, INFO)


class Edit(msgspec.Struct, frozen=True):
    """A mechanical repair: these characters of the file become that text."""

    start: int
    end: int
    text: str


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One fault: what, where, why, and how to fix it."""

    code: str
    rule: str
    severity: str
    place: Place
    message: str
    why: str = ""
    fix: str = ""
    edits: tuple[Edit, ...] = ()
    is_about_secret: bool = False  # what follows on the line may be a secret, and is not printed


def as_data(finding: Finding) -> dict[str, object]:
    """The JSON form of a finding."""
    place = finding.place
    return {
        "code": finding.code,
        "rule": finding.rule,
        "severity": finding.severity,
        "path": place.file,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
        "message": finding.message,
        "why": finding.why,
        "fix": finding.fix,
        "fixable": bool(finding.edits),
    }


def as_text(finding: Finding, source: Source | None) -> str:
    """The form people read: one line that says what and where, the line it stands in, why, and the fix."""
    head = f"{finding.place}: {finding.severity} {finding.code}: {finding.message}"
    shown = excerpt(finding.place, source, finding.is_about_secret) if source else []
    why = [f"   why: {finding.why}"] if finding.why else []
    hint = f"(noetl explain {finding.code})"
    last = f"   fix: {finding.fix} {hint}" if finding.fix else f"   see: {hint[1:-1]}"
    return "\n".join([printable(head), *shown, *map(printable, why), printable(last)])


def excerpt(place: Place, source: Source, is_about_secret: bool = False) -> list[str]:
    """The line of a place with the place underlined; of a very long line the part around the place."""
    line, column = source.line(place.line), place.column
    line = line[: place.end_column - 1] + ": ***" if is_about_secret else re.sub(SENSITIVE, masked, line)
    if not line.strip():
        return []
    end = min(place.end_column if place.end_line == place.line else len(line) + 1, len(line) + 1)
    first = max(0, column - 1 - EXCERPT_COLUMNS // 2) if len(line) > EXCERPT_COLUMNS else 0
    shown = line[first : first + EXCERPT_COLUMNS]
    before = ("…" if first else "") + printable(shown[: column - 1 - first])
    after = printable(shown[column - 1 - first :]) + ("…" if first + EXCERPT_COLUMNS < len(line) else "")
    pad = "".join("\t" if char == "\t" else " " for char in before)
    width = max(1, min(end - column, EXCERPT_COLUMNS + first - column + 1))
    number = f"{place.line:>5}"
    return [f"{number} | {before}{after}", f"{' ' * len(number)} | {pad}{'^' * width}"]


def masked(match: re.Match[str]) -> str:
    """A value that its key calls a secret, as so many stars."""
    return match[1] + "*" * len(match[2])


def printable(text: str) -> str:
    """Text with control characters replaced, so that a file cannot talk to the terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else "\ufffd" for char in text)


def near_miss(word: str, known: Iterable[str]) -> str | None:
    """The known word most like this one, if any is like it."""
    names = tuple(known)
    if len(word) > WORD_CHARS_MAX:
        return None
    return closest(word, names if len(names) <= NAMES_COMPARED_MAX else similar(word, names))


def similar(word: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Of many names those about as long that begin or end alike: only these are compared letter by letter."""
    shelves = shelved(names)
    ends = (word[:2], ".." + word[-2:])
    found = (shelves.get((len(word) + more, end), ()) for more in (0, -1, 1) for end in ends)
    return tuple(islice(chain.from_iterable(found), NAMES_COMPARED_MAX))


@lru_cache(maxsize=8)
def shelved(names: tuple[str, ...]) -> dict[tuple[int, str], list[str]]:
    """Names by length and beginning, and by length and end."""
    shelves: dict[tuple[int, str], list[str]] = {}
    for name in names:
        for end in (name[:2], ".." + name[-2:]):
            shelves.setdefault((len(name), end), []).append(name)
    return shelves


@lru_cache(maxsize=1024)
def closest(word: str, names: tuple[str, ...]) -> str | None:
    from difflib import SequenceMatcher, get_close_matches  # a playbook without a fault does without

    close = get_close_matches(word, names, n=1, cutoff=0.6)
    begun = max((name for name in names if word.startswith((f"{name}_", f"{name}-"))), key=len, default=None)
    if begun and not (close and SequenceMatcher(None, word, close[0]).ratio() > CLOSE):
        return begun
    if close:
        return close[0]
    return {name.lower(): name for name in names}.get(word.lower())


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """The fix for a misspelt word: the near miss, or what else to do."""
    miss = near_miss(word, known)
    return f'did you mean "{miss}"?' if miss else otherwise


def listed(words: Iterable[str], most: int = 12) -> str:
    """Words in a row, cut where a reader would stop reading."""
    names = list(words)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def usefulness(finding: Finding) -> tuple[int, int, int, str]:
    """The order in which findings are shown: errors first, then where they stand."""
    return (SEVERITIES.index(finding.severity), finding.place.line, finding.place.column, finding.code)


def apply_edits(text: str, findings: Iterable[Finding]) -> tuple[str, int]:
    """The text with every repair made that does not touch another one, and how many findings that repaired."""
    taken: list[Edit] = []  # in order
    repaired = 0
    for finding in findings:
        if finding.edits and not any(touches(taken, edit) for edit in finding.edits):
            for edit in finding.edits:
                insort(taken, edit, key=span_of)
            repaired += 1
    pieces, at = [], 0
    for edit in taken:
        pieces += [text[at : edit.start], edit.text]
        at = max(at, edit.end)
    return "".join([*pieces, text[at:]]), repaired


def span_of(edit: Edit) -> tuple[int, int]:
    return edit.start, edit.end


def touches(taken: list[Edit], edit: Edit) -> bool:
    """Whether a repair changes the same characters (or inserts at the same place) as one of those taken."""
    place = bisect_left(taken, (edit.start, -1), key=span_of)
    is_begun = place > 0 and taken[place - 1].end > edit.start
    is_next = place < len(taken) and (taken[place].start < edit.end or taken[place].start == edit.start)
    return is_begun or is_next
