"""The log of the program itself: lines on standard error for servers and workers, a file beside the store for a run.

What people must know stands in events and on the terminal; this is for whoever has to find out why something broke. A
record comes in with a stable `action` and ids beside its message; one line goes out, as JSON or for people. Every line
is cleaned of the secrets that the process knows. A line never holds a payload, and nothing that is logged can make a
line that looks like another one, or reach a terminal as anything but text.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

import msgspec

FILE_BYTES_MAX = 10 * 1024 * 1024
PRIVATE_FILE = 0o600
FIELD_CHARACTERS_MAX = 2_000
TRACEBACK_CHARACTERS_MAX = 20_000
STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}  # the last: uvicorn's
LOGGERS = ("noetl", "uvicorn")
TEXT, JSON = "text", "json"
LEFT_OUT = {"message": "a line that could not be cleaned of secrets is left out", "action": "line_left_out"}

Clean = Callable[[Any], Any]


def as_it_is(data: Any) -> Any:
    """For a process that knows no secrets."""
    return data


class Form(logging.Formatter):
    """A record as fields: when, how bad, who says it, what, the ids, and the traceback; cleaned and bounded."""

    def __init__(self, about: Mapping[str, str] | None = None, clean: Clean = as_it_is) -> None:
        super().__init__()
        self.about = about or {}  # on every line: server, worker, pool
        self.clean = clean

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        facts = {"message": bounded(record.getMessage()), **self.about}
        facts |= {name: bounded(str(value)) for name, value in vars(record).items() if name not in STANDARD}
        if record.exc_info:
            facts["traceback"] = self.formatException(record.exc_info)[-TRACEBACK_CHARACTERS_MAX:]
        try:
            facts = self.clean(facts)
        except Exception:  # whatever it was, it must not be the reason that a secret is written
            facts = dict(LEFT_OUT)
        return {"ts": record.created, "level": record.levelname, "logger": record.name, **facts}


class Lines(Form):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        return msgspec.json.encode(self.fields(record)).decode()


class Sentences(Form):
    """For people: the time, the message, then what else there is; a traceback on lines of its own, indented."""

    def format(self, record: logging.LogRecord) -> str:
        fields = self.fields(record)
        at = datetime.fromtimestamp(fields.pop("ts"), tz=UTC).isoformat(timespec="milliseconds")
        traceback = fields.pop("traceback", "")
        head = f"{at.replace('+00:00', 'Z')} {fields.pop('level'):<7} {visible(fields.pop('message'))}"
        del fields["logger"]
        facts = "".join(f" {name}={quoted(str(value))}" for name, value in fields.items() if value != "")
        return head + facts + "".join(f"\n    {visible(line)}" for line in str(traceback).splitlines())


FORMS: dict[str, type[Form]] = {TEXT: Sentences, JSON: Lines}


def bounded(text: str) -> str:
    return text if len(text) <= FIELD_CHARACTERS_MAX else text[: FIELD_CHARACTERS_MAX - 1] + "…"


def visible(text: str) -> str:
    """A text that stays on its line and moves no cursor."""
    return text if text.isprintable() else "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def quoted(text: str) -> str:
    """A value that cannot be taken for several: in quotation marks, if it has what stands between them."""
    shown = visible(text)
    return msgspec.json.encode(shown).decode() if any(char in shown for char in ' ="') else shown


class Quiet(logging.Handler):
    """One that may fail to be written: for a full disk, or a terminal that is gone, the process has its own words."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Say nothing: the library would print a traceback on the terminal."""


class LogFile(Quiet, logging.FileHandler):
    """Only its owner may read it: audit lines say who did what."""

    def _open(self) -> TextIOWrapper:
        return TextIOWrapper(open(self.baseFilename, "ab", opener=_private), encoding=self.encoding)

    def close(self) -> None:
        with suppress(OSError):  # what could not be written before cannot be now
            super().close()


class LogStream(Quiet, logging.StreamHandler[TextIO]):
    pass


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE_FILE)


@contextmanager
def logging_to(file: Path) -> Iterator[None]:
    """What the package logs goes to a file, and nothing of it to the terminal, as long as this lasts."""
    if file.exists() and file.stat().st_size > FILE_BYTES_MAX:
        file.replace(file.with_suffix(".log.1"))
    handler = LogFile(file, delay=True, encoding="utf-8")
    handler.setFormatter(Lines())
    with _handled(handler, LOGGERS[:1]):
        yield


@contextmanager
def logging_to_stderr(
    form: str, level: str, about: Mapping[str, str] | None = None, clean: Clean = as_it_is
) -> Iterator[Form]:
    """What a server or a worker logs goes to standard error, as long as this lasts; `about` is on every line.

    Gives the form, whose `clean` can be set once there is a keychain that knows secrets.
    """
    handler, lines = LogStream(sys.stderr), FORMS[form](about, clean)
    handler.setFormatter(lines)
    with _handled(handler, LOGGERS, getattr(logging, level.upper())):
        yield lines


@contextmanager
def _handled(handler: logging.Handler, names: tuple[str, ...], level: int | None = None) -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.propagate = False
        if level is not None:
            logger.setLevel(level)
    try:
        yield
    finally:
        for logger, before in zip(loggers, levels, strict=True):
            logger.removeHandler(handler)
            logger.propagate = True
            logger.setLevel(before)
        handler.close()
