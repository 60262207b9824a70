"""The key ring in a file that only its owner may read.

A ring that group or others can read is refused: whoever could read it can open every credential. It is replaced whole
(written beside, synced, renamed), so a crash leaves the old ring or the new one.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from noetl.errors import KeychainUnusable
from noetl.keychain.plain_files import read_plain_file, sync_folder
from noetl.keychain.ring import RING_BYTES_MAX, Ring, ring_as_json, ring_of_json

FILE_NAME = "keychain.keys"
SHARED_FILE_NAME = "cluster.keys"  # for the credentials in a store that servers share
PRIVATE_FILE = 0o600
OPEN_TO_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class KeyFile:
    """See `noetl.keychain.ring.Keys`."""

    is_given = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self.where = str(path)

    def load(self) -> Ring | None:
        try:
            data, found = read_plain_file(self._path, RING_BYTES_MAX)
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise self._unusable(fault) from fault
        self._refuse_open_to_others(found)
        return ring_of_json(data, self.where)

    def save(self, ring: Ring) -> None:
        beside = self._path.with_name(f"{self._path.name}.new")  # one at a time: whoever saves has the turn
        try:
            beside.unlink(missing_ok=True)  # of a save that was cut short
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE), "wb") as file:
                file.write(ring_as_json(ring))
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._path)
            sync_folder(self._path.parent)
        except OSError as fault:
            raise self._unusable(fault) from fault

    def _refuse_open_to_others(self, found: os.stat_result) -> None:
        if sys.platform != "win32" and found.st_mode & OPEN_TO_OTHERS:
            mode = stat.S_IMODE(found.st_mode)
            raise KeychainUnusable(
                f"the key ring in {self.where} must be readable by its owner only (mode 0600), but has {mode:04o}. "
                f"If nobody else has read it: chmod 600 {self.where}, then noetl keychain rotate"
            )

    def _unusable(self, fault: OSError) -> KeychainUnusable:
        reason = fault.strerror or type(fault).__name__
        return KeychainUnusable(f"the key ring in {self.where} cannot be used: {reason}. Mend its permissions or disk")
