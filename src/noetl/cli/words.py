"""How the verbs about executions say things: durations, times, counts, data, colours. Text in, text out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from noetl.cli.voice import ESCAPE
from noetl.dsl.findings import printable
from noetl.wording import duration as duration
from noetl.wording import plural as plural

COLOURS = {
    "success": "green",
    "failed": "red",
    "cancelled": "yellow",
    "incident": "red",
    "waiting": "yellow",
    "running": "cyan",
    "skipped": "bright_black",
    "not_run": "bright_black",
}
CODES = {"red": 31, "green": 32, "yellow": 33, "cyan": 36, "bright_black": 90}  # of a terminal
LAST_COLUMN_MIN = 12  # of a table, for which the others must leave room
JOINERS = "\u200b\u200c\u200d\ufe0e\ufe0f"  # take no room
MARKS = {"success": "✓", "failed": "✗", "cancelled": "■", "incident": "✗", "waiting": "…", "running": "▸"}


def duration_ms(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else duration(milliseconds / 1000)


def moment(timestamp: str | None) -> str:
    """An ISO time in the reader's own time zone, to the second."""
    if not timestamp:
        return "-"
    return datetime.fromisoformat(timestamp).replace(tzinfo=UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def in_bytes(count: int) -> str:
    """`812 B`, `1.5 MiB`: three digits are enough for people."""
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"


def coloured(text: str, colour: str | None, *, bold: bool = False) -> str:
    """Text in a colour, unless NO_COLOR asks for none; whoever prints it drops colours where there is no terminal."""
    if os.environ.get("NO_COLOR"):
        return text
    start = f"{ESCAPE}{CODES[colour]}m" if colour else ""
    return f"{start}{ESCAPE}1m{text}{ESCAPE}0m" if bold else f"{start}{text}{ESCAPE}0m"


def status_word(status: str) -> str:
    return coloured(f"{MARKS.get(status, '·')} {status}", COLOURS.get(status))


def clean(text: str) -> str:
    """Data in one line, that cannot talk to the terminal."""
    return printable(" ".join(text.split("\n")))


def clean_lines(text: str) -> list[str]:
    """Data as lines, none of which can talk to the terminal."""
    return [printable(line.removesuffix("\r")) for line in text.split("\n")]


def as_json(data: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode()


def data_lines(data: Any) -> list[str]:
    """Data as people read it: a text as it is, anything else as JSON."""
    return clean_lines(data if isinstance(data, str) else as_json(data))


def one_line(data: Any, width: int) -> str:
    """Data in one line, cut where it is too long."""
    return cut(clean(data if isinstance(data, str) else msgspec.json.encode(data).decode()), width)


# --- room on a terminal ----------------------------------------------------------------------------------------------


def columns_of(text: str) -> int:
    """How many columns a text takes: East Asian letters and most pictures take two, marks on letters none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(one) or one in JOINERS else 2 if east_asian_width(one) in "WF" else 1 for one in text)


def cut(text: str, width: int) -> str:
    """A text in so many columns; where it is cut, an ellipsis says so."""
    if columns_of(text) <= width:
        return text
    kept, room = "", width - 1
    for one in text:
        room -= columns_of(one)
        if room < 0:
            break
        kept += one
    return kept + "…" if width > 0 else ""


def padded(text: str, width: int) -> str:
    """A text in exactly so many columns."""
    shown = cut(text, width)
    return shown + " " * (width - columns_of(shown))


def table(rows: Iterable[Iterable[str]], head: Iterable[str], terminal: int | None = None) -> list[str]:
    """Columns as wide as their widest cell; the last one is as wide as it is.

    On a terminal too narrow for them each row is a short list of its own, so that nothing is cut and nothing wraps in
    the middle of a column.
    """
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(columns_of, column)) for column in zip(*cells, strict=True)][:-1]
    width = terminal_columns() if terminal is None else terminal
    if width and sum(widths) + 2 * len(widths) + LAST_COLUMN_MIN > width:
        return stacked(cells)
    return ["  ".join([*map(padded, row, widths), row[-1]]) for row in cells]


def stacked(cells: list[list[str]]) -> list[str]:
    """Each row as lines of its own, named by the head and as far in as the row is; an empty cell needs none."""
    head, *rows = cells
    wide = max(map(len, head))
    found = [head[0]]
    for row in rows:
        indent = row[0][: len(row[0]) - len(row[0].lstrip())]
        named = zip(head[1:], row[1:], strict=True)
        found.append("\n".join([row[0], *(f"{indent}  {name.ljust(wide)}  {cell}" for name, cell in named if cell)]))
    return found


def terminal_columns() -> int:
    """How wide the terminal is that standard output goes to; 0: it goes elsewhere."""
    if not sys.stdout.isatty():
        return 0
    import shutil

    return shutil.get_terminal_size().columns
