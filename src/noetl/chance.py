"""What nobody may guess and nothing may repeat: made by the roles, and handed in wherever it is needed.

All of it comes from one source. The system's is `SYSTEM`, whose choices nobody can foretell; a simulator hands in one
that gives the same choices again.
"""

from __future__ import annotations

import random
from typing import Protocol

SECRET_BYTES = 32
NONCE_BITS, TAG_BITS = 31, 63
TRACE_BYTES = 16


class Source(Protocol):
    """Where chance comes from; `random.Random` and `random.SystemRandom` are two."""

    def random(self) -> float: ...

    def getrandbits(self, k: int, /) -> int: ...

    def randbytes(self, n: int, /) -> bytes: ...


class Chance:
    """Choices of one source."""

    def __init__(self, source: Source) -> None:
        self.random = source.random  # from 0 to 1: of a pause, so that not all who wait ask at once
        self.bytes = source.randbytes
        self._bits = source.getrandbits

    def new_secret(self) -> bytes:
        """Of a token or a session."""
        return self.bytes(SECRET_BYTES)

    def new_trace(self) -> str:
        return self.word(TRACE_BYTES)

    def new_nonce(self) -> int:
        """Of one start of a server: no two of its leases are ever the same (protocol §2)."""
        return self._bits(NONCE_BITS)

    def new_tag(self) -> int:
        """Of one append: whoever finds another one at its place has an older log (protocol §4)."""
        return self._bits(TAG_BITS)

    def word(self, count: int) -> str:
        """Of so many bytes, two characters each: for names that no other process ever had."""
        return self.bytes(count).hex()


SYSTEM = Chance(random.SystemRandom())
