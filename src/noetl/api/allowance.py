"""How much one token may ask at a time and in a second, so that one client cannot crowd out the others (security 21).

A bucket per token: it holds a burst and fills at a rate. Streams are counted apart, since they last. The number of
buckets is bounded; those of tokens that ask nothing now are given up first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from noetl.api.operations import Operation
from noetl.api.problems import Refusal
from noetl.clock import Clock

RATE_PER_SECOND = 1000.0
BURST = 2000.0
REQUESTS_MAX = 256  # of one token at a time
STREAMS_MAX = 1000  # of one token at a time
STREAMS_IN_ALL_MAX = 5000
BUCKETS_MAX = 10_000


class Bucket:
    """What one token has left."""

    __slots__ = ("at", "left", "requests", "streams")

    def __init__(self, now: float) -> None:
        self.left = BURST
        self.at = now
        self.requests = 0
        self.streams = 0

    def fill(self, now: float) -> None:
        self.left = min(BURST, self.left + (now - self.at) * RATE_PER_SECOND)
        self.at = now

    @property
    def is_idle(self) -> bool:
        return not self.requests and not self.streams


class Allowances:
    """The buckets of all tokens."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: dict[str, Bucket] = {}
        self._streams = 0
        self._shared: dict[str, int] = {}  # operations of which few may be under way at once

    @contextmanager
    def taken(self, key: str, *, is_stream: bool) -> Iterator[None]:
        """Hold a place as long as this lasts; raises Refusal 429."""
        bucket = self._bucket(key)
        bucket.fill(self._clock.monotonic())
        if bucket.left < 1:
            raise Refusal(429, "too-many-requests", f"a token may ask {RATE_PER_SECOND:.0f} times a second")
        bucket.left -= 1
        if is_stream:
            with self._stream(bucket):
                yield
        else:
            with self._request(bucket):
                yield

    @contextmanager
    def shared(self, operation: Operation) -> Iterator[None]:
        """Hold one of the places that all callers of an operation share; raises Refusal 503."""
        count = self._shared.get(operation.id, 0)
        if operation.at_once_max and count >= operation.at_once_max:
            raise Refusal(503, "busy", f"this server does {operation.at_once_max} of these at a time; ask again")
        self._shared[operation.id] = count + 1
        try:
            yield
        finally:
            self._shared[operation.id] -= 1

    @contextmanager
    def _request(self, bucket: Bucket) -> Iterator[None]:
        if bucket.requests >= REQUESTS_MAX:
            raise Refusal(429, "too-many-requests", f"a token may have {REQUESTS_MAX} requests under way")
        bucket.requests += 1
        try:
            yield
        finally:
            bucket.requests -= 1

    @contextmanager
    def _stream(self, bucket: Bucket) -> Iterator[None]:
        if bucket.streams >= STREAMS_MAX or self._streams >= STREAMS_IN_ALL_MAX:
            raise Refusal(429, "too-many-streams", f"a token may have {STREAMS_MAX} streams open")
        bucket.streams += 1
        self._streams += 1
        try:
            yield
        finally:
            bucket.streams -= 1
            self._streams -= 1

    def _bucket(self, key: str) -> Bucket:
        found = self._buckets.get(key)
        if found is None:
            if len(self._buckets) >= BUCKETS_MAX:
                self._forget()
            found = self._buckets[key] = Bucket(self._clock.monotonic())
        return found

    def _forget(self) -> None:
        for key in [key for key, bucket in self._buckets.items() if bucket.is_idle][: BUCKETS_MAX // 2]:
            del self._buckets[key]
