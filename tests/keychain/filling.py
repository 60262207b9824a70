"""Fill a strongbox in a process that is killed within the change: python -m tests.keychain.filling PATH."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from noetl.keychain.strongbox import VALUES, Row
from noetl.keychain.strongbox_sqlite import SqliteStrongbox

ROWS, ROW_BYTES = 50, 100_000  # more than SQLite keeps in memory, so that the file itself is half changed


def row(name: str, ciphertext: bytes = b"sealed") -> Row:
    return Row(
        name=name,
        kind="bearer",
        version=1,
        origin=VALUES,
        fields=("token",),
        key_id="0",
        nonce=b"0",
        ciphertext=ciphertext,
        created_at=0.0,
        updated_at=0.0,
    )


def fill(turn) -> None:
    for number in range(ROWS):
        turn.put(row(f"new {number}", bytes(ROW_BYTES)))
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(SqliteStrongbox(Path(sys.argv[1])).change(fill))
