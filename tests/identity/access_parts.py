"""For the tests of tokens and sessions: a clock that is moved by hand, secrets that can be told apart, a store."""

import hashlib
from itertools import count

from noetl.identity.sessions import Sessions
from noetl.identity.tokens import Tokens
from noetl.queues.contract import Profile
from noetl.stores.contract import Records
from noetl.stores.memory import MemoryStore
from noetl.testing.clocks import ClockByHand

HOUR_SECONDS = 3600.0


class World:
    """One store, and the tokens and sessions of one server over it."""

    def __init__(self, records: Records | None = None, clock: ClockByHand | None = None, seed: str = "a") -> None:
        self.records = records or MemoryStore()
        self.clock = clock or ClockByHand()
        numbers = count()
        self.new_secret = lambda: hashlib.sha256(f"{seed}{next(numbers)}".encode()).digest()
        self.tokens = Tokens(self.records, self.clock, self.new_secret)
        self.sessions = Sessions(self.records, self.tokens, self.clock, self.new_secret)

    def another_server(self) -> "World":
        """A second server over the same store."""
        return World(self.records, self.clock, seed="b")


def profile(worker: str = "host-1-a", pool: str = "default", **said: object) -> Profile:
    return Profile(worker=worker, pool=pool, slots=4, host="host", pid=1, version="1.0", **said)
