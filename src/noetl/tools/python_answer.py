"""What came of a task's code, in words: what it printed and how it failed, as an answer (python_child.py).

An exception is told by its type, its text and the author's own lines on the way to it: no frame of ours or of a library
is shown, and no local value. Used inside children and by inline.
"""

from __future__ import annotations

import io
import json

from noetl.tools.json_data import Unfit
from noetl.tools.python_code import WRAPPER_NAME, file_name

TYPE_CHECKING = False  # typing is an import of 3 ms, in every child
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType
    from typing import Any

PRINTED_BYTES_MAX = 16 * 1024
PRINTED_LINES_MAX = 200
MESSAGE_CHARS_MAX = 2_000
FRAMES_SHOWN_MAX = 10  # half of them from the outside, half from the inside
SOURCE_CHARS_MAX = 160
NOTHING_BESIDES = b'"error":null,"stdout":"","logs":[]}'  # of most answers, so it is written once


class Printed(io.BufferedIOBase):
    """Takes what the code prints and keeps the first part of it."""

    name = "<printed>"

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.kept = bytearray()
        self.line_breaks = 0
        self.is_cut = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        taken = bytes(data)
        room = PRINTED_BYTES_MAX - len(self.kept)
        self.kept += taken[:room]
        self.line_breaks += taken.count(b"\n")
        self.is_cut |= len(taken) > room
        return len(taken)

    def take(self) -> tuple[str, list[str]]:
        """The text and its lines since the last time."""
        text = self.kept.decode("utf-8", "replace")
        lines = text.removesuffix("\n").split("\n")[:PRINTED_LINES_MAX] if text else []
        if self.line_breaks > len(lines):
            lines.append(f"… {self.line_breaks - len(lines)} more lines")
        elif self.is_cut:
            lines.append("… (cut)")
        self.start()
        return text, lines


def encoded(data: bytes, error: dict[str, Any] | None, printed: Printed) -> bytes:
    """The answer as JSON; `data` is JSON already."""
    if error is None and not printed.line_breaks and not printed.kept:
        return b'{"data":' + data + b"," + NOTHING_BESIDES
    text, logs = printed.take()
    rest = json.dumps({"error": error, "stdout": text, "logs": logs}).encode()
    return b'{"data":' + data + b"," + rest[1:]


def error_of(raised: BaseException, name: str, code: str) -> dict[str, Any]:
    """Why the code failed, for people: type, text and the lines of the code."""
    if isinstance(raised, Unfit):
        return {"kind": raised.kind, "message": str(raised), "exception_type": None, "line": None, "traceback": []}
    steps = list(own_steps(raised, file_name(name)))
    line = steps[-1][0] if steps else None
    place = f" (line {line} of {name})" if line else ""
    exception_type, kind = type(raised).__name__, "exception"
    text = text_of(raised)
    message = f"{exception_type}: {text}{place}" if text else f"{exception_type}{place}"
    if isinstance(raised, MemoryError):
        kind, message = "limit", f"out of memory{place}"
    traceback = shortened([told(step, code) for step in steps])
    return {"kind": kind, "message": message, "exception_type": exception_type, "line": line, "traceback": traceback}


def text_of(raised: BaseException) -> str:
    try:
        text = str(raised.msg if isinstance(raised, SyntaxError) else raised)
    except Exception:  # an exception whose __str__ fails must not take the answer with it
        return ""
    return text if len(text) <= MESSAGE_CHARS_MAX else f"{text[:MESSAGE_CHARS_MAX]}…"


def own_steps(raised: BaseException, file: str) -> Iterator[tuple[int, str]]:
    """Line and function of each step on the way to the exception that is in the task's code, the innermost last."""
    if isinstance(raised, SyntaxError) and raised.filename == file:
        yield raised.lineno or 1, ""
        return
    step = raised.__traceback__
    while step is not None:
        code: CodeType = step.tb_frame.f_code
        if code.co_filename == file:
            is_top = code.co_name in ("<module>", WRAPPER_NAME)
            yield step.tb_lineno, "" if is_top else code.co_name
        step = step.tb_next


def told(step: tuple[int, str], code: str) -> str:
    """`line 3, in main: return a / b`"""
    line, function = step
    lines = code.splitlines()
    source = lines[line - 1].strip()[:SOURCE_CHARS_MAX] if line <= len(lines) else ""
    return f"line {line}{f', in {function}' if function else ''}: {source}"


def shortened(steps: list[str]) -> list[str]:
    """The ends of a long way."""
    if len(steps) <= FRAMES_SHOWN_MAX:
        return steps
    half = FRAMES_SHOWN_MAX // 2
    return [*steps[:half], f"… {len(steps) - FRAMES_SHOWN_MAX} more", *steps[-half:]]
