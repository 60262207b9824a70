"""Results in a JetStream object store: the bucket is made when first written to, with three replicas where it can have
them, and is one that other NATS programs can read (`nats object get BUCKET SHA256`).

The layout is that of every NATS client: an object's pieces are messages on a subject of their own,
`$O.<bucket>.C.<id>`, and one message on `$O.<bucket>.M.<name>` says which pieces are the object. The client's own
object store is not used: it leaves pieces behind when two store the same name at once, and waits for ever for pieces
that are not there. Here each message on the second subject is published on the condition that the one before it is
still the latest, so that storing, renewing and removing the same content at the same time leave one to begin again.

Reading asks for one piece at a time, so that memory holds one however slow the reader is. A process that dies while it
sends leaves pieces that belong to no object.
"""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import Header, RawStreamMsg
from nats.js.errors import APIError, NotFoundError

from noetl.errors import ResultStoreRefused, ResultStoreUnreachable
from noetl.messaging.connection import Connection, Unsecured, connected
from noetl.messaging.server import server_of
from noetl.messaging.signing import UnusableCredential
from noetl.results.blobs import SHA256, Place
from noetl.results.by_content import ByContent, Found
from noetl.results.contract import Kept
from noetl.results.spool import Payload, pieces_of

NUID_BYTES = 11
PIECE_BYTES = 128 * 1024  # what every client uses; a server takes messages of 1 MiB
CONNECT_SECONDS_MAX = 10.0
ANSWER_SECONDS_MAX = 10.0
ATTEMPTS_MAX = 5
REPLICAS = (3, 1)  # the most that it is given; the second where the first cannot be had
OTHER_IS_LATEST = 10071
FULL = (10047, 10077)  # storage, and the stream's own limit


class Entry(NamedTuple):
    """What the bucket says of one object: the latest message of its name, and what is in it."""

    sequence: int  # 0: nothing was ever said
    facts: dict[str, Any]

    @property
    def is_there(self) -> bool:
        return bool(self.facts.get("nuid")) and not self.facts.get("deleted")

    def has(self, payload: Payload) -> bool:
        return self.is_there and self.facts.get("size") == payload.size

    @property
    def stored_at(self) -> float:
        try:
            return datetime.fromisoformat(str(self.facts.get("mtime"))).timestamp()
        except ValueError:  # written by another program: nobody knows, so it is as good as new
            return datetime.now(UTC).timestamp()


