"""What a retention sweep knows so far: which results are named and until when, and what a store keeps.

A million references and more: they are in a temporary database that the system puts on disk when it grows, and that is
gone when the sweep ends. Nothing here reads a log or a store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from noetl.control.mentions import Mention, sha_in
from noetl.results.contract import Kept

PAGE_ROWS = 1000
SCHEMA = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -32768;  -- in KiB; what is more is on disk
CREATE TABLE log (execution_id INTEGER PRIMARY KEY, head INTEGER NOT NULL);
CREATE TABLE mark (
    sha TEXT PRIMARY KEY,
    until REAL NOT NULL,             -- the result is wanted before this time
    may_name INTEGER NOT NULL,       -- whether its content is to be searched for more
    read_until REAL NOT NULL         -- the `until` that was handed on to what it names
) WITHOUT ROWID;
CREATE INDEX mark_unread ON mark (sha, until) WHERE may_name AND read_until < until;
CREATE TABLE kept (locator TEXT PRIMARY KEY, sha TEXT, bytes INTEGER NOT NULL, stored_at REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX kept_sha ON kept (sha);
"""
ADD_MARK = """
INSERT INTO mark VALUES (?, ?, ?, -1e999) ON CONFLICT (sha) DO UPDATE
SET until = max(until, excluded.until), may_name = max(may_name, excluded.may_name)
"""
DEAD = "FROM kept LEFT JOIN mark USING (sha) WHERE stored_at < ? AND coalesce(until, -1e999) <= ?"
UNREAD = """
SELECT (SELECT min(locator) FROM kept WHERE kept.sha = mark.sha), sha, until FROM mark
WHERE may_name AND read_until < until AND until > ? AND sha > ? ORDER BY sha LIMIT ?
"""


class Unread(NamedTuple):
    """A result that is wanted, and whose content has not been searched."""

    locator: str | None  # None: no store of ours has it
    sha: str
    until: float


class Total(NamedTuple):
    """So many results, of so many bytes."""

    results: int
    size: int


class Marks:
    """The tables of one sweep."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)  # "": a temporary one
        self._database.executescript(SCHEMA)
        self._database.execute("BEGIN")  # and never an end: nobody else reads it, and each end would cost a write

    def close(self) -> None:
        self._database.close()

    def head(self, execution_id: int) -> int:
        """How far a log has been read."""
        found = self._database.execute("SELECT head FROM log WHERE execution_id = ?", (execution_id,)).fetchone()
        return int(found[0]) if found else 0

    def read_log(self, execution_id: int, head: int) -> None:
        self._database.execute("INSERT OR REPLACE INTO log VALUES (?, ?)", (execution_id, head))

    def add(self, mentions: Iterable[tuple[Mention, float]]) -> None:
        """Results that are wanted until some time; the latest counts."""
        self._database.executemany(ADD_MARK, ((one.sha, until, one.may_name) for one, until in mentions))

    def keep(self, found: Kept) -> None:
        """What a store has."""
        row = (found.locator, sha_in(found.locator), found.bytes, found.stored_at)
        self._database.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)", row)

    def unread(self, now: float) -> Iterator[Unread]:
        """The results whose content may name others; what is marked meanwhile may be left out."""
        last = ""
        while page := self._database.execute(UNREAD, (now, last, PAGE_ROWS)).fetchall():
            yield from map(Unread._make, page)
            last = page[-1][1]

    def read(self, one: Unread) -> None:
        self._database.execute("UPDATE mark SET read_until = ? WHERE sha = ?", (one.until, one.sha))

    def kept(self) -> Total:
        return Total(*self._database.execute("SELECT count(*), coalesce(sum(bytes), 0) FROM kept").fetchone())

    def has_dead(self, stored_before: float, now: float) -> bool:
        return self._database.execute(f"SELECT 1 {DEAD} LIMIT 1", (stored_before, now)).fetchone() is not None

    def dead(self, stored_before: float, now: float) -> Iterator[tuple[str, int]]:
        """Locator and size of what nothing wants any more."""
        last = ""
        statement = f"SELECT locator, bytes {DEAD} AND locator > ? ORDER BY locator LIMIT ?"
        while page := self._database.execute(statement, (stored_before, now, last, PAGE_ROWS)).fetchall():
            yield from page
            last = page[-1][0]
