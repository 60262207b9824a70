"""Servers: those that were started from this home, or the one that the command line is set to (--server)."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from datetime import datetime
from typing import Any

from noetl import __version__, clictl
from noetl.checkup.clocks import clock_finding
from noetl.checkup.findings import FAIL, Finding, Findings, judged, ok, warn
from noetl.config import Settings
from noetl.remote.line import Line, open_line
from noetl.stores.contract import INCIDENT

SERVERS, WORKERS = "servers", "workers"
SHOWN_MAX = 5


async def local_servers(settings: Settings) -> Findings:
    rows = clictl.servers(settings, None)
    if not rows:
        yield ok(SERVERS, "here", "none runs from this home")
    for row in rows:
        name = f"port {row['port']}"
        fix = f"look at {row.get('log_file') or 'what it prints'}; stop it with: noetl server stop --port {row['port']}"
        says = f"{row.get('url', 'not ready yet')}, process {row['pid']}, version {row['version']}"
        yield judged(SERVERS, name, says, is_ok=bool(row["answers"]), fix=fix, otherwise=FAIL)
        if row["version"] != __version__:
            says = f"version {row['version']} runs, and this command is {__version__}"
            yield warn(SERVERS, name, says, "restart it when the upgrade is done")


async def remote_server(settings: Settings) -> Findings:
    with closing(await asyncio.to_thread(open_line, settings)) as line:
        await asked(line, "/api/v1/health")  # the connection is made with it, and is not counted below
        asked_at = time.time()
        health = await asked(line, "/api/v1/health")
        answered_at = time.time()
        says = f"{settings.server_url}, version {health['version']}"
        fix = f"this command is {__version__}: use the same version, or upgrade one of them"
        yield judged(SERVERS, "version", says, is_ok=health["version"] == __version__, fix=fix)
        for check in (one for one in health["checks"] if one["name"] != WORKERS):  # which are looked at below
            says = f"{check['detail'] or 'works'} ({check['seconds'] * 1000:.1f} ms)"
            fix = "look at the server's log; run noetl doctor on the server's machine"
            yield judged(SERVERS, check["name"], says, is_ok=check["is_ok"], fix=fix, otherwise=FAIL)
        if "now" in health:  # an older server does not tell
            there = datetime.fromisoformat(health["now"]).timestamp()
            yield clock_finding(SERVERS, "the server", there, asked_at, answered_at)
        workers = (await asked(line, "/api/v1/workers"))["workers"]
        yield workers_finding(SERVERS, f"{len(workers)} seen", {row["version"] for row in workers}, health["version"])
        for pool in (await asked(line, "/api/v1/pools"))["pools"]:
            yield pool_finding(pool)
        stuck = (await asked(line, "/api/v1/executions", status=INCIDENT, limit=SHOWN_MAX))["executions"]
        named = ", ".join(str(row["execution_id"]) for row in stuck) or "none"
        fix = "noetl show ID says why each stands still; noetl resume ID takes it up again"
        yield judged(SERVERS, "incidents", named, is_ok=not stuck, fix=fix)


async def asked(line: Line, path: str, **query: object) -> Any:
    """A document of the server's; the line waits, so it does that in a thread."""
    return await asyncio.to_thread(line.get, path, **query)


def workers_finding(area: str, says: str, versions: set[str], expected: str) -> Finding:
    """Workers, and whether they are of the servers' version."""
    others = ", ".join(sorted(versions - {expected}))
    fix = f"the server is {expected}: restart them when the upgrade is done"
    return judged(area, "workers", f"{says}, some of version {others}" if others else says, is_ok=not others, fix=fix)


def pool_finding(pool: dict[str, Any]) -> Finding:
    says = f"{pool['ready']} ready, {pool['leased']} at work, {pool['parked']} parked, {pool['workers']} workers"
    return judged(SERVERS, f"pool {pool['pool']}", says, is_ok=not pool["reason"], fix=str(pool["reason"]))
