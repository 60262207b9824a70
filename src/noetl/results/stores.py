"""Every store of results that a process may use, opened when it is first needed (RS-06).

Writing: a task's choice comes in, the store it chose goes out; without a choice, the operator's first. Reading: a
reference comes in, and the store that its locator names goes out. A place without a credential is the operator's, and
only those that he set up are ever opened; a place of a playbook's own is opened with a credential that the playbook at
work declares, for reading as for writing (security 23): what a reference says opens nothing by itself.

As a `Results` it is the operator's first store for writing and all of them for reading: so the server uses it.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from noetl.errors import ReferenceMissing, RequestError, ResultStoreRefused, ResultStoreUnreachable, UnknownResultStore
from noetl.references import JSON, Reference
from noetl.results.blobs import LOCATOR_CHARACTERS_SHOWN_MAX, Place
from noetl.results.by_sha import BySha, Candidate
from noetl.results.choices import (
    CA_FILE,
    FILES,
    LOCAL,
    NATS,
    POSTGRES,
    SQLITE,
    Choice,
    Configured,
    Spot,
    choice_of,
    configured,
    spot_in,
)
from noetl.results.contract import RESULT_BYTES_MAX, Kept, Readable, Results
from noetl.results.files import FileResults
from noetl.secret import revealed

CA_CHARACTERS_MAX = 1024 * 1024
OPEN_MAX = 64  # places of playbooks' own
EXTRAS = {POSTGRES: "postgres", NATS: "nats"}  # every other kind that is not local: s3
TYPES = {SQLITE: "relational", POSTGRES: "relational", NATS: "nats"}
DATABASE_SUFFIX = ".db"


class Credentials(Protocol):
    """Those that the playbook at work declares."""

    async def resolve(self, name: str) -> Mapping[str, Any]: ...


class NoCredentials:
    """No playbook is at work, so no credential can be had."""

    async def resolve(self, name: str) -> Mapping[str, Any]:
        raise LookupError(f'the credential "{name[:LOCATOR_CHARACTERS_SHOWN_MAX]}" belongs to a playbook')


class Stores:
    """The stores of results of one process."""

    def __init__(
        self, folder: Path, urls: Sequence[str] = (FILES,), *, is_alone: bool = False, is_shared: bool = False
    ) -> None:
        """`is_alone`: nobody but this installation keeps results in the operator's places off this machine.

        `is_shared`: other machines read what is stored here, so that this one's disk is no place for it, unless the
        operator says so.
        """
        self._folder = folder
        self._is_alone = is_alone
        try:
            self._configured = [configured(url) for url in urls]
        except UnknownResultStore as fault:
            raise RequestError(f"results.stores has a store that cannot be: {fault}") from None
        if not is_shared or not urls:
            self._configured += [configured(kind) for kind in LOCAL if kind not in urls]
        self._open: OrderedDict[tuple[Spot, str, bytes], Results] = OrderedDict()
        self._turn = asyncio.Lock()

    async def for_writing(self, written: object, credentials: Credentials) -> Results:
        """The store of a task whose `spec.result.store` is this."""
        choice = choice_of(written)
        if choice is None:
            return await self._operators(self._configured[0])
        if choice.auth is not None:
            return await self._playbooks(choice.spot, choice.auth, credentials)
        return await self._operators(self._chosen(choice))

    async def for_reading(self, reference: Reference, credentials: Credentials) -> Readable:
        """The store that has what a reference names."""
        spot = spot_in(reference.locator)
        if spot is None:
            raise ReferenceMissing(reference.locator[:LOCATOR_CHARACTERS_SHOWN_MAX])
        if reference.auth_reference is not None and spot.kind not in LOCAL:
            return await self._playbooks(spot, reference.auth_reference, credentials)
        if spot.kind == FILES:
            return BySha([self._candidate(one) for one in self._by_likelihood()])
        found = next((one for one in self._configured if one.spot == spot), None)
        if found is not None:
            return await self._operators(found)
        raise UnknownResultStore(
            f"the reference names {spot} and no credential, and results.stores has no such store; "
            "a place of a playbook's own is read with the credential that it was written with"
        )

    def _by_likelihood(self) -> list[Configured]:
        """The store that results go to, those of this machine, and then those that results may have gone to before."""
        first, *others = self._configured
        return [first, *sorted(others, key=lambda one: one.spot.kind not in LOCAL)]

    def _candidate(self, one: Configured) -> Candidate:
        return Candidate(one.spot.locator_prefix, lambda: self._operators(one))

    def _chosen(self, choice: Choice) -> Configured:
        for one in self._configured:
            if one.spot.kind == choice.kind and choice.name in (None, one.spot.name):
                return one
        if choice.kind in [one.spot.kind for one in self._configured]:
            raise ResultStoreRefused(
                f'spec.result.store names {choice.kind} "{choice.name}", which is not the place that results.stores '
                "has; a place of the playbook's own needs auth: the name of a credential of its keychain"
            )
        raise UnknownResultStore(
            f"spec.result.store is {choice.kind}, and results.stores has none of that kind: set it, or give the store "
            "auth: the name of a credential of the playbook's keychain"
        )

    async def _operators(self, one: Configured) -> Results:
        fields = {**one.options, **({"url": one.url} if one.url else {})}
        return await self._opened(one.spot, "", fields, is_operators=True)

    async def _playbooks(self, spot: Spot, name: str, credentials: Credentials) -> Results:
        if spot.kind in LOCAL:
            raise UnknownResultStore(f"a store of kind {spot.kind} takes no auth")
        try:
            fields = revealed(dict(await credentials.resolve(name)))
        except LookupError as fault:
            if getattr(fault, "retryable", False):  # where secrets are kept does not answer now
                raise ResultStoreUnreachable(
                    str(spot), f'its credential "{name[:80]}" cannot be had: {fault}'
                ) from None
            raise ResultStoreRefused(f'the result store {spot} needs the credential "{name[:80]}": {fault}') from None
        return await self._opened(spot, name, fields, is_operators=False)

    async def _opened(self, spot: Spot, auth: str, fields: dict[str, Any], *, is_operators: bool) -> Results:
        """A store, shared by all who use the same place with the same credential; a rotated one opens another."""
        key = (spot, auth, hashlib.sha256(msgspec.json.encode(fields, order="deterministic")).digest())
        async with self._turn:
            found = self._open.pop(key, None)
            if found is None:
                found = self._made(spot, auth or None, fields, is_operators)
            self._open[key] = found
            await self._close_surplus()
        return found

    async def _close_surplus(self) -> None:
        """Of the playbooks' places the least recently used are closed; the operator's stay open."""
        own = [key for key in self._open if key[1]]
        for key in own[: max(0, len(own) - OPEN_MAX)]:
            await self._open.pop(key).close()

    def _made(self, spot: Spot, auth: str | None, fields: dict[str, Any], is_operators: bool) -> Results:
        """Imports what a kind needs only now; nothing is connected yet."""
        if spot.kind == FILES:
            return FileResults(self._folder)
        place = Place(type=TYPES.get(spot.kind, "object_store"), prefix=spot.locator_prefix, auth_reference=auth)
        try:
            if spot.kind == SQLITE:
                from noetl.results.sqlite import SqliteResults

                return SqliteResults(self._folder.with_name(self._folder.name + DATABASE_SUFFIX), place)
            if spot.kind == POSTGRES:
                from noetl.results.postgres import PostgresResults

                return PostgresResults(fields, spot.name, place)
            if spot.kind == NATS:
                from noetl.results.nats import NatsResults

                return NatsResults(_with_authority(fields) if is_operators else fields, spot.name, place)
            from noetl.results.s3 import BucketResults

            return BucketResults(spot, fields, place, is_operators=is_operators)
        except ImportError:
            extra = EXTRAS.get(spot.kind, "s3")
            message = f'a result store of kind {spot.kind} needs: pip install "noetl[{extra}]"'
            raise UnknownResultStore(message) from None

    # --- as a store of results ---------------------------------------------------------------------------------------

    async def store(self, data: bytes, content_type: str = JSON) -> Reference:
        return await (await self._operators(self._configured[0])).store(data, content_type)

    async def store_stream(self, chunks: AsyncIterator[bytes] | Iterable[bytes], content_type: str = JSON) -> Reference:
        return await (await self._operators(self._configured[0])).store_stream(chunks, content_type)

    async def fetch(self, reference: Reference, bytes_max: int = RESULT_BYTES_MAX) -> bytes:
        return await (await self.for_reading(reference, NoCredentials())).fetch(reference, bytes_max)

    async def stream(self, reference: Reference) -> AsyncIterator[bytes]:
        async for piece in (await self.for_reading(reference, NoCredentials())).stream(reference):
            yield piece

    async def walk(self) -> AsyncIterator[Kept]:
        """What all of the operator's stores keep: a playbook's own place is its owner's to sweep.

        What others may keep results in too is as good as new: their logs are not ours to read, so that nobody here
        knows what is needed there.
        """
        for one in self._configured:
            is_ours = self._is_alone or one.spot.kind in LOCAL
            async for kept in (await self._operators(one)).walk():
                yield kept if is_ours else msgspec.structs.replace(kept, stored_at=math.inf)

    async def remove(self, locator: str, *, stored_before: float) -> bool:
        spot = spot_in(locator) or Spot(kind=FILES)  # what a crash left half-written is a file
        found = [one for one in self._configured if one.spot == spot]
        return bool(found) and await (await self._operators(found[0])).remove(locator, stored_before=stored_before)

    async def close(self) -> None:
        while self._open:
            _, store = self._open.popitem()
            await store.close()


def _with_authority(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with the certificates that the operator's file has."""
    if CA_FILE not in fields:
        return fields
    try:
        with Path(fields[CA_FILE]).open(encoding="ascii") as stream:
            return {**fields, "ca": stream.read(CA_CHARACTERS_MAX)}
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or "it is not PEM"
        raise ResultStoreRefused(f"{CA_FILE} {fields[CA_FILE]} of a result store cannot be read: {why}") from None
