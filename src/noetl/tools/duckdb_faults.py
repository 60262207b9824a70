"""What DuckDB says went wrong, as a fault of the task: an exception in, plain data out. Used inside its child.

The kind of error, whether another attempt may help, DuckDB's words without its drawing of the statement, and the line
of the author's text. What the words quote may be a secret: whoever shows them masks it first.
"""

from __future__ import annotations

import re
from typing import Any, Final, Protocol

import duckdb

WORDS_CHARACTERS_MAX: Final = 100_000  # cut by whoever shows them, when secrets are out
LOCKED_DOWN: Final = (
    "SQL reaches no file, network or extension here: name databases under database and attach, results under read, and "
    "store rows with write"
)
HINTS: Final = (
    (
        re.compile(r"disabled by configuration|disabled through configuration|configuration has been locked"),
        LOCKED_DOWN,
    ),
    (
        re.compile(r"(sqlite|postgres)_scanner"),
        "this is no file of DuckDB: other databases need an extension, and none can be loaded",
    ),
    (re.compile(r"requires the extension|exists in the \w+ extension"), f"no extension can be loaded; {LOCKED_DOWN}"),
    (
        re.compile(r"within a transaction|transaction is active|single transaction can only write"),
        "all statements of a task are one transaction: set spec.autocommit: true for one each",
    ),
)
_CONFLICT: Final = re.compile(r"[Cc]onflict|Could not set lock")
_FILE_TOO_LARGE: Final = re.compile(r"File too large")  # EFBIG, in the words of the system
_LINE: Final = re.compile(r"^LINE (\d+):", re.MULTILINE)


class TooManyRows(Exception):
    """The rows of a statement are more than a result may have."""


class NoRows(Exception):
    """A statement whose rows are to be written gives none."""


class OldLibrary(Exception):
    """The DuckDB that is installed cannot be locked down."""


# by exception, the first that fits: error.kind; what is none of these is a fault of our own
KINDS: Final = (
    (TooManyRows, "limit"),
    (NoRows, "type"),
    (duckdb.ConstraintException, "db_constraint"),
    (duckdb.OutOfMemoryException, "limit"),
    (MemoryError, "limit"),
    (OverflowError, "type"),
    (UnicodeError, "type"),
    (duckdb.Error, "db_error"),
)


class Progress(Protocol):
    """How far it was."""

    statement: dict[str, Any] | None  # the one that ran
    reading: str  # the table that was made of a result


def fault_of(raised: BaseException, progress: Progress | None, question: dict[str, Any]) -> dict[str, Any]:
    """The fault as an answer has it; without progress no database could be opened."""
    text = str(raised)[:WORDS_CHARACTERS_MAX]
    is_conflict = isinstance(raised, duckdb.TransactionException | duckdb.IOException) and _CONFLICT.search(text)
    kind = "db_conflict" if is_conflict else _kind_of(raised, text)
    message = text.split("\n\n", 1)[0].replace("\n", " ").strip().rstrip(".")
    if progress is not None and progress.reading:
        message = f"read.{progress.reading}: {message}"
    line = progress.statement["line"] if progress is not None and progress.statement else None
    hint = next((hint for pattern, hint in HINTS if pattern.search(text)), "")
    if kind == "limit" and not isinstance(raised, TooManyRows):
        hint = (
            f"the query may use {question['memory_mb']} MiB of memory and {question['disk_mb']} MiB of disk: raise "
            "spec.memory_mb or spec.disk_mb, or ask for less"
        )
    said = _LINE.search(text)
    if line is not None and said:
        line += int(said[1]) - 1
    return {
        "kind": kind,
        "retryable": bool(is_conflict),
        "message": message,
        "hint": hint,
        "line": line,
        "exception_type": type(raised).__name__,
    }


def _kind_of(raised: BaseException, text: str) -> str:
    if isinstance(raised, duckdb.IOException | duckdb.FatalException) and _FILE_TOO_LARGE.search(text):
        return "limit"
    return next((kind for sort, kind in KINDS if isinstance(raised, sort)), "exception")


def is_fatal(raised: BaseException) -> bool:
    """Whether the child should not be used again."""
    return not isinstance(raised, duckdb.Error | TooManyRows | NoRows | OverflowError | UnicodeError) or isinstance(
        raised, duckdb.OutOfMemoryException | duckdb.FatalException | duckdb.InternalException
    )
