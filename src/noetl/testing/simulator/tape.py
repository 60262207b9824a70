"""Every choice of one run, from named streams of one seed, and every fault by its identity.

Streams do not disturb each other: leaving out a fault of one shifts no choice of another. A fault is named by its
stream and the number of the draw that made it strike, so that a run can be repeated with only some of its faults
(`only`): that is how a failing run is made smaller.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

Choice = TypeVar("Choice")
Identity = tuple[str, int]  # a stream, and the number of the draw


class Stream:
    """Choices of one kind."""

    def __init__(self, seed: int, name: str) -> None:
        self._random = random.Random(f"{seed}/{name}")  # noqa: S311 - it must repeat, not surprise
        self.random = self._random.random
        self.draws = 0  # of faults

    def integer(self, low: int, high: int) -> int:
        """Both ends included."""
        return self._random.randint(low, high)

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self.random()

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def pick(self, among: Sequence[Choice]) -> Choice:
        return among[int(self.random() * len(among))]

    def bits(self, count: int) -> int:
        return self._random.getrandbits(count)

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)


class Strike:
    """A fault that struck."""

    __slots__ = ("identity", "kind")

    def __init__(self, identity: Identity, kind: str) -> None:
        self.identity = identity
        self.kind = kind


class Tape:
    """See above. `only`: the faults that may strike; None: all. Once it is calm none does."""

    def __init__(self, seed: int, only: frozenset[Identity] | None = None) -> None:
        self.seed = seed
        self.only = only
        self.is_calm = False
        self.strikes: list[Strike] = []
        self.counts: Counter[str] = Counter()  # by kind
        self._streams: dict[str, Stream] = {}

    def stream(self, name: str) -> Stream:
        found = self._streams.get(name)
        if found is None:
            found = self._streams[name] = Stream(self.seed, name)
        return found

    def strike(self, stream_name: str, probability: float, kind: str) -> float | None:
        """Whether a fault strikes now: None, or a number from 0 to 1 that says how hard, so that nothing more need be
        drawn for it."""
        if self.is_calm or probability <= 0.0:
            return None
        stream = self._streams.get(stream_name) or self.stream(stream_name)
        stream.draws += 1
        drawn = stream.random()
        if drawn >= probability:
            return None
        identity = (stream_name, stream.draws)
        if self.only is not None and identity not in self.only:
            return None
        self.strikes.append(Strike(identity, kind))
        self.counts[kind] += 1
        return drawn / probability

    def fires(self, stream_name: str, probability: float, kind: str) -> bool:
        return self.strike(stream_name, probability, kind) is not None
