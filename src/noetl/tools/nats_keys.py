"""Key-value operations: a bucket's keys, each with a value and a revision that counts its changes.

Writing is repeatable: a write carries the attempt's id, so that one which comes again after a crash is known (within
the bucket's window, two minutes, or as long as it is the latest) and answered as it was the first time. kv_create and
kv_update write only if the revision is the expected one; another one is error.kind db_conflict.
"""

from __future__ import annotations

import contextlib
import re

from nats.js.api import Header, PubAck
from nats.js.errors import APIError, BucketNotFoundError, KeyNotFoundError, NotFoundError
from nats.js.kv import KeyValue

from noetl.engine.output import Output
from noetl.tools.nats_failures import WRONG_REVISION
from noetl.tools.nats_session import Operation, Session, done
from noetl.tools.nats_values import as_bytes, as_data
from noetl.tools.refused import Refused

KEY = re.compile(r"[-/_=A-Za-z0-9]+(\.[-/_=A-Za-z0-9]+)*")
PATTERN = re.compile(r"[-/_=A-Za-z0-9*]+(\.[-/_=A-Za-z0-9*]+)*(\.>)?|>")
KEYS_MAX = 10_000
DELETED = {"KV-Operation": "DEL"}


async def get(session: Session) -> Output:
    key = key_of(session)
    bucket = await bucket_of(session)
    entry = await bucket.get(key, revision=session.number("revision", None))
    return done(as_data(entry.value or b""), revision=entry.revision)


async def put(session: Session) -> Output:
    return await written(session, as_bytes(session.given.get("value")))


async def create(session: Session) -> Output:
    value = as_bytes(session.given.get("value"))
    try:
        return await written(session, value, last=0)
    except APIError as fault:
        if fault.err_code not in WRONG_REVISION:
            raise
        last = await revision_of_deletion(session)  # what was deleted has a revision too
        if last is None:
            raise
    return await written(session, value, last=last)


async def update(session: Session) -> Output:
    last = session.number("revision", None)
    if not last:
        raise Refused("type", "operation: kv_update needs revision: the one that kv_get gave as output.nats.revision")
    return await written(session, as_bytes(session.given.get("value")), last=last)


async def delete(session: Session) -> Output:
    return await written(session, b"", last=session.number("revision", None), headers=DELETED)


async def keys(session: Session) -> Output:
    """The keys that match a pattern, at most `limit`, sorted."""
    bucket = await bucket_of(session)
    pattern = session.text_if_given("key") or ">"
    if not PATTERN.fullmatch(pattern):
        raise Refused("type", "key must be a pattern: names and * with dots between, > at the end for all below")
    limit = session.number("limit", KEYS_MAX)
    found: list[str] = []
    watcher = await bucket.watch(pattern, ignore_deletes=True, meta_only=True)
    try:
        async for entry in watcher:
            if entry is None or len(found) == limit:
                break
            found.append(entry.key)
    finally:
        await watcher.stop()  # type: ignore[no-untyped-call]
    return done(sorted(found))


async def written(
    session: Session, value: bytes, *, last: int | None = None, headers: dict[str, str] | None = None
) -> Output:
    """Write one revision; `last`: only if this is the latest, 0 for none."""
    subject = f"$KV.{session.text('bucket')}.{key_of(session)}"
    await bucket_of(session)
    expected = {} if last is None else {Header.EXPECTED_LAST_SUBJECT_SEQUENCE.value: str(last)}
    try:
        told: PubAck = await session.stream.publish(
            subject, value, headers={**session.message_id, **expected, **(headers or {})}
        )
    except APIError as fault:
        if fault.err_code not in WRONG_REVISION:
            raise
        own = await revision_of_own_write(session, subject)
        if own is None:
            raise
        return done({"revision": own}, revision=own, is_duplicate=True)
    return done({"revision": told.seq}, revision=told.seq, is_duplicate=bool(told.duplicate))


async def revision_of_own_write(session: Session, subject: str) -> int | None:
    """The latest revision of a key, if this very attempt wrote it before it was interrupted: the server looks at the
    expected revision before it looks at the id."""
    with contextlib.suppress(NotFoundError):
        latest = await session.stream.get_last_msg(f"KV_{session.text('bucket')}", subject)
        if session.message_id.items() <= dict(latest.headers or {}).items():
            return latest.seq
    return None


async def revision_of_deletion(session: Session) -> int | None:
    """The revision of a key that is deleted; None for one that is there."""
    bucket = await bucket_of(session)
    try:
        await bucket.get(key_of(session))
    except KeyNotFoundError as gone:
        return gone.entry.revision if gone.entry else 0
    return None


async def bucket_of(session: Session) -> KeyValue:
    name = session.text("bucket")
    with contextlib.suppress(BucketNotFoundError):
        return await session.stream.key_value(name)
    if not session.given.get("create_bucket"):
        raise BucketNotFoundError
    return await session.stream.create_key_value(bucket=name)


def key_of(session: Session) -> str:
    key = session.text("key")
    if not KEY.fullmatch(key):
        raise Refused("type", f'"{key[:80]}" is no key: letters, digits and - / _ = with dots between are wanted')
    return key


OPERATIONS: dict[str, Operation] = {
    "kv_get": get,
    "kv_put": put,
    "kv_create": create,
    "kv_update": update,
    "kv_delete": delete,
    "kv_keys": keys,
}
