"""Tools in the embedded engine: W5 requests, W6 code, W8 paging into PostgreSQL; each beside the same without us."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TypeVar

from bench import bare_services, by_hand, limits, workloads
from bench.bare_services import Database
from bench.child import Errand, child, one_round
from bench.http_server import PAGES, ROWS_PER_PAGE, http_server
from bench.measure import repeated
from bench.pairs import Pair, rate
from bench.report import Figure
from noetl.testing.services import running_postgres

REQUESTS, REQUESTS_IN_FLIGHT = 500, 50
CALLS, CALLS_IN_FLIGHT = 2_000, 100
ITEMS, ITEMS_IN_FLIGHT = 500, 50
RETRY_SECONDS = 0.05
INLINE_ALLOWED = {"NOETL_PYTHON_INLINE": "true"}
T = TypeVar("T")
TABLE = "CREATE TABLE paged (item int, page int, id int, name text)"


def figures(rounds: int) -> Iterator[Figure]:
    yield requests(rounds)
    yield code(rounds, "process", "lines to a warm process and back, one at a time", limits.pipe_round_trips)
    yield code(rounds, "inline", "hops to a thread and back, one at a time", limits.thread_hops)
    yield paging(rounds)


def requests(rounds: int) -> Figure:
    with http_server() as url:
        errand = Errand(
            text=workloads.requests(REQUESTS, REQUESTS_IN_FLIGHT),
            warm_up_text=workloads.requests(REQUESTS_IN_FLIGHT, REQUESTS_IN_FLIGHT),
            payload={"url": url},
        )
        taken = repeated(lambda: Pair(one_round(errand), limits.requests(url, REQUESTS, REQUESTS_IN_FLIGHT)), rounds)
    title = f"loop of {REQUESTS} GETs on loopback, {REQUESTS_IN_FLIGHT} in flight"
    return rate("W5", title, taken, REQUESTS, "bare aiohttp")


def code(rounds: int, isolation: str, beside: str, bare: Callable[[int], float]) -> Figure:
    errand = Errand(
        text=workloads.code(CALLS, CALLS_IN_FLIGHT, isolation),
        warm_up_text=workloads.code(20, 10, isolation),
        variables=INLINE_ALLOWED,
    )
    taken = repeated(lambda: Pair(one_round(errand), bare(CALLS)), rounds)
    where = "in warm child processes" if isolation == "process" else "inline"
    title = f"loop of {CALLS:,} `kind: python` returning its input, {where}"
    return rate(f"W6 {isolation}", title, taken, CALLS, beside)


def paging(rounds: int) -> Figure:
    with http_server() as url, warehouse() as (dsn, database):
        numbers = count()
        taken = repeated(lambda: _paged(url, dsn, database, numbers), rounds)
    pages = ITEMS * PAGES
    title = f"{ITEMS} items of {PAGES} pages with 429s into PostgreSQL, {ITEMS_IN_FLIGHT} in flight: pages"
    return rate("W8", title, taken, pages, "hand-written with aiohttp and psycopg")


@contextmanager
def warehouse() -> Iterator[tuple[str, Database]]:
    with running_postgres(bare_services.ON_DISK) as dsn, bare_services.connected(dsn) as database:
        database.connection.execute(TABLE)
        yield dsn, database


def _paged(url: str, dsn: str, database: Database, numbers: Iterator[int]) -> Pair:
    """Every run has a name of its own, so that each is refused what the others were refused."""
    secret = {"NOETL_SECRET_WAREHOUSE": json.dumps({"dsn": dsn})}
    errand = Errand(
        text=workloads.paging(ITEMS_IN_FLIGHT, RETRY_SECONDS),
        warm_up_text=workloads.paging(ITEMS_IN_FLIGHT, RETRY_SECONDS),
        warm_up_payload={"url": f"{url}{next(numbers)}/", "items": ITEMS_IN_FLIGHT},
        payload={"url": f"{url}{next(numbers)}/", "items": ITEMS},
    )
    with child(errand, secret) as made:
        ours = _stored(database, made.round)
    bare = _stored(database, lambda: by_hand.run(f"{url}{next(numbers)}/", dsn, ITEMS, ITEMS_IN_FLIGHT, RETRY_SECONDS))
    return Pair(ours, bare)


def _stored(database: Database, run: Callable[[], T]) -> T:
    """What a run gives, if it has stored every row once."""
    database.connection.execute("TRUNCATE paged")
    found = run()
    rows, distinct = database.connection.execute("SELECT count(*), count(DISTINCT (item, id)) FROM paged").fetchone()
    wanted = ITEMS * PAGES * ROWS_PER_PAGE
    if (rows, distinct) != (wanted, wanted):
        raise RuntimeError(f"{wanted} rows were to be stored, but there are {rows}, {distinct} of them distinct")
    return found
