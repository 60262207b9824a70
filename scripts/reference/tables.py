"""Markdown that all pages of the reference share: tables, code, the line that says where a page comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

LINK = re.compile(r"\]\((?!https?://|#)([^)]+)\)")


def page(title: str, intro: str, lines: Iterable[str]) -> str:
    """A whole page; `intro` says what it is and where the explanation stands."""
    note = "<!-- made by `make pages` from the code: change it there -->"
    return "\n".join([note, "", f"# {title}", "", intro, "", *lines]).rstrip() + "\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table, or nothing where there are no rows."""
    found = [f"| {' | '.join(cell(one) for one in row)} |" for row in rows]
    return [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *found, ""] if found else []


def cell(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text).replace("|", "\\|").strip()


def code(text: object) -> str:
    """As code in a line; nothing stays nothing."""
    return f"`{text}`" if str(text) else ""


def from_below(text: str) -> str:
    """Words whose links are those of a page in docs/, for a page in docs/reference/."""
    return LINK.sub(r"](../\1)", text)
