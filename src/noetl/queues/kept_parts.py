"""Answers that are too large for one message, kept for a short while to be fetched in parts.

Bounded in number, bytes and time; the oldest goes first. What is gone is asked for again by whoever needed it: a poll's
jobs come back when their leases run out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

KEPT_MAX = 256
KEPT_BYTES_MAX = 64 * 1024 * 1024
KEPT_SECONDS = 30.0
ID_BYTES = 16


class Kept(NamedTuple):
    worker: str  # who may fetch it
    data: bytes
    part_bytes: int
    until: float

    @property
    def parts(self) -> int:
        return -(-len(self.data) // self.part_bytes)


class KeptParts:
    def __init__(self, monotonic: Callable[[], float], entropy: Callable[[int], bytes] = os.urandom) -> None:
        self._monotonic = monotonic
        self._entropy = entropy
        self._kept: dict[str, Kept] = {}  # in the order of their time
        self._bytes = 0

    def keep(self, worker: str, data: bytes, part_bytes: int) -> tuple[str, int]:
        """An id that nobody can guess, and how many parts there are."""
        kept_id = self._entropy(ID_BYTES).hex()
        kept = self._kept[kept_id] = Kept(worker, data, part_bytes, self._monotonic() + KEPT_SECONDS)
        self._bytes += len(data)
        self._forget(kept_id)
        return kept_id, kept.parts

    def part(self, worker: str, kept_id: str, index: int) -> bytes:
        """Raises LookupError: it is not there, or another worker's."""
        self._forget("")
        kept = self._kept.get(kept_id)
        if kept is None or kept.worker != worker or not 0 <= index < kept.parts:
            raise LookupError("there is no such part, or not any more")
        return kept.data[index * kept.part_bytes : (index + 1) * kept.part_bytes]

    def _forget(self, newest: str) -> None:
        """Those that are over, and the oldest while there are too many; never the one that was kept just now."""
        now = self._monotonic()
        while self._kept:
            oldest = next(iter(self._kept))
            kept = self._kept[oldest]
            is_too_much = len(self._kept) > KEPT_MAX or (self._bytes > KEPT_BYTES_MAX and len(self._kept) > 1)
            if oldest == newest or not (is_too_much or kept.until <= now):
                return
            del self._kept[oldest]
            self._bytes -= len(kept.data)
