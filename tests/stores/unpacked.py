"""What a file says, compressed or not: tests that look for a secret, or for a payload, must not be blinded by zlib."""

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

SQLITE_FILE = b"SQLite format 3\0"


def unpacked(path: Path) -> bytes:
    """The bytes of a file; of a store, its blocks of events besides, as the text that they are made from."""
    data = path.read_bytes()
    return data + b"\n".join(_blocks(path)) if data.startswith(SQLITE_FILE) else data


def _blocks(path: Path) -> list[bytes]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'event_block'").fetchone():
            return []
        bodies = [body for (body,) in connection.execute("SELECT body FROM event_block")]
    return [body if body.startswith(b"[") else zlib.decompress(body) for body in bodies]
