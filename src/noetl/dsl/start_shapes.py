"""What may stand in the documents that start playbooks by themselves: `kind: Schedule` and `kind: Trigger`.

One table for both, as `shapes.py` is one for playbooks: the checker walks along it, the JSON Schema is written from it.
What one key means for another, and whether a time can be read, is for the rules to say.
"""

from __future__ import annotations

from noetl.dsl.kinds import INTEGER, LIST, MAPPING, TEXT
from noetl.dsl.shapes import NULL, Shape, choice, flag, mapping, number, text, whole

SCHEDULE, TRIGGER = "Schedule", "Trigger"
VERSION = "noetl.io/v2"
SKIP, QUEUE, ALLOW, CANCEL = "skip", "queue", "allow", "cancel"
NONE, LAST, ALL = "none", "last", "all"
TOKEN, HMAC = "token", "hmac"
JSON, PLAIN = "json", "text"
DIGESTS = ("sha256", "sha384", "sha512")
EVERY_SECONDS_MAX = 366 * 24 * 3600
JITTER_SECONDS_MAX = 3600
CATCH_UP_MAX = 1000
TOLERANCE_SECONDS_MAX = 3600
BODY_BYTES_MAX = 1024 * 1024
RATE_PER_MINUTE_MAX = 60_000
PLAYBOOK_VERSION_MAX = 2**31 - 1

