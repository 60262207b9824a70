"""A message from outside, on its way to become the payload of a start: read, bounded, and told from others.

Comes in: bytes and headers that whoever sent them chose. Goes out: data that a log can keep. What cannot be read is a
BadMessage, which says what is wrong with it and repeats nothing of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from noetl.dsl.start_shapes import PLAIN
from noetl.dsl.trigger_documents import TriggerDocument
from noetl.engine.events import timestamp
from noetl.errors import RequestError

DEPTH_MAX = 64
NUMBER_MIN, NUMBER_MAX = -(2**63), 2**63 - 1


class BadMessage(RequestError):
    """A message that no start can be made of, now or later."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """What came, and by which words it is told from others."""

    body: Any
    headers: Mapping[str, str] = {}  # those that the playbook gets to see
    id: str | None = None  # None: each is another one
    subject: str | None = None


def body_of(data: bytes, form: str) -> Any:
    """The message as JSON or as text. Raises BadMessage."""
    if form == PLAIN:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise BadMessage("the message must be UTF-8 text, and is not") from None
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise BadMessage("the message must be JSON, and is not") from None
    _check(found)
    return found


def _check(found: Any) -> None:
    """Refuse what is nested too deep, or has numbers that no store keeps."""
    waiting = [(found, 1)]
    while waiting:
        value, depth = waiting.pop()
        if depth > DEPTH_MAX:
            raise BadMessage(f"the message may be nested {DEPTH_MAX} levels deep, and is deeper")
        if isinstance(value, dict):
            waiting += [(one, depth + 1) for one in value.values()]
        elif isinstance(value, list):
            waiting += [(one, depth + 1) for one in value]
        elif type(value) is int and not NUMBER_MIN <= value <= NUMBER_MAX:
            raise BadMessage("a whole number in the message must fit into 64 bits; send a larger one as text")


def field_of(body: Any, path: str) -> str:
    """The text or number at a path of fields. Raises BadMessage."""
    value = body
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise BadMessage(f'the message has no text or number under "{path}", by which it is told from others')
    return str(value)


def request_key(trigger: str, message_id: str) -> str:
    """The key under which a message is started. A hash: an id may be long, and is nobody's business."""
    return f"trigger:{trigger}:{hashlib.sha256(message_id.encode()).hexdigest()}"


def payload_of(document: TriggerDocument, message: Message, now: float) -> dict[str, Any]:
    """The trigger's own payload, and the message under its key."""
    event: dict[str, Any] = {"trigger": document.name, "received_at": timestamp(now), "body": message.body}
    if message.headers:
        event["headers"] = dict(message.headers)
    if message.subject is not None:
        event["subject"] = message.subject
    return {**document.payload, document.event_key: event}
