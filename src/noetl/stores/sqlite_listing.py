"""Lists of a SQLite store: executions that are wanted, how many there are, and the titles of the catalog.

A list comes newest first and is cut, so it is read in that order: along the index of one path, one parent or one
status, if one is wanted, else along the table, which passes 20 rows in a microsecond. The plus before a column keeps
SQLite from reading all rows that have some value, and sorting them.
"""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from noetl.stores import sqlite_rows as rows
from noetl.stores.contract import LIVE, Execution, Title
from noetl.stores.wanted import ALL, ANY_PATH, Paths, Wanted, id_spans, lowered, span

EXECUTIONS = "SELECT * FROM execution WHERE {conditions} ORDER BY id DESC LIMIT ?"
BY_ID = "SELECT * FROM execution WHERE id BETWEEN ? AND ? AND {paths} ORDER BY id DESC LIMIT ?"
RECENT = "SELECT * FROM execution WHERE path = ? ORDER BY id DESC LIMIT ?"
ENDED = "SELECT * FROM execution WHERE ended_at >= ? ORDER BY ended_at, id LIMIT ?"
COUNT_LIVE = "SELECT status, count(*) FROM execution WHERE status IN (?, ?, ?) AND {paths} GROUP BY status"
COUNT_ENDED = (
    "SELECT CAST(ended_at / 3600 AS INTEGER), status, count(*) FROM execution "
    "WHERE ended_at >= ? AND {paths} GROUP BY 1, 2"
)
TITLES = (
    f"SELECT {', '.join(Title.__struct_fields__)} FROM catalog AS newest "  # noqa: S608 - names of ours
    "WHERE path > ? AND {paths} AND (? = '' OR instr(lower(path), ?) > 0) "
    "AND version = (SELECT max(version) FROM catalog WHERE path = newest.path) ORDER BY path LIMIT ?"
)
CATALOG_SIZE = "SELECT count(*) FROM catalog"
Condition = tuple[str, Sequence[object]]  # and its values


class SqliteListing(ABC):
    """See `noetl.stores.contract.Store`."""

    async def executions(self, limit: int = 100, before: int | None = None, wanted: Wanted = ALL) -> list[Execution]:
        conditions, values = joined(conditions_of(before, wanted))
        return list(map(rows.execution, self._read(EXECUTIONS.format(conditions=conditions), *values, limit)))

    async def executions_by_id(self, digits: str, limit: int, paths: Paths = ANY_PATH) -> list[Execution]:
        within, values = condition_on(paths)
        statement, found = BY_ID.format(paths=within), list[Any]()
        exact, *longer = id_spans(digits) or [(0, 0)]
        for low, high in (exact, *reversed(longer)):
            found += self._read(statement, low, high, *values, limit - len(found))
            if (found and low == high) or len(found) == limit:
                break
        return list(map(rows.execution, found))

    async def recent_executions(self, paths: Sequence[str], limit: int) -> dict[str, list[Execution]]:
        return {path: list(map(rows.execution, self._read(RECENT, path, limit))) for path in paths}

    async def ended_executions(self, since: float, limit: int = 100) -> list[Execution]:
        return list(map(rows.execution, self._read(ENDED, since, limit)))

    async def count_live(self, paths: Paths = ANY_PATH) -> dict[str, int]:
        within, values = condition_on(paths)
        return dict(self._read(COUNT_LIVE.format(paths=within), *LIVE, *values))

    async def count_ended(self, since: float, paths: Paths = ANY_PATH) -> dict[tuple[int, str], int]:
        within, values = condition_on(paths)
        found = self._read(COUNT_ENDED.format(paths=within), since, *values)
        return {(hour, status): count for hour, status, count in found}

    async def titles(self, limit: int, after: str = "", paths: Paths = ANY_PATH, text: str = "") -> list[Title]:
        within, values = condition_on(paths)
        wanted = (after, *values, lowered(text), lowered(text), limit)
        return list(map(title, self._read(TITLES.format(paths=within), *wanted)))

    async def catalog_size(self) -> int:
        ((count,),) = self._read(CATALOG_SIZE)
        return int(count)

    @abstractmethod
    def _read(self, statement: str, *values: object) -> list[Any]: ...


def title(row: sqlite3.Row) -> Title:
    return msgspec.convert(dict(row), Title, strict=False)  # SQLite's 0 and 1 are booleans here


# --- conditions ------------------------------------------------------------------------------------------------------


def conditions_of(before: int | None, wanted: Wanted) -> Iterator[Condition]:
    """All that must hold; the first ones name what there is an index of."""
    yield from equalities(wanted)
    if before is not None:
        yield "id < ?", [before]
    if len(wanted.paths.exact) > 1 or wanted.paths.prefixes:
        yield condition_on(wanted.paths)
    if wanted.text:
        spans = id_spans(wanted.text)
        either = ["instr(lower(path), ?) > 0", *["+id BETWEEN ? AND ?"] * len(spans)]
        yield f"({' OR '.join(either)})", [lowered(wanted.text), *(end for one in spans for end in one)]
    if wanted.since is not None:
        yield "created_at >= ?", [wanted.since]
    if wanted.until is not None:
        yield "created_at <= ?", [wanted.until]
    if wanted.is_root is not None:
        yield ("+parent_id IS NULL" if wanted.is_root else "+parent_id IS NOT NULL"), []


def equalities(wanted: Wanted) -> Iterator[Condition]:
    """One of them is found by its index: a parent's children, or a path's executions, before those of a status."""
    is_taken = wanted.parent_id is not None
    if wanted.parent_id is not None:
        yield "parent_id = ?", [wanted.parent_id]
    if len(wanted.paths.exact) == 1 and not wanted.paths.prefixes:
        yield ("+path = ?" if is_taken else "path = ?"), wanted.paths.exact
        is_taken = True
    if len(wanted.statuses) == 1:
        yield ("+status = ?" if is_taken else "status = ?"), wanted.statuses
    elif wanted.statuses:
        yield f"+status IN ({', '.join('?' * len(wanted.statuses))})", wanted.statuses


def condition_on(paths: Paths) -> Condition:
    if paths.is_any:
        return "true", []
    spans = [span(prefix) for prefix in paths.prefixes]
    either = ["+path = ?"] * len(paths.exact) + ["+path >= ? AND +path < ?"] * len(spans)
    return f"({' OR '.join(either)})", [*paths.exact, *(end for one in spans for end in one)]


def joined(conditions: Iterator[Condition]) -> Condition:
    found = list(conditions)
    return " AND ".join(text for text, _ in found) or "true", [value for _, values in found for value in values]