class NatsResults(ByContent):
    """Results in a JetStream object store; see `noetl.results.contract.Results`."""

    def __init__(self, fields: Mapping[str, Any], bucket: str, place: Place) -> None:
        """`fields`: those of a nats credential."""
        super().__init__(place)
        try:
            self._server = server_of(place.auth_reference or "results.stores", fields)
        except UnusableCredential as fault:
            raise ResultStoreRefused(f"the result store nats {bucket} cannot be opened: {fault}") from None
        self._bucket = bucket
        self._stream = f"OBJ_{bucket}"
        self._connection: Connection | None = None
        self._is_made = False
        self._turn = asyncio.Lock()

    async def put(self, payload: Payload) -> None:
        with self._faults():
            jetstream = await self._made()
            entry = await self._entry(jetstream, payload.sha)
            for _ in range(ATTEMPTS_MAX):
                if entry.has(payload):
                    said = await self._say(jetstream, payload.sha, entry.facts | {"mtime": _now()}, entry.sequence)
                else:
                    said = await self._sent(jetstream, payload, entry)
                if said:
                    return
                entry = await self._entry(jetstream, payload.sha)
                if entry.has(payload):  # somebody else has stored it just now
                    return
        raise ResultStoreUnreachable(f"nats {self._bucket}", "others store and remove the same content all the time")

    async def find(self, sha: str) -> Found | None:
        with self._faults():
            jetstream = await self._connected()
            entry = await self._entry(jetstream, sha)
        if not entry.is_there:
            return None
        return Found(int(entry.facts.get("size") or 0), self._pieces(jetstream, entry.facts))

    async def _pieces(self, jetstream: JetStreamContext, facts: dict[str, Any]) -> AsyncGenerator[bytes, None]:
        subject, sequence = self._pieces_subject(str(facts["nuid"])), 1
        for _ in range(int(facts.get("chunks") or 0)):
            with self._faults():
                message = await self._next(jetstream, subject, sequence)
            if message is None:  # gone: the checksum will tell
                return
            sequence = int(message.seq or 0) + 1
            yield message.data or b""

    async def walk(self) -> AsyncIterator[Kept]:
        with self._faults():
            jetstream, sequence = await self._connected(), 1
            while (message := await self._next(jetstream, f"$O.{self._bucket}.M.>", sequence)) is not None:
                sequence = int(message.seq or 0) + 1
                entry = _entry_in(message)
                name = str(entry.facts.get("name"))
                if entry.is_there and SHA256.fullmatch(name):
                    size = int(entry.facts.get("size") or 0)
                    yield Kept(locator=self.place.prefix + name, bytes=size, stored_at=entry.stored_at)

    async def discard(self, sha: str, stored_before: float) -> bool:
        with self._faults():
            jetstream = await self._connected()
            entry = await self._entry(jetstream, sha)
            if not entry.is_there or entry.stored_at >= stored_before:
                return False
            gone = entry.facts | {"deleted": True, "size": 0, "chunks": 0, "digest": "", "mtime": ""}
            said = await self._say(jetstream, sha, gone, entry.sequence)
            if not said:
                return False
            await jetstream.purge_stream(self._stream, subject=self._pieces_subject(entry.facts["nuid"]))
            await jetstream.purge_stream(self._stream, subject=self._name_subject(sha), seq=said + 1)
        return True

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    # --- messages ----------------------------------------------------------------------------------------------------

    async def _sent(self, jetstream: JetStreamContext, payload: Payload, before: Entry) -> int:
        """Send the pieces, then say that they are the object; take them back if somebody else was faster."""
        nuid = secrets.token_hex(NUID_BYTES)
        subject, count, said = self._pieces_subject(nuid), 0, 0
        try:
            async for piece in pieces_of(payload, PIECE_BYTES):
                await jetstream.publish(subject, piece)
                count += 1
            facts = {
                "name": payload.sha,
                "bucket": self._bucket,
                "nuid": nuid,
                "size": payload.size,
                "chunks": count,
                "digest": f"SHA-256={base64.urlsafe_b64encode(bytes.fromhex(payload.sha)).decode()}",
                "mtime": _now(),
                "options": {"max_chunk_size": PIECE_BYTES},
            }
            said = await self._say(jetstream, payload.sha, facts, before.sequence)
        finally:
            if count and not said:
                await jetstream.purge_stream(self._stream, subject=subject)
        if said and before.is_there:
            await jetstream.purge_stream(self._stream, subject=self._pieces_subject(before.facts["nuid"]))
        return said

    async def _say(self, jetstream: JetStreamContext, sha: str, facts: dict[str, Any], latest: int) -> int:
        """Publish what an object is, if nothing was said since; the message's sequence, or 0."""
        headers: dict[str, Any] = {Header.ROLLUP: "sub", Header.EXPECTED_LAST_SUBJECT_SEQUENCE: str(latest)}
        try:
            said = await jetstream.publish(self._name_subject(sha), json.dumps(facts).encode(), headers=headers)
        except APIError as fault:
            if fault.err_code == OTHER_IS_LATEST:
                return 0
            raise
        return said.seq

    async def _entry(self, jetstream: JetStreamContext, sha: str) -> Entry:
        try:
            return _entry_in(await jetstream.get_last_msg(self._stream, self._name_subject(sha)))
        except NotFoundError:
            return Entry(0, {})

    async def _next(self, jetstream: JetStreamContext, subject: str, sequence: int) -> RawStreamMsg | None:
        """The first message on a subject from a sequence on."""
        try:
            return await jetstream.get_msg(self._stream, seq=sequence, subject=subject, next=True)
        except NotFoundError:
            return None

    def _pieces_subject(self, nuid: str) -> str:
        return f"$O.{self._bucket}.C.{nuid}"

    def _name_subject(self, sha: str) -> str:
        return f"$O.{self._bucket}.M.{base64.urlsafe_b64encode(sha.encode()).decode()}"

    # --- connection --------------------------------------------------------------------------------------------------

    async def _made(self) -> JetStreamContext:
        """The bucket, there."""
        jetstream = await self._connected()
        async with self._turn:
            if not self._is_made:
                try:
                    await jetstream.stream_info(self._stream)
                except NotFoundError:
                    await self._make(jetstream)
                self._is_made = True
        return jetstream

    async def _make(self, jetstream: JetStreamContext) -> None:
        for replicas in REPLICAS:
            try:
                await jetstream.create_object_store(self._bucket, replicas=replicas)
            except APIError:
                if replicas == REPLICAS[-1]:
                    raise
            else:
                return

    async def _connected(self) -> JetStreamContext:
        async with self._turn:
            if self._connection is None or not self._connection.is_usable:
                self._connection = await connected(self._server, CONNECT_SECONDS_MAX)
            return self._connection.client.jetstream(timeout=ANSWER_SECONDS_MAX)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """What NATS refuses, as an error; its texts name no secret."""
        place = f"nats {self._bucket}"
        try:
            yield
        except APIError as fault:
            if fault.err_code in FULL:
                raise ResultStoreUnreachable(place, "its disk is full") from fault
            raise ResultStoreUnreachable(place, str(fault.description or fault.code)) from fault
        except UnusableCredential as fault:
            raise ResultStoreRefused(f"the result store {place} cannot be opened: {fault}") from None
        except Unsecured:
            raise ResultStoreRefused(
                f"the result store {place} is at {self._server.place}, which does not offer TLS; it is demanded off "
                "this machine, and tls: false in the credential (tls=false in the URL) gives it up"
            ) from None
        except (NatsError, OSError, TimeoutError) as fault:
            if "authorization" in str(fault).lower():
                raise ResultStoreRefused(f"the result store {place} refused its credential") from fault
            raise ResultStoreUnreachable(place, str(fault) or type(fault).__name__) from fault


def _entry_in(message: RawStreamMsg) -> Entry:
    try:
        facts = json.loads(message.data or b"{}")
    except ValueError:
        facts = {}
    return Entry(int(message.seq or 0), facts if isinstance(facts, dict) else {})


def _now() -> str:
    return datetime.now(UTC).isoformat()
