"""Lists of a PostgreSQL store: executions that are wanted, how many there are, and the titles of the catalog.

A list comes newest first and is cut, so it is read along an index that has the rows in that order: that of all, of
those that no other called, of one parent, of one status, or of one path and status. Where several are wanted (statuses,
all paths of a prefix, those with a text), each of them is a lane of its own, of which so many rows are read as the list
has; then the lanes are merged. So it costs the same however rare they are among millions, and whatever the planner
believes. Which paths there are is found by jumping along the index, from one to the next.

Ids that begin with some digits are a few spans of ids. Where all are narrow they are read by id; of a wide one there is
so much that the list, looked through from its newest row, has soon enough of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noetl.stores import postgres_rows as rows
from noetl.stores.contract import STATUSES, Execution, Title
from noetl.stores.postgres_connections import Connections
from noetl.stores.postgres_rows import EXECUTION_COLUMNS
from noetl.stores.postgres_values import Bigints, Texts
from noetl.stores.wanted import ALL, ANY_PATH, Paths, Wanted, id_spans, lowered, span

PATHS_MAX = 100  # beyond them the whole list is looked through
NARROW_MAX = 100_000  # ids
# By age: the ids of two servers come from two blocks, so the larger one need not be the newer one.
NEWEST = b" ORDER BY created_at DESC, id DESC LIMIT %(limit)s"
LIST = b"SELECT " + EXECUTION_COLUMNS + b" FROM execution e WHERE "
LANES = b"SELECT " + EXECUTION_COLUMNS + b" FROM unnest(%(paths)s, %(statuses)s) AS lane (of_path, of_status) "
LANES += b"CROSS JOIN LATERAL (SELECT * FROM execution e WHERE "
LANES_END = b") AS found"
BY_STATUS, BY_PATH = b"e.status = lane.of_status", b'e.path = lane.of_path COLLATE "C" AND e.status = lane.of_status'
HAS_TEXT = b"strpos(lower(e.path), %(text)s) > 0"
IN_ID_SPAN = (
    b"EXISTS (SELECT FROM unnest(%(id_lows)s, %(id_highs)s) AS s (low, high) WHERE e.id BETWEEN s.low AND s.high)"
)
# OFFSET keeps the planner from looking through the list here, too.
BY_ID = (
    b"SELECT " + EXECUTION_COLUMNS + b" FROM unnest(%(id_lows)s, %(id_highs)s) AS s (low, high) CROSS JOIN LATERAL ("
    b"SELECT * FROM execution WHERE id BETWEEN s.low AND s.high OFFSET 0) AS e WHERE "
)
# Of each span the largest ids, along the primary key: so many rows at most, however many a span has.
LARGEST_IDS = (
    b"SELECT " + EXECUTION_COLUMNS + b" FROM unnest(%(id_lows)s, %(id_highs)s) AS s (low, high) CROSS JOIN LATERAL ("
    b"SELECT * FROM execution e WHERE e.id BETWEEN s.low AND s.high AND "
)
LARGEST_IDS_END = b" ORDER BY e.id DESC LIMIT %(limit)s) AS found ORDER BY id DESC LIMIT %(limit)s"
NEWEST_ID = b"SELECT max(id) FROM execution"
IN_PATHS = (
    b"(e.path = ANY (%(exact)s) OR EXISTS (SELECT FROM unnest(%(lows)s, %(highs)s) AS s (low, high) "
    b'WHERE e.path >= s.low COLLATE "C" AND e.path < s.high COLLATE "C"))'
)
BEFORE = b"(e.created_at, e.id) < (SELECT page.created_at, page.id FROM execution page WHERE page.id = %(before)s)"
PATHS = b"""
WITH RECURSIVE found (path) AS (
    SELECT min(path) FROM execution WHERE path >= %(low)s
    UNION ALL
    SELECT (SELECT min(e.path) FROM execution e WHERE e.path > found.path) FROM found WHERE found.path < %(high)s
)
SELECT path FROM found WHERE path < %(high)s AND strpos(lower(path), %(text)s) > 0 LIMIT %(limit)s
"""
RECENT = LANES + BY_PATH + NEWEST + LANES_END + b" ORDER BY created_at DESC, id DESC"
ENDED = b"SELECT " + EXECUTION_COLUMNS + b" FROM execution WHERE ended_at >= %s ORDER BY ended_at, id LIMIT %s"
# In so many words, so that the planner knows how few of them there are.
COUNT_LIVE = b"SELECT status, count(*) FROM execution e WHERE status IN ('running', 'waiting', 'incident') AND "
COUNT_LIVE_END = b" GROUP BY status"
COUNT_ENDED = (
    b"SELECT floor(ended_at / 3600)::bigint, status, count(*) FROM execution e WHERE ended_at >= %(since)s AND "
)
COUNT_ENDED_END = b" GROUP BY 1, 2"
TITLES = (
    b"SELECT DISTINCT ON (path) " + ", ".join(Title.__struct_fields__).encode() + b" FROM catalog e "
    b"WHERE path > %(after)s AND strpos(lower(path), %(text)s) > 0 AND "
)
TITLES_END = b" ORDER BY path, version DESC LIMIT %(limit)s"
CATALOG_SIZE = b"SELECT count(*) FROM catalog"
Span = tuple[int, int]


class PostgresListing:
    """See `noetl.stores.contract.Store`; whoever inherits it has the connections."""

    _connections: Connections

    async def executions(self, limit: int = 100, before: int | None = None, wanted: Wanted = ALL) -> list[Execution]:
        paths, spans = await self._paths(wanted), await self._spans(wanted)
        if paths == [] and not spans:
            return []
        statement = statement_of(before, wanted, paths, spans)
        values = {**values_of(wanted, paths, spans), "limit": limit, "before": before}
        return [rows.execution(row) for row in await self._connections.rows(statement, values)]

    async def _spans(self, wanted: Wanted) -> list[Span]:
        """Where ids begin with the text."""
        spans = id_spans(wanted.text)
        if not spans:
            return []
        ((newest,),) = await self._connections.rows(NEWEST_ID)
        return [(low, high) for low, high in spans if low <= (newest or 0)]

    async def _paths(self, wanted: Wanted) -> list[str] | None:
        """The paths that they may be of, if they are not any, and not too many to look at each of them."""
        if wanted.parent_id is not None or (wanted.paths.is_any and not wanted.text):
            return None
        text = lowered(wanted.text)
        found = dict.fromkeys(path for path in wanted.paths.exact if text in lowered(path))
        for prefix in ("",) if wanted.paths.is_any else wanted.paths.prefixes:
            low, high = span(prefix)
            values = {"low": low, "high": high, "text": text, "limit": PATHS_MAX + 1}
            found |= dict.fromkeys(path for (path,) in await self._connections.rows(PATHS, values))
        return list(found) if len(found) <= PATHS_MAX else None

    async def executions_by_id(self, digits: str, limit: int, paths: Paths = ANY_PATH) -> list[Execution]:
        exact, *longer = id_spans(digits) or [(0, 0)]
        statement = LARGEST_IDS + within(paths) + LARGEST_IDS_END
        for spans in ([exact], longer):
            values = {**ends_of(spans), **values_on(paths), "limit": limit}
            if found := await self._connections.rows(statement, values):
                return [rows.execution(row) for row in found]
        return []

    async def recent_executions(self, paths: Sequence[str], limit: int) -> dict[str, list[Execution]]:
        found: dict[str, list[Execution]] = {path: [] for path in paths}
        for row in await self._connections.rows(RECENT, {"limit": limit, **lanes_of(list(found), STATUSES)}):
            execution = rows.execution(row)
            found[execution.path].append(execution)
        return {path: executions[:limit] for path, executions in found.items()}  # so many came of each status

    async def ended_executions(self, since: float, limit: int = 100) -> list[Execution]:
        return [rows.execution(row) for row in await self._connections.rows(ENDED, (since, limit))]

    async def count_live(self, paths: Paths = ANY_PATH) -> dict[str, int]:
        statement = COUNT_LIVE + within(paths) + COUNT_LIVE_END
        return dict(await self._connections.rows(statement, values_on(paths)))

    async def count_ended(self, since: float, paths: Paths = ANY_PATH) -> dict[tuple[int, str], int]:
        statement = COUNT_ENDED + within(paths) + COUNT_ENDED_END
        found = await self._connections.rows(statement, {"since": since, **values_on(paths)})
        return {(hour, status): count for hour, status, count in found}

    async def titles(self, limit: int, after: str = "", paths: Paths = ANY_PATH, text: str = "") -> list[Title]:
        values = {"after": after, "text": lowered(text), "limit": limit, **values_on(paths)}
        found = await self._connections.rows(TITLES + within(paths) + TITLES_END, values)
        return [Title(**dict(zip(Title.__struct_fields__, row, strict=True))) for row in found]

    async def catalog_size(self) -> int:
        ((count,),) = await self._connections.rows(CATALOG_SIZE)
        return int(count)


# --- statements ------------------------------------------------------------------------------------------------------


def statement_of(before: int | None, wanted: Wanted, paths: list[str] | None, spans: list[Span]) -> bytes:
    """Along one index, or in lanes."""
    rest = list(conditions_of(before, wanted))
    of_statuses = [b"e.status = ANY (%(wanted_statuses)s)"] if wanted.statuses else []
    if paths is not None:
        others = b" AND ".join([b"NOT " + HAS_TEXT, within(wanted.paths), *of_statuses, *rest]) + NEWEST
        is_narrow = all(high - low < NARROW_MAX for low, high in spans)
        by_id = BY_ID + others if is_narrow else LIST + IN_ID_SPAN + b" AND " + others
        return in_lanes(BY_PATH, rest) + (b" UNION ALL (" + by_id + b")" if spans else b"") + NEWEST
    if not wanted.paths.is_any:
        rest.append(IN_PATHS)
    if wanted.text:
        rest.append(b"(" + HAS_TEXT + b" OR " + IN_ID_SPAN + b")")
    if wanted.statuses and wanted.parent_id is None:
        return in_lanes(BY_STATUS, rest) + NEWEST
    return LIST + b" AND ".join([*of_statuses, *rest] or [b"true"]) + NEWEST


def in_lanes(lane: bytes, rest: list[bytes]) -> bytes:
    return LANES + b" AND ".join([lane, *rest]) + NEWEST + LANES_END


def lanes_of(paths: Sequence[str], statuses: Sequence[str]) -> dict[str, object]:
    """Each path with each status."""
    return {
        "paths": Texts(path for path in paths for _ in statuses),
        "statuses": Texts(status for _ in paths for status in statuses),
    }


def conditions_of(before: int | None, wanted: Wanted) -> Iterator[bytes]:
    """What must hold wherever the rows come from."""
    if before is not None:
        yield BEFORE
    if wanted.since is not None:
        yield b"e.created_at >= %(since)s"
    if wanted.until is not None:
        yield b"e.created_at <= %(until)s"
    if wanted.parent_id is not None:
        yield b"e.parent_id = %(parent)s"
    if wanted.is_root is not None:
        yield b"e.parent_id IS NULL" if wanted.is_root else b"e.parent_id IS NOT NULL"


def within(paths: Paths) -> bytes:
    return b"true" if paths.is_any else IN_PATHS


def values_of(wanted: Wanted, paths: list[str] | None, spans: list[Span]) -> dict[str, object]:
    """What any statement may ask for."""
    return {
        **lanes_of([""] if paths is None else paths, wanted.statuses or STATUSES),
        "wanted_statuses": Texts(wanted.statuses),
        "text": lowered(wanted.text),
        "since": wanted.since,
        "until": wanted.until,
        "parent": wanted.parent_id,
        **ends_of(spans),
        **values_on(wanted.paths),
    }


def ends_of(spans: list[Span]) -> dict[str, object]:
    return {"id_lows": Bigints(low for low, _ in spans), "id_highs": Bigints(high for _, high in spans)}


def values_on(paths: Paths) -> dict[str, object]:
    spans = [span(prefix) for prefix in paths.prefixes]
    return {
        "exact": Texts(paths.exact),
        "lows": Texts(low for low, _ in spans),
        "highs": Texts(high for _, high in spans),
    }
