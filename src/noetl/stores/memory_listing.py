"""What a list of executions or playbooks has, found by looking at every one of them: for stores in memory. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from noetl.stores.contract import LIVE, Entry, Execution, Title
from noetl.stores.wanted import Paths, has_text, is_id_beginning

HOUR_SECONDS = 3600.0


def by_id_of(largest_first: Iterable[Execution], digits: str, limit: int, paths: Paths) -> list[Execution]:
    found = [row for row in largest_first if is_id_beginning(digits, row.id) and paths.fit(row.path)]
    return [row for row in found if str(row.id) == digits] or found[:limit]


def recent_of(newest_first: Iterable[Execution], paths: Sequence[str], limit: int) -> dict[str, list[Execution]]:
    found: dict[str, list[Execution]] = {path: [] for path in paths}
    for row in newest_first:
        if row.path in found and len(found[row.path]) < limit:
            found[row.path].append(row)
    return found


def ended_of(rows: Iterable[Execution], since: float, limit: int) -> list[Execution]:
    ended = [(row.ended_at, row.id, row) for row in rows if row.ended_at is not None and row.ended_at >= since]
    return [row for *_, row in sorted(ended, key=lambda one: one[:2])[:limit]]


def live_counts(rows: Iterable[Execution], paths: Paths) -> dict[str, int]:
    return Counter(row.status for row in rows if row.status in LIVE and paths.fit(row.path))


def ended_counts(rows: Iterable[Execution], since: float, paths: Paths) -> dict[tuple[int, str], int]:
    return Counter(
        (int(row.ended_at // HOUR_SECONDS), row.status)
        for row in rows
        if row.ended_at is not None and row.ended_at >= since and paths.fit(row.path)
    )


def titles_of(newest: Iterable[Entry], limit: int, after: str, paths: Paths, text: str) -> list[Title]:
    """Of the newest entry of each path."""
    found = (entry for entry in newest if entry.path > after and paths.fit(entry.path) and has_text(entry.path, text))
    return [title_of(entry) for entry in sorted(found, key=lambda entry: entry.path)[:limit]]


def title_of(entry: Entry) -> Title:
    return Title(**{name: getattr(entry, name) for name in Title.__struct_fields__})
