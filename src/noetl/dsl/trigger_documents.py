"""`kind: Trigger` documents: what from outside starts a playbook of the catalog, a webhook or a NATS subject.

    apiVersion: noetl.io/v2
    kind: Trigger
    metadata: { name: new_order }
    spec:
      playbook: { path: orders/take_in }
      webhook: { auth: token, credential: orders_hook }

Nodes in, plain data out. What must hold is for the rules to say; here nothing is refused.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from noetl.dsl.nodes import Mapping, plain
from noetl.dsl.read import read
from noetl.dsl.schedule_documents import documents_of_kind, start_of
from noetl.dsl.start_shapes import HMAC, JSON, TRIGGER

HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}\Z")  # a token of HTTP
FIELD = re.compile(r"[^.\s]+(\.[^.\s]+){0,9}\Z")
KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
SUBJECT = re.compile(r"([^.\s*>]+|\*)(\.([^.\s*>]+|\*)){0,31}(\.>)?\Z|>\Z")
GROUP = re.compile(r"[A-Za-z0-9_-]{1,100}\Z")  # what a queue group, a stream and a durable consumer may be called
TOKEN_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER = "X-NoETL-Token", "X-NoETL-Signature", "X-NoETL-Timestamp"
SECRET_HEADERS = ("authorization", "proxy-authorization", "cookie")  # never shown to a playbook, nor to its log
BODY_BYTES_USUALLY = 256 * 1024


def is_secret_header(name: str, header: str) -> bool:
    """Whether a header holds a secret: the one by which a request shows that it may, or one that is known to."""
    return name.lower() in (header.lower(), *SECRET_HEADERS)


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """A request that may start a playbook, and how it shows that it may."""

    auth: str
    credential: str
    header: str
    algorithm: str = "sha256"
    timestamp_header: str | None = TIMESTAMP_HEADER  # None: the body alone is signed
    tolerance_seconds: int = 300
    format: str = JSON
    headers: tuple[str, ...] = ()  # that the playbook gets to see
    body_bytes_max: int = BODY_BYTES_USUALLY


class NatsSource(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that start a playbook."""

    subject: str
    queue: str  # the queue group or durable consumer that all servers share
    stream: str | None = None  # None: the one that holds the subject, if one does
    credential: str | None = None  # None: the server that the cluster uses
    format: str = JSON


class Dedupe(msgspec.Struct, frozen=True, kw_only=True):
    """Where a message says which one it is."""

    header: str | None = None
    field: str | None = None


class TriggerDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A trigger whose document checks."""

    name: str
    description: str = ""
    labels: dict[str, Any] = {}
    path: str  # of the playbook
    version: int | None = None  # None: the newest
    payload: dict[str, Any] = {}
    event_key: str = "event"
    webhook: Webhook | None = None
    nats: NatsSource | None = None
    dedupe: Dedupe | None = None
    rate_per_minute: int = 600
    paused: bool = False


def triggers_of(data: bytes | str, name: str) -> list[TriggerDocument]:
    """The triggers of a text that is known to check."""
    return [trigger_of(root) for root in documents_of_kind(read(data, name), TRIGGER)]


def trigger_of(root: Mapping) -> TriggerDocument:
    written: Any = plain(root)
    metadata, spec = written["metadata"], written["spec"]
    kept = {key: spec[key] for key in ("event_key", "rate_per_minute", "paused") if key in spec}
    return TriggerDocument(
        **start_of(metadata, spec),
        webhook=webhook_of(spec["webhook"]) if "webhook" in spec else None,
        nats=nats_of(spec["nats"], metadata["name"]) if "nats" in spec else None,
        dedupe=Dedupe(**spec["dedupe"]) if "dedupe" in spec else None,
        **kept,
    )


def webhook_of(written: dict[str, Any]) -> Webhook:
    header = SIGNATURE_HEADER if written["auth"] == HMAC else TOKEN_HEADER
    return Webhook(**{"header": header, **written, "headers": tuple(written.get("headers", ()))})


def nats_of(written: dict[str, Any], name: str) -> NatsSource:
    return NatsSource(**{"queue": "noetl-" + name.replace(".", "_"), **written})
