"""kind: nats — key-value, object and stream operations on NATS."""

from noetl.dsl.kinds import ANY, INTEGER, Field, Kind

OPERATIONS = (
    "kv_get",
    "kv_put",
    "kv_delete",
    "kv_keys",
    "object_get",
    "object_put",
    "object_delete",
    "publish",
    "fetch",
)

KIND = Kind(
    name="nats",
    summary="One operation on a NATS bucket or stream.",
    fields=(
        Field(name="auth", doc="The keychain entry of the server."),
        Field(name="operation", required=True, choices=OPERATIONS, doc="What to do."),
        Field(name="bucket", doc="The key-value or object bucket."),
        Field(name="key", doc="The key or object name."),
        Field(name="subject", doc="The subject to publish to."),
        Field(name="stream", doc="The stream to fetch from."),
        Field(name="value", types=(ANY,), doc="What to put or publish."),
        Field(name="limit", types=(INTEGER,), minimum=1, maximum=10_000, doc="How many messages to fetch."),
    ),
    result="the value, the keys, or the messages",
    helper="nats",
    helper_fields=("revision", "sequence"),
    extra="nats",
    module="nats",
)
