"""Object operations: payloads of any size, kept as pieces in a bucket.

A payload travels piece by piece between the bucket and the result store and is never whole in memory, unless the
author wants it as data. The library reads and writes files, or the whole at once, and goes on when it is cancelled;
so pieces are moved here, in the layout that all NATS clients share: pieces under `$O.<bucket>.C.<id>`, the description
under `$O.<bucket>.M.<name in base64>`, written last, so that half an object is none.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
from nats.js.api import Header, ObjectInfo, ObjectMetaOptions
from nats.js.errors import (
    BadObjectMetaError,
    BucketNotFoundError,
    DigestMismatchError,
    NotFoundError,
    ObjectNotFoundError,
)
from nats.js.object_store import ObjectStore

from noetl.engine.output import Output, failure
from noetl.references import JSON, reference_of
from noetl.tools.nats_session import Operation, Session, done
from noetl.tools.nats_values import as_bytes, as_data
from noetl.tools.refused import Refused

PIECE_BYTES = 128 * 1024
OBJECTS_MAX = 10_000
PURGE_SECONDS_MAX = 2.0
ID_BYTES = 11
DIGEST = "SHA-256="
CONTENT_TYPE = "Content-Type"
BYTES = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"


async def get(session: Session) -> Output:
    name = session.text("key")
    bucket = await bucket_of(session)
    info = await bucket.get_info(name)
    if info.is_link():
        raise Refused("client_error", "the object is a link to another; name that one")
    if not info.nuid:
        raise BadObjectMetaError
    async with contextlib.aclosing(pieces_of(session, info)) as pieces:
        if session.given.get("into") == "ref":
            kept = await session.call.results.store_stream(pieces, content_type_of(info))
            return done(ref=kept.as_data())
        if (info.size or 0) > session.bytes_max:
            message = (
                f"the object has {info.size} bytes, but data may have {session.bytes_max}; fetch it with into: ref"
            )
            return failure("limit", message)
        return done(as_data(b"".join([piece async for piece in pieces])))


async def put(session: Session) -> Output:
    name, given = session.text("key"), session.given.get("ref")
    if given is None:
        payload = as_bytes(session.given.get("value"))
        content_type = type_of_value(session.given.get("value"))
        return await stored(session, name, sliced(payload), content_type)
    reference = reference_of(given)
    if reference is None:
        raise Refused("ref_misuse", "ref must be a reference: {type, locator, meta}, such as the ref of an output")
    return await stored(session, name, session.call.results.stream(reference), reference.content_type)


async def delete(session: Session) -> Output:
    name = session.text("key")
    bucket = await bucket_of(session)
    await bucket.delete(name)
    return done({"deleted": name})


async def listed(session: Session) -> Output:
    """The objects of a bucket, at most `limit`, sorted by name."""
    bucket = await bucket_of(session)
    limit = session.number("limit", OBJECTS_MAX)
    found: list[dict[str, Any]] = []
    watcher = await bucket.watch(ignore_deletes=True)
    try:
        async for info in watcher:
            if info is None or len(found) == limit:
                break
            found.append({"name": info.name, "bytes": info.size, "content_type": content_type_of(info)})
    finally:
        await watcher.stop()  # type: ignore[no-untyped-call]
    return done(sorted(found, key=lambda row: str(row["name"])))


async def pieces_of(session: Session, info: ObjectInfo) -> AsyncGenerator[bytes, None]:
    """An object's pieces in order; its digest is checked after the last one."""
    digest, left = hashlib.sha256(), info.size or 0
    if left:
        subscription = await session.stream.subscribe(f"$O.{info.bucket}.C.{info.nuid}", ordered_consumer=True)
        try:
            while left > 0:
                piece = (await subscription.next_msg(timeout=session.answer_seconds)).data
                left -= len(piece)
                digest.update(piece)
                yield piece
        finally:
            await subscription.unsubscribe()
    if left or digest_text(digest) != info.digest:
        raise DigestMismatchError


async def stored(
    session: Session, name: str, pieces: AsyncIterator[bytes] | Iterator[bytes], content_type: str
) -> Output:
    """Write the pieces, then the description, then remove the pieces that it had before."""
    bucket = await bucket_of(session)
    before = await info_before(bucket, name)
    info = ObjectInfo(
        name=name,
        bucket=session.text("bucket"),
        nuid=secrets.token_hex(ID_BYTES),
        headers={CONTENT_TYPE: [content_type]},
        options=ObjectMetaOptions(max_chunk_size=PIECE_BYTES),
    )
    try:
        await write_pieces(session, info, pieces)
        told = await write_description(session, info)
    except BaseException:
        await purge(session, info)
        raise
    if before is not None:
        await purge(session, before)
    return done({"name": name, "bytes": info.size}, sequence=told)


async def write_pieces(session: Session, info: ObjectInfo, pieces: AsyncIterator[bytes] | Iterator[bytes]) -> None:
    digest, size, count = hashlib.sha256(), 0, 0
    async for piece in resliced(pieces):
        await session.stream.publish(f"$O.{info.bucket}.C.{info.nuid}", piece)
        digest.update(piece)
        size, count = size + len(piece), count + 1
    info.size, info.chunks, info.digest = size, count, digest_text(digest)


async def write_description(session: Session, info: ObjectInfo) -> int:
    """Give the sequence at which the object is there."""
    info.mtime = datetime.now(UTC).isoformat()
    encoded_name = base64.urlsafe_b64encode(info.name.encode()).decode()
    told = await session.stream.publish(
        f"$O.{info.bucket}.M.{encoded_name}",
        msgspec.json.encode(info.as_dict()),
        headers={Header.ROLLUP.value: "sub"},
    )
    return int(told.seq)


async def purge(session: Session, info: ObjectInfo) -> None:
    """Remove pieces that nothing names any more; if that cannot be done they take room, and no more."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(PURGE_SECONDS_MAX):
            await session.stream.purge_stream(f"OBJ_{info.bucket}", subject=f"$O.{info.bucket}.C.{info.nuid}")


async def info_before(bucket: ObjectStore, name: str) -> ObjectInfo | None:
    with contextlib.suppress(ObjectNotFoundError):
        return await bucket.get_info(name)
    return None


async def bucket_of(session: Session) -> ObjectStore:
    name = session.text("bucket")
    try:
        return await session.stream.object_store(name)
    except NotFoundError:
        if not session.given.get("create_bucket"):
            raise BucketNotFoundError from None
    return await session.stream.create_object_store(bucket=name)


async def resliced(pieces: AsyncIterator[bytes] | Iterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in pieces that a message can carry."""
    if isinstance(pieces, AsyncIterator):
        async for piece in pieces:
            for part in sliced(piece):
                yield part
    else:
        for piece in pieces:
            yield piece


def sliced(payload: bytes) -> Iterator[bytes]:
    return (payload[start : start + PIECE_BYTES] for start in range(0, len(payload), PIECE_BYTES))


def digest_text(digest: Any) -> str:
    return DIGEST + base64.urlsafe_b64encode(digest.digest()).decode()


def content_type_of(info: ObjectInfo) -> str:
    named = (info.headers or {}).get(CONTENT_TYPE)
    found = named[0] if isinstance(named, list) and named else named
    return found if isinstance(found, str) else BYTES


def type_of_value(value: object) -> str:
    if isinstance(value, str):
        return TEXT
    return BYTES if isinstance(value, dict) and set(value) == {"base64"} else JSON


OPERATIONS: dict[str, Operation] = {
    "object_get": get,
    "object_put": put,
    "object_delete": delete,
    "object_list": listed,
}