START_SHAPES: dict[str, Shape] = {
    "anything": Shape(),
    "start.apiVersion": choice("The version of the language.", VERSION),
    "start.metadata": mapping(
        "metadata",
        "1",
        "Who this document is.",
        {"name": "start.name", "description": "start.description", "labels": "start.labels"},
        required=("name",),
    ),
    "start.name": text("Its name, unique among its kind: letters, digits, _ . and -, 100 at most."),
    "start.description": text("What it is for."),
    "start.labels": Shape(types=(MAPPING,), is_open=True, where="metadata.labels", doc="Words to find it by."),
    "start.playbook": mapping(
        "playbook",
        "1",
        "Which playbook of the catalog is started.",
        {"path": "start.path", "version": "start.version"},
        required=("path",),
    ),
    "start.path": text("The path under which the catalog keeps it."),
    "start.version": whole("Which version; not given: the newest at that time.", 1, PLAYBOOK_VERSION_MAX),
    "start.payload": Shape(
        types=(MAPPING,), is_open=True, where="payload", doc="Merged over the playbook's workload. Data, no templates."
    ),
    "schedule": mapping(
        "schedule",
        "1",
        "When a playbook is started by itself.",
        {"apiVersion": "start.apiVersion", "kind": "anything", "metadata": "start.metadata", "spec": "schedule.spec"},
        required=("apiVersion", "kind", "metadata", "spec"),
    ),
    "schedule.spec": mapping(
        "spec",
        "1",
        "What is started, and when.",
        {
            "playbook": "start.playbook",
            "payload": "start.payload",
            "cron": "schedule.cron",
            "timezone": "schedule.timezone",
            "every": "schedule.every",
            "overlap": "schedule.overlap",
            "catch_up": "schedule.catch_up",
            "catch_up_max": "schedule.catch_up_max",
            "jitter": "schedule.jitter",
            "start_at": "schedule.start_at",
            "end_at": "schedule.end_at",
            "paused": "schedule.paused",
        },
        required=("playbook",),
    ),
    "schedule.cron": text("Five fields: minute, hour, day of month, month, day of week."),
    "schedule.timezone": text("The IANA time zone of cron, start_at and end_at: Europe/Berlin. UTC if not given."),
    "schedule.every": Shape(
        types=(INTEGER, TEXT),
        minimum=1,
        maximum=EVERY_SECONDS_MAX,
        doc="Seconds, or 30s, 5m, 2h, 1d; counted from start_at, or from 1970 on.",
    ),
    "schedule.overlap": choice(
        "What happens when it is due while the execution before still lives.", SKIP, QUEUE, ALLOW, CANCEL
    ),
    "schedule.catch_up": choice("Which of the times that passed while no server ran are made up for.", NONE, LAST, ALL),
    "schedule.catch_up_max": whole("With catch_up: all, the most that are made up for at once.", 1, CATCH_UP_MAX),
    "schedule.jitter": number("Start at a random moment up to so many seconds later.", 0, JITTER_SECONDS_MAX),
    "schedule.start_at": text("Not before then: 2026-03-01T08:00:00, in its time zone, or with an offset."),
    "schedule.end_at": text("Not after then."),
    "schedule.paused": flag("Whether it rests."),
    "trigger": mapping(
        "trigger",
        "1",
        "What from outside starts a playbook.",
        {"apiVersion": "start.apiVersion", "kind": "anything", "metadata": "start.metadata", "spec": "trigger.spec"},
        required=("apiVersion", "kind", "metadata", "spec"),
    ),
    "trigger.spec": mapping(
        "spec",
        "1",
        "What is started, and by what.",
        {
            "playbook": "start.playbook",
            "payload": "start.payload",
            "event_key": "trigger.event_key",
            "webhook": "trigger.webhook",
            "nats": "trigger.nats",
            "dedupe": "trigger.dedupe",
            "rate_per_minute": "trigger.rate",
            "paused": "schedule.paused",
        },
        required=("playbook",),
    ),
    "trigger.event_key": text("The key of the workload under which the message is found. event if not given."),
    "trigger.rate": whole("The most that one server starts in a minute.", 1, RATE_PER_MINUTE_MAX),
    "trigger.dedupe": mapping(
        "dedupe",
        "1",
        "What makes two messages the same: the second starts nothing.",
        {"header": "trigger.dedupe.header", "field": "trigger.dedupe.field"},
    ),
    "trigger.dedupe.header": text("The header whose value says it."),
    "trigger.dedupe.field": text("The field of the JSON body whose value says it: order.id"),
    "trigger.webhook": mapping(
        "webhook",
        "1",
        "Requests to /api/v1/hooks/NAME.",
        {
            "auth": "webhook.auth",
            "credential": "webhook.credential",
            "header": "webhook.header",
            "algorithm": "webhook.algorithm",
            "timestamp_header": "webhook.timestamp_header",
            "tolerance_seconds": "webhook.tolerance",
            "format": "message.format",
            "headers": "webhook.headers",
            "body_bytes_max": "webhook.body_bytes_max",
        },
        required=("auth", "credential"),
    ),
    "webhook.auth": choice("How the sender shows that it may: a token, or a signature of the body.", TOKEN, HMAC),
    "webhook.credential": text("The name of the keychain entry that holds the token or the key."),
    "webhook.header": text("The header with the token or the signature. X-NoETL-Token or X-NoETL-Signature."),
    "webhook.algorithm": choice("How the signature is made.", *DIGESTS),
    "webhook.timestamp_header": Shape(
        types=(TEXT, NULL),
        doc="The header with the time that is signed with the body. X-NoETL-Timestamp; null: the body alone is signed.",
    ),
    "webhook.tolerance": whole("How many seconds old, or ahead, that time may be.", 1, TOLERANCE_SECONDS_MAX),
    "webhook.headers": Shape(types=(LIST,), items="webhook.kept_header", doc="Headers that the playbook gets to see."),
    "webhook.kept_header": text("The name of a header."),
    "webhook.body_bytes_max": whole("The largest body, in bytes.", 1, BODY_BYTES_MAX),
    "message.format": choice("How the message is read.", JSON, PLAIN),
    "trigger.nats": mapping(
        "nats",
        "1",
        "Messages of a NATS subject.",
        {
            "subject": "nats.subject",
            "queue": "nats.queue",
            "stream": "nats.stream",
            "credential": "nats.credential",
            "format": "message.format",
        },
        required=("subject",),
    ),
    "nats.subject": text("The subject; * and > stand for one and for all further words."),
    "nats.queue": text("The queue group, or the durable consumer, that all servers share. noetl-NAME if not given."),
    "nats.stream": text("The JetStream stream; not given: the one that holds the subject, if there is one."),
    "nats.credential": text("The keychain entry of kind nats; not given: the server that the cluster uses."),
}
