"""One of several servers does something, such as exporting events: a record says which, and it is renewed.

A server that dies loses its turn when the record's time is over. For a moment two may think that it is theirs, so a
turn saves work and never guards anything: what is done in it must bear to be done twice.
"""

from __future__ import annotations

from noetl.clock import Clock
from noetl.stores.contract import Record, Records

ROOM = "turn"
LIFE_SECONDS = 10.0


class Turn:
    """`holder` is this server; `clock` the one that all servers share."""

    def __init__(self, records: Records, *, name: str, holder: str, clock: Clock) -> None:
        self._records = records
        self._name = name
        self._holder = holder.encode()
        self._clock = clock
        self._mine_until = 0.0

    async def is_mine(self) -> bool:
        """Take or keep the turn, if nobody else has it. Raises Unreachable."""
        now = self._clock.now()
        if now < self._mine_until - LIFE_SECONDS / 2:
            return True
        found = await self._records.record(ROOM, self._name)
        if found is not None and found.body != self._holder and (found.due_at or 0.0) > now:
            return False
        until = now + LIFE_SECONDS
        version = found.version if found else 0
        wanted = Record(room=ROOM, name=self._name, version=version, body=self._holder, due_at=until)
        if not await self._records.put_record(wanted):
            return False
        self._mine_until = until
        return True
