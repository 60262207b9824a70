"""SQLite connections of which one chosen statement fails: before it is done, after it was done, or from then on all."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

BEFORE, AFTER, EVER_AFTER = "before", "after", "ever after"
WRITING = "mode=rw"


class Trouble(NamedTuple):
    """What SQLite says when a statement fails."""

    message: str
    code: int

    def error(self) -> sqlite3.OperationalError:
        error = sqlite3.OperationalError(self.message)
        error.sqlite_errorcode = self.code
        return error


DISK_FAILED = Trouble("disk I/O error", sqlite3.SQLITE_IOERR)
DISK_FULL = Trouble("database or disk is full", sqlite3.SQLITE_FULL)


class Statements:
    """The statements of all writers, counted; the one with the number `k` fails. 0: none does."""

    def __init__(self, k: int = 0, moment: str = BEFORE, trouble: Trouble = DISK_FAILED) -> None:
        self.k = k
        self.moment = moment
        self.trouble = trouble
        self.texts: list[str] = []

    @property
    def has_struck(self) -> bool:
        return 0 < self.k <= len(self.texts)

    def around(self, text: str, call: Callable[[], Any]) -> Any:
        self.texts.append(text)
        number = len(self.texts)
        if number == self.k and self.moment == AFTER:
            call()
        if number == self.k or (self.has_struck and self.moment == EVER_AFTER):
            raise self.trouble.error()
        return call()


class FaultyConnection(sqlite3.Connection):
    statements: Statements

    def execute(self, text: str, *values: Any) -> Any:
        return self.statements.around(text, partial(super().execute, text, *values))

    def executemany(self, text: str, *values: Any) -> Any:
        return self.statements.around(text, partial(super().executemany, text, *values))

    def executescript(self, text: str) -> Any:
        return self.statements.around(text, partial(super().executescript, text))


@contextmanager
def failing(statements: Statements) -> Iterator[None]:
    """Every writer that is opened meanwhile is faulty."""
    real = sqlite3.connect

    def connect(address: Any, **options: Any) -> sqlite3.Connection:
        if WRITING not in str(address):
            return real(address, **options)
        connection = real(address, **options, factory=FaultyConnection)
        connection.statements = statements
        return connection

    sqlite3.connect = connect
    try:
        yield
    finally:
        sqlite3.connect = real
