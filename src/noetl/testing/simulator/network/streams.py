"""JetStream in memory, as much of it as the event export uses: streams are made, take messages and confirm them.

A message whose id the stream has is confirmed and dropped; its window is as long as the run. Streams survive a stop of
the message server, as files would.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from noetl.testing.simulator.network.listeners import matches

CREATE = "$JS.API.STREAM.CREATE."
MESSAGE_ID = "Nats-Msg-Id"


class Kept(NamedTuple):
    subject: str
    data: bytes


class Stream:
    def __init__(self, name: str, subjects: list[str]) -> None:
        self.name = name
        self.subjects = subjects
        self.messages: dict[str, Kept] = {}  # by id, in the order in which they came


class Streams:
    """All streams of one message server."""

    def __init__(self) -> None:
        self.by_name: dict[str, Stream] = {}

    def listens_to(self, subject: str) -> bool:
        return subject.startswith(CREATE) or self._of(subject) is not None

    def answer(self, subject: str, data: bytes, headers: dict[str, str]) -> bytes:
        """What JetStream says to a message on a subject that it listens to."""
        stream = self._of(subject)
        return msgspec.json.encode(self._made(data) if stream is None else taken(stream, subject, data, headers))

    def _of(self, subject: str) -> Stream | None:
        for stream in self.by_name.values():
            if any(matches(pattern, subject) for pattern in stream.subjects):
                return stream
        return None

    def _made(self, data: bytes) -> dict[str, Any]:
        wanted = msgspec.json.decode(data, type=dict[str, Any])
        self.by_name.setdefault(wanted["name"], Stream(wanted["name"], wanted["subjects"]))
        return {"config": wanted}


def taken(stream: Stream, subject: str, data: bytes, headers: dict[str, str]) -> dict[str, Any]:
    message_id = headers.get(MESSAGE_ID) or f"#{len(stream.messages)}"
    is_new = message_id not in stream.messages
    if is_new:
        stream.messages[message_id] = Kept(subject, data)
    return {"stream": stream.name, "seq": len(stream.messages), "duplicate": not is_new}
