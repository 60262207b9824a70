"""Server-sent events: lines come in, messages go out. Nothing is kept but the message that is being read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

LINE_BYTES_MAX = 8 * 1024 * 1024
MESSAGE_BYTES_MAX = 16 * 1024 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Message(NamedTuple):
    """One message of a stream."""

    id: str
    name: str
    data: bytes


OVER = Message("", "", b"")  # there is no more, and never will be


class Lines(Protocol):
    def readline(self, limit: int, /) -> bytes: ...


def messages(lines: Lines) -> Iterator[Message | None]:
    """The messages of a stream, until it ends; None for each comment. One that is cut off is left out.

    Raises ValueError for what no server of ours sends: a line or a message without end.
    """
    fields: dict[bytes, list[bytes]] = {}
    size, last_id, is_first = 0, "", True
    while line := lines.readline(LINE_BYTES_MAX + 1):
        size += len(line)
        if len(line) > LINE_BYTES_MAX or size > MESSAGE_BYTES_MAX:
            raise ValueError(f"a message of the stream is longer than {MESSAGE_BYTES_MAX:,} bytes")
        if not line.endswith(b"\n"):
            return
        said = line.removeprefix(BYTE_ORDER_MARK if is_first else b"").rstrip(b"\r\n")
        is_first = False
        if said.startswith(b":"):
            yield None
        elif said:
            name, _, value = said.partition(b":")
            fields.setdefault(name, []).append(value.removeprefix(b" "))
        else:
            last_id = _text(fields.get(b"id", [last_id.encode()])[-1])
            if b"data" in fields:
                yield Message(last_id, _text(fields.get(b"event", [b"message"])[-1]), b"\n".join(fields[b"data"]))
            fields, size = {}, 0


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
