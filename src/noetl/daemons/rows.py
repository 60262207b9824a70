"""What runs on this machine, as rows for people and programs: who, since when, and whether it answers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from noetl.config import Settings
from noetl.daemons import posts
from noetl.daemons.health import is_answering
from noetl.daemons.pid_files import Record
from noetl.daemons.posts import SERVER, WORKER, Post

Row = dict[str, Any]


def servers(settings: Settings, port: int | None, pid_file: Path | None = None) -> list[Row]:
    """The servers of this home; of one port, also one that was started by other means."""
    if port is None and pid_file is None:
        return [server_row(post, record) for post, record in posts.posts_in(settings.home, SERVER)]
    post = posts.post_of(settings.home, SERVER, str(settings.server_port if port is None else port), pid_file)
    record = post.pid_file.running()
    if record is not None:
        return [server_row(post, record)]
    scheme = "https" if settings.server_tls_cert else "http"
    url = f"{scheme}://127.0.0.1:{post.name}"
    return [{"port": int(post.name), "url": url, "pid": None, "answers": True}] if is_answering(url) else []


def workers(settings: Settings, pool: str | None, pid_file: Path | None = None) -> list[Row]:
    """The workers of this home that run apart from a terminal."""
    if pool is None and pid_file is None:
        return [worker_row(post, record) for post, record in posts.posts_in(settings.home, WORKER)]
    post = posts.post_of(settings.home, WORKER, pool or settings.pool, pid_file)
    record = post.pid_file.running()
    return [worker_row(post, record)] if record else []


def answers(record: Record) -> bool:
    return is_answering(str(record.facts.get("url", "")))


def server_row(post: Post, record: Record) -> Row:
    return {"port": int(post.name), **row(post, record), "answers": record.is_ready and answers(record)}


def worker_row(post: Post, record: Record) -> Row:
    return {"pool": post.name, **row(post, record)}


def row(post: Post, record: Record) -> Row:
    return {
        "pid": record.pid,
        "is_ready": record.is_ready,
        "started_at": datetime.fromtimestamp(record.since, UTC).isoformat(timespec="seconds"),
        "version": record.version,
        "pid_file": str(post.path),
        **record.facts,
    }
