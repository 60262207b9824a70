"""Filters of the list of executions, as people write them, and what they mean to a store. Pure.

The API, the command line and the pages have the same words: `status` (several with commas), `path` (with * at its end,
all that begin so), `q` (a text in the path, or the beginning of an id), `since`, `until`, `is_root`.
"""

from __future__ import annotations

import msgspec

from noetl.stores.wanted import ANY_PATH, Paths, Wanted


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which executions a list is to have; times in seconds since 1970."""

    status: str | None = None
    path: str | None = None
    q: str | None = None
    since: float | None = None
    until: float | None = None
    parent_id: int | None = None
    is_root: bool | None = None


def wanted_of(filters: Filters, sight: str = "") -> Wanted | None:
    """What a store is asked for. `sight`: of the paths at this one and below it. None: it can have nothing."""
    paths = paths_of(filters.path, sight)
    if paths is None:
        return None
    return Wanted(
        statuses=tuple(dict.fromkeys((filters.status or "").split(","))) if filters.status else (),
        paths=paths,
        text=filters.q or "",
        since=filters.since,
        until=filters.until,
        parent_id=filters.parent_id,
        is_root=filters.is_root,
    )


def paths_seen(sight: str) -> Paths:
    """The path of a token, and all below it; "": all there are."""
    return Paths(exact=(sight,), prefixes=(f"{sight}/",)) if sight else ANY_PATH


def paths_of(given: str | None, sight: str = "") -> Paths | None:
    """Of the paths that are asked for, those in sight; None: there are none."""
    seen = paths_seen(sight)
    if given is None:
        return seen
    if not given.endswith("*"):
        return Paths(exact=(given,)) if seen.fit(given) else None
    prefix = given[:-1]
    if not prefix or (sight and sight.startswith(prefix)):
        return seen
    return Paths(prefixes=(prefix,)) if seen.fit(prefix) else None
