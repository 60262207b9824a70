"""Stream operations: messages out, messages in, questions to services.

Publishing is repeatable: a message carries the attempt's id, and a stream keeps one message per id within its window.

Fetching with a consumer is at least once. A tool cannot know when its output is recorded, so it acknowledges nothing:
each message comes with a token, and a later task acknowledges (`ack`) when the work is done. What is not acknowledged
comes again after the consumer's time, also when the worker died in between. Without a consumer nothing is remembered
on the server: a task reads from a sequence on, and the playbook keeps the next one in ctx.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from noetl.engine.output import Output
from noetl.tools.nats_session import Operation, Session, done
from noetl.tools.nats_values import as_bytes, as_data, headers_of
from noetl.tools.refused import Refused

LIMIT = 100
LIMIT_MAX = 10_000
BATCH_MAX = 64  # so many are on their way at once, whatever their size
FETCH_WAIT_SECONDS = 1.0
WAIT_SECONDS_MIN = 0.05  # the server takes no shorter one
REQUEST_WAIT_SECONDS = 5.0
ACK_WAIT_SECONDS = 60.0
FORGET_SECONDS = 30.0  # a consumer of one task, if it is not removed
TOKEN = re.compile(r"\$JS\.ACK\.[!-~]{1,500}")
TOKENS_AT_ONCE = 100


async def publish(session: Session) -> Output:
    subject, payload = session.text("subject"), as_bytes(session.given.get("value"))
    headers = {**headers_of(session.given.get("headers")), **session.message_id}
    if session.given.get("delivery") == "core":
        await session.client.publish(subject, payload, headers=headers)
        await session.client.flush(session.answer_seconds)  # type: ignore[arg-type]  # it takes parts of seconds too
        return done()
    told = await session.stream.publish(subject, payload, headers=headers, stream=session.text_if_given("stream"))
    return done({"stream": told.stream, "sequence": told.seq}, sequence=told.seq, is_duplicate=bool(told.duplicate))


async def request(session: Session) -> Output:
    headers = {**headers_of(session.given.get("headers")), **session.message_id}
    answer = await session.client.request(
        session.text("subject"),
        as_bytes(session.given.get("value", "")),
        timeout=max(session.number("wait_seconds", REQUEST_WAIT_SECONDS), WAIT_SECONDS_MIN),
        headers=headers,
    )
    return done(as_data(answer.data))


async def fetch(session: Session) -> Output:
    limit = min(session.number("limit", LIMIT), LIMIT_MAX)
    async with subscribed(session) as subscription:
        messages = await arrived(session, subscription, limit)
    has_consumer = bool(session.given.get("consumer"))
    rows = [row_of(message, has_consumer) for message in messages]
    return done(rows, sequence=rows[-1]["sequence"] if rows else None)


async def arrived(session: Session, subscription: JetStreamContext.PullSubscription, limit: int) -> list[Msg]:
    """What is there, in batches; only for the first message is there a wait."""
    wait_seconds = max(session.number("wait_seconds", FETCH_WAIT_SECONDS), WAIT_SECONDS_MIN)
    messages: list[Msg] = []
    size = 0
    while len(messages) < limit and size < session.bytes_max // 2:
        wanted = min(limit - len(messages), BATCH_MAX)
        try:
            batch = await subscription.fetch(wanted, timeout=wait_seconds)
        except TimeoutError:
            break
        messages += batch
        size += sum(len(message.data) for message in batch)
        if len(batch) < wanted:
            break
        wait_seconds = WAIT_SECONDS_MIN
    return messages


@contextlib.asynccontextmanager
async def subscribed(session: Session) -> AsyncIterator[JetStreamContext.PullSubscription]:
    """A durable consumer that is there or is made, or one for this task alone, which goes with it."""
    stream, consumer = session.text("stream"), session.text_if_given("consumer")
    subject = session.text_if_given("subject") or ">"
    config = durable(session) if consumer else passing(session)
    subscription = await session.stream.pull_subscribe(subject, durable=consumer, stream=stream, config=config)
    try:
        yield subscription
    finally:
        await subscription.unsubscribe()
        if not consumer and config.name:
            with contextlib.suppress(Exception):  # the server forgets it after a while
                await session.stream.delete_consumer(stream, config.name)


def durable(session: Session) -> ConsumerConfig:
    if session.given.get("start"):
        raise Refused("type", "start goes without consumer: a consumer knows itself where it is")
    ack_wait_seconds = session.number("ack_wait_seconds", ACK_WAIT_SECONDS)
    return ConsumerConfig(ack_policy=AckPolicy.EXPLICIT, ack_wait=ack_wait_seconds)


def passing(session: Session) -> ConsumerConfig:
    start = session.number("start", 1)
    return ConsumerConfig(
        ack_policy=AckPolicy.NONE,
        deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
        opt_start_seq=start,
        inactive_threshold=FORGET_SECONDS,
        mem_storage=True,
    )


def row_of(message: Msg, has_consumer: bool) -> dict[str, Any]:
    facts = message.metadata
    row = {
        "subject": message.subject,
        "sequence": facts.sequence.stream,
        "time": facts.timestamp.isoformat(),
        "headers": dict(message.headers or {}),
        "value": as_data(message.data),
    }
    return {**row, "deliveries": facts.num_delivered, "ack": message.reply} if has_consumer else row


async def ack(session: Session) -> Output:
    return await answered(session, b"+ACK")


async def nak(session: Session) -> Output:
    return await answered(session, b"-NAK")


async def answered(session: Session, word: bytes) -> Output:
    """Tell the server of each message what became of it, and wait until it has heard."""
    tokens = tokens_of(session.given.get("messages"))
    for start in range(0, len(tokens), TOKENS_AT_ONCE):
        some = tokens[start : start + TOKENS_AT_ONCE]
        await asyncio.gather(*(session.client.request(token, word, timeout=session.answer_seconds) for token in some))
    return done({"messages": len(tokens)})


def tokens_of(messages: object) -> Sequence[str]:
    rows = [messages] if isinstance(messages, str) else messages
    if not isinstance(rows, list) or len(rows) > LIMIT_MAX:
        raise Refused("type", f"messages must be a list of at most {LIMIT_MAX} messages that fetch gave")
    tokens = [row.get("ack") if isinstance(row, dict) else row for row in rows]
    wrong = [token for token in tokens if not isinstance(token, str) or not TOKEN.fullmatch(token)]
    if wrong:
        raise Refused("type", "messages must be as fetch with a consumer gave them: each has its token under ack")
    return [str(token) for token in tokens]


async def stream_info(session: Session) -> Output:
    found = await session.stream.stream_info(session.text("stream"))
    state = found.state
    facts = {
        "name": found.config.name,
        "subjects": list(found.config.subjects or ()),
        "messages": state.messages,
        "bytes": state.bytes,
        "first_sequence": state.first_seq,
        "last_sequence": state.last_seq,
        "consumers": state.consumer_count,
    }
    return done(facts, sequence=state.last_seq)


OPERATIONS: dict[str, Operation] = {
    "publish": publish,
    "request": request,
    "fetch": fetch,
    "ack": ack,
    "nak": nak,
    "stream_info": stream_info,
}
