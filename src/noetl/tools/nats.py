"""kind: nats — key-value, object and stream operations on NATS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.dsl.kinds import ANY, BOOLEAN, INTEGER, LIST, MAPPING, NUMBER, TEXT, Field, Kind

if TYPE_CHECKING:
    from noetl.tools.contract import Hands, Tool

OPERATIONS = (
    "kv_get",
    "kv_put",
    "kv_create",
    "kv_update",
    "kv_delete",
    "kv_keys",
    "object_get",
    "object_put",
    "object_delete",
    "object_list",
    "publish",
    "fetch",
    "ack",
    "nak",
    "request",
    "stream_info",
)

KIND = Kind(
    name="nats",
    summary="One operation on NATS: a key-value bucket, an object bucket, a stream, or a question to a service.",
    fields=(
        Field(
            name="auth",
            required=True,
            doc="The keychain entry of the server: its url, and token, user and password, nkey or creds.",
        ),
        Field(name="operation", required=True, choices=OPERATIONS, doc="What to do."),
        Field(name="bucket", doc="The key-value or object bucket."),
        Field(
            name="create_bucket",
            types=(BOOLEAN,),
            doc="kv_put, kv_create, object_put: make the bucket if it is not there.",
        ),
        Field(name="key", doc="The key or the object's name; for kv_keys a pattern such as orders.*"),
        Field(
            name="revision",
            types=(INTEGER,),
            minimum=1,
            doc="kv_update, kv_delete: only if this is the key's latest; kv_get: this one.",
        ),
        Field(
            name="value",
            types=(ANY,),
            doc="What to put, publish or ask: text as it is, {base64: …} as bytes, else JSON.",
        ),
        Field(name="ref", types=(MAPPING,), doc="object_put: the reference whose payload becomes the object."),
        Field(
            name="into",
            choices=("data", "ref"),
            doc="object_get: the object as output.data (the default), or streamed into the result store as output.ref.",
        ),
        Field(name="subject", doc="The subject to publish to or ask; for fetch, a filter."),
        Field(name="headers", types=(MAPPING,), doc="publish, request: headers of the message."),
        Field(
            name="delivery",
            choices=("stream", "core"),
            doc="publish: until a stream has it (the default), or to whoever listens now.",
        ),
        Field(name="stream", doc="fetch, stream_info: the stream; publish: the stream that must take it."),
        Field(
            name="consumer",
            doc="fetch: a durable consumer, made if it is not there; without one nothing is remembered.",
        ),
        Field(name="start", types=(INTEGER,), minimum=1, doc="fetch without a consumer: the first sequence to read."),
        Field(
            name="limit",
            types=(INTEGER,),
            minimum=1,
            maximum=10_000,
            doc="fetch, kv_keys, object_list: at most so many.",
        ),
        Field(
            name="wait_seconds",
            types=(NUMBER,),
            minimum=0,
            maximum=600,
            doc="fetch: how long to wait for the first message (1); request: for the answer (5).",
        ),
        Field(
            name="ack_wait_seconds",
            types=(NUMBER,),
            minimum=1,
            maximum=86_400,
            doc="fetch with a new consumer: after how long a message that was not acknowledged comes again (60).",
        ),
        Field(
            name="messages",
            types=(LIST, TEXT),
            doc="ack, nak: messages as fetch gave them; ack says they are done, nak that they shall come again now.",
        ),
    ),
    result="the value, the keys, the objects, the messages or the answer",
    helper="nats",
    helper_fields=("revision", "sequence", "duplicate"),
    extra="nats",
    module="nats",
)


def make(hands: Hands) -> Tool:
    from noetl.tools.nats_tool import NatsTool  # brings the library, which looking at the declaration does not need

    return NatsTool(hands)
