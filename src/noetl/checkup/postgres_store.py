"""A PostgreSQL store: whether it answers and how fast, what it promises, its schema, its vacuum, its clock.

What is asked here is for people; servers ask nothing of it. The connection is one like a server's, so what is wrong
with the URL, the TLS or the role is found as a server would find it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from noetl.checkup.clocks import clock_finding
from noetl.checkup.findings import FAIL, OK, WARN, Finding, Findings, fail, judged, ok, warn
from noetl.config import Settings
from noetl.errors import MissingLibrary

if TYPE_CHECKING:  # it needs the library of an extra
    from noetl.stores.postgres_database import Connection

STORE = "store"
TRIES = 5
LATENCY_SECONDS_MAX = 0.02  # every batch waits for it twice
CONNECTIONS_SHARE_MAX = 0.8
DEAD_ROWS_MAX = 100_000
IDLE_SECONDS_MAX = 60

PROMISES = """
SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
       current_setting('synchronous_standby_names'), pg_is_in_recovery(), current_setting('autovacuum'),
       current_setting('server_version'), current_setting('max_connections')::int,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
       (SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'
          AND clock_timestamp() - state_change > make_interval(secs => %s))
"""
JOB_TABLE = """
SELECT coalesce(array_to_string(c.reloptions, ','), ''), coalesce(s.n_dead_tup, 0)
FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE c.oid = to_regclass('job')
"""
CLOCK = "SELECT extract(epoch FROM clock_timestamp())::double precision"


async def postgres(settings: Settings) -> Findings:
    try:
        from noetl.stores.postgres_database import connected, database_of
    except ImportError:
        raise MissingLibrary('a PostgreSQL store needs: pip install "noetl[postgres]"') from None
    database = database_of(settings.store_url)
    connection = await connected(database)
    try:
        yield await latency(connection, database.name)
        for finding in await promises(connection):
            yield finding
        yield await schema(connection)
        for finding in await job_table(connection):
            yield finding
        yield await clock(connection)
    finally:
        await connection.close()


async def row(connection: Connection, statement: str, values: tuple[object, ...] = ()) -> tuple[Any, ...]:
    found = await (await connection.execute(statement.encode(), values)).fetchone()
    return found or ()


async def latency(connection: Connection, name: str) -> Finding:
    taken = []
    for _ in range(TRIES):
        began = time.perf_counter()
        await row(connection, "SELECT 1")
        taken.append(time.perf_counter() - began)
    best = min(taken)
    return judged(
        STORE,
        "postgresql",
        f"{name} answers in {best * 1000:.1f} ms",
        is_ok=best <= LATENCY_SECONDS_MAX,
        fix="every commit waits for it: put servers near the database",
    )


async def promises(connection: Connection) -> list[Finding]:
    """What an acknowledged start is worth, and whether the server has room."""
    fsync, full_pages, commit, standbys, is_replica, vacuum, version, most, used, idle = await row(
        connection, PROMISES, (IDLE_SECONDS_MAX,)
    )
    is_durable = fsync == full_pages == "on" and commit not in ("off", "local")
    fix = "set fsync, full_page_writes and synchronous_commit to on: without them a crash loses what was acknowledged"
    found = [
        judged(
            STORE,
            "durability",
            f"fsync {fsync}, full_page_writes {full_pages}, synchronous_commit {commit}",
            is_ok=is_durable,
            fix=fix,
            otherwise=FAIL,
        ),
        ok(STORE, "version", f"PostgreSQL {version}; synchronous standbys: {standbys or 'none'}"),
        judged(
            STORE,
            "connections",
            f"{used} of {most}",
            is_ok=used <= most * CONNECTIONS_SHARE_MAX,
            fix="raise max_connections; a server needs up to 16",
        ),
        judged(STORE, "autovacuum", vacuum, is_ok=vacuum == "on", fix="set autovacuum = on", otherwise=FAIL),
    ]
    if is_replica:
        found.append(fail(STORE, "role", "this is a replica", "store.url must name the primary"))
    if idle:
        says = f"{idle} idle for over {IDLE_SECONDS_MAX} s within a transaction"
        found.append(warn(STORE, "transactions", says, "end them: they hold vacuum back (pg_stat_activity)"))
    return found


async def schema(connection: Connection) -> Finding:
    from noetl.stores.postgres_schema import FOUND_SCHEMA, SCHEMA

    (table,) = await row(connection, "SELECT to_regclass('meta')::text")
    if table is None:
        return warn(STORE, "schema", "there are no tables yet", "the first `noetl server start` makes them")
    (known,) = await row(connection, FOUND_SCHEMA) or (0,)
    says = f"{known}; this NoETL has {SCHEMA}"
    if known > SCHEMA:
        return fail(STORE, "schema", says, "a newer NoETL has this store: upgrade this one")
    fix = "the next server of this version that starts brings it up to date"
    return judged(STORE, "schema", says, is_ok=known == SCHEMA, fix=fix)


async def job_table(connection: Connection) -> list[Finding]:
    found = await row(connection, JOB_TABLE)
    if not found:
        return []
    options, dead = found
    is_tuned = "autovacuum_vacuum_scale_factor" in options
    fix = "ALTER TABLE job SET (autovacuum_vacuum_scale_factor = 0.01); look what holds vacuum back"
    state = OK if is_tuned and dead <= DEAD_ROWS_MAX else WARN
    says = f"{dead:,} dead rows, {'vacuumed early' if is_tuned else 'vacuumed by the general rule'}"
    return [Finding(area=STORE, name="job table", state=state, says=says, fix="" if state == OK else fix)]


async def clock(connection: Connection) -> Finding:
    asked_at = time.time()
    (there,) = await row(connection, CLOCK)
    return clock_finding(STORE, "the database", there, asked_at, time.time())
