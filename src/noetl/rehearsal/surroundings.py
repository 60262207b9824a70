"""What stands around a rehearsal: a clock of simulated time, results in memory, a keychain without secrets."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from noetl.clock import Timer
from noetl.keychain.kinds import kind_named
from noetl.keychain.known import Discreet, sealed_entry
from noetl.references import JSON, Reference, reference_of
from noetl.rehearsal.loop import VirtualLoop
from noetl.rehearsal.payloads import payload_bytes
from noetl.results.blobs import BLOB, sha_of
from noetl.results.choices import Spot
from noetl.results.contract import Results
from noetl.results.memory import MemoryResults
from noetl.results.stores import Stores
from noetl.secret import Declared
from noetl.stores.contract import Batch
from noetl.stores.memory import MemoryStore

NOWHERE = Path("/nonexistent")
PLACEHOLDER = "rehearsal-{name}-{field}"
FIELD_READ = r"keychain\s*(?:\.\s*{name}|\[\s*['\"]{name}['\"]\s*\])\s*(?:\.\s*(\w+)|\[\s*['\"](\w+)['\"]\s*\])"


class StageClock:
    """The loop's time, from a given day on."""

    def __init__(self, loop: VirtualLoop, begun_at: float) -> None:
        self._loop = loop
        self._ahead = begun_at - loop.time()

    def now(self) -> float:
        return self._ahead + self._loop.time()

    def monotonic(self) -> float:
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        return self._loop.call_later(seconds, call)

    def in_loop(self, at: float | None) -> float | None:
        return None if at is None else at - self._ahead

    def doze(self, seconds: float) -> Awaitable[None]:
        return self._loop.doze(seconds)


class DozingClock(StageClock):
    """The same for whoever looks again and again whether it is time: it is woken when it is."""

    def __init__(self, clock: StageClock) -> None:
        super().__init__(clock._loop, clock.now())

    async def sleep(self, seconds: float) -> None:
        await self.doze(seconds)


class TurningStore(MemoryStore):
    """A store in memory that gives everybody a turn at each commit, as one on a disk does: no run can keep the loop."""

    async def commit(self, batch: Batch) -> None:
        await asyncio.sleep(0)
        await super().commit(batch)


class BySha(MemoryResults):
    """Payloads by their content, whatever store a reference names."""

    def put(self, data: bytes, content_type: str) -> Reference:
        sha = sha_of(data)
        self._payloads[sha], self._stored_at[sha] = data, 0.0
        return BLOB.reference_to(sha, len(data), content_type)

    def _checked(self, reference: Reference, bytes_max: int | None = None) -> bytes:
        if reference.sha256 in self._payloads:
            reference = BLOB.reference_to(reference.sha256, reference.bytes or 0, reference.content_type or JSON)
        return super()._checked(reference, bytes_max)


class MemoryStores(Stores):
    """Result stores of a rehearsal: whatever place is chosen, its payloads are in memory."""

    def __init__(self) -> None:
        super().__init__(NOWHERE)
        self._memory = BySha()

    def kept(self, stored: Any, ref: Any) -> dict[str, Any]:
        """Keep the payload of an answer that is a reference; gives the reference to it."""
        reference = reference_of(ref) if isinstance(ref, dict) else None
        content_type = (reference.content_type if reference else None) or JSON
        return self._memory.put(payload_bytes(stored, content_type), content_type).as_data()

    async def for_writing(self, written: object, credentials: Any) -> Results:
        return self._memory

    async def for_reading(self, reference: Any, credentials: Any) -> Any:
        return self._memory

    def _made(self, spot: Spot, auth: str | None, fields: dict[str, Any], is_operators: bool) -> Results:
        return self._memory


class Placeholders(Discreet):
    """A keychain that has every credential, with words in place of secrets; see `noetl.keychain.contract.Keychain`."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""  # of the playbook: which fields it reads

    async def resolve(self, declared: Declared) -> Mapping[str, Any]:
        kind = kind_named(declared.kind)
        read = re.finditer(FIELD_READ.format(name=re.escape(declared.name)), self.text)
        names = [*(kind.fields if kind else ("value",)), *(found[1] or found[2] for found in read)]
        fields = {field: PLACEHOLDER.format(name=declared.name, field=field) for field in dict.fromkeys(names)}
        self._known.learn(fields, kind)
        return sealed_entry({**fields, "kind": declared.kind}, kind)

    async def renew(self, declared: Declared) -> bool:
        return False

    async def close(self) -> None:
        """Nothing is open."""
