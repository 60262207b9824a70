"""The log of the program itself: JSON lines beside the store, made when there is something to say.

What people must know stands in events and on the terminal; this is for whoever has to find out why something broke.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

FILE_BYTES_MAX = 10 * 1024 * 1024
STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class Lines(logging.Formatter):
    """One JSON object per line: when, how bad, what, the ids, and the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"ts": record.created, "level": record.levelname, "message": record.getMessage()}
        line |= {name: str(value) for name, value in vars(record).items() if name not in STANDARD}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


class LogFile(logging.FileHandler):
    """A file that may fail to be written: on a full disk the run has its own words for that."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Say nothing: the library would print a traceback on the terminal."""

    def close(self) -> None:
        with suppress(OSError):  # what could not be written before cannot be now
            super().close()


@contextmanager
def logging_to(file: Path) -> Iterator[None]:
    """What the package logs goes to a file, and nothing of it to the terminal, as long as this lasts."""
    if file.exists() and file.stat().st_size > FILE_BYTES_MAX:
        file.replace(file.with_suffix(".log.1"))
    handler = LogFile(file, delay=True, encoding="utf-8")
    handler.setFormatter(Lines())
    logger = logging.getLogger("noetl")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
        handler.close()
