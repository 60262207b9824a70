"""Rotate the keychain of a home in a process that is killed at one moment of it: python -m tests.keychain.rotating."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from noetl.clock import SystemClock
from noetl.keychain.key_file import KeyFile
from noetl.keychain.ring import ring_as_json
from noetl.keychain.stored import StoredCredentials
from noetl.keychain.strongbox_sqlite import SqliteStrongbox

ADDING, DROPPING = 1, 2  # the ring is saved twice: with the new key, and without the old one
MOMENTS = [f"{when} {number}" for number in (ADDING, DROPPING) for when in ("before", "during", "after")]


class FatalKeyFile(KeyFile):
    """A key file whose process dies around one of its saves."""

    def __init__(self, path, moment):
        super().__init__(path)
        self.moment = moment
        self.saves = 0
        self.path = path

    def save(self, ring):
        self.saves += 1
        self.die(f"before {self.saves}")
        if self.moment == f"during {self.saves}":
            self.path.with_name(f"{self.path.name}.new").write_bytes(ring_as_json(ring)[:50])
        self.die(f"during {self.saves}")
        super().save(ring)
        self.die(f"after {self.saves}")

    def die(self, moment):
        if moment == self.moment:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    home, fatal_moment = Path(sys.argv[1]), sys.argv[2]
    keys = FatalKeyFile(home / "keychain.keys", fatal_moment)
    asyncio.run(StoredCredentials(SqliteStrongbox(home / "keychain.db"), keys, SystemClock()).rotate())
