"""How the verbs about executions say things: durations, times, counts, data, colours. Text in, text out."""

from __future__ import annotations

import os
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
    text = clean(data if isinstance(data, str) else msgspec.json.encode(data).decode())
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def table(rows: Iterable[Iterable[str]], head: Iterable[str]) -> list[str]:
    """Columns as wide as their widest cell; the last one is as wide as it is."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)][:-1]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in cells
    ]
