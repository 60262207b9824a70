"""The log in a SQLite file: events in blocks, each what one commit added to one log, compressed where that pays.

In: an append. Out: its rows, and events again from rows. A row of its own for each event would cost more than the rest
of a commit: a no-op iteration of a loop has four events, which as rows take 1,090 bytes and 24 µs, and in blocks 90
bytes and 6 µs, compression included. Reading a log takes half as long too. The price is that whoever looks with SQL
sees no single event; `noetl events` prints them.

A block is a JSON array of events, as it is or as a zlib stream; the first byte tells which. It is found by the number
of its last event, so the numbers of the others follow from how many there are. Blocks are bounded, since whoever wants
one event reads a whole block.

What an iteration of a loop gave is found by its index; where that is little, it stands there as well. A million no-ops
are a list then without a million events being decoded once more when the loop has ended.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from noetl.engine.events import Envelope, Event, LoopIterationDone, decode, decode_all, encode
from noetl.errors import StoreUnusable
from noetl.stores.contract import Append

Row = tuple[Any, ...]
encode_data = msgspec.json.Encoder().encode

INSERT_BLOCK = "INSERT INTO event_block VALUES (?, ?, ?)"
INSERT_ITERATION = "INSERT INTO iteration_done VALUES (?, ?, ?, ?, ?)"
BLOCKS = "SELECT last_seq, body FROM event_block WHERE execution_id = ? AND last_seq > ? ORDER BY last_seq"
ITERATIONS = (
    "SELECT iter, seq FROM iteration_done WHERE execution_id = ? AND run = ? "
    "AND (iter, seq) > (?, ?) ORDER BY iter, seq LIMIT ?"
)
ITERATION_TEXTS = ITERATIONS.replace("iter, seq FROM", "iter, seq, data FROM")

EVENTS_PER_BLOCK_MAX = 256
BLOCK_BYTES_MAX = 256 * 1024  # before compression; one event alone may be larger
COMPRESSED_BYTES_MIN = 1024  # below it compressing takes 15 µs and saves no page
COMPRESSION_LEVEL = 1  # the next ones save a twentieth and take up to three times as long
TEXT_CHARACTERS_MAX = 64  # of what stands beside an iteration's index
PLAIN = b"["
NULL = b"null"


def of_blocks(appends: Iterable[Append]) -> list[Row]:
    """The rows of all events, in order."""
    return [
        (append.execution_id, last_seq, body)
        for append in appends
        for start in range(0, len(append.events), EVENTS_PER_BLOCK_MAX)
        for last_seq, body in _packed(append.first_seq + start, append.events[start : start + EVENTS_PER_BLOCK_MAX])
    ]


def _packed(first_seq: int, events: Sequence[Event]) -> Iterator[tuple[int, bytes]]:
    """Events as one block, or as several where they are large."""
    text = encode(events)
    if len(text) > BLOCK_BYTES_MAX and len(events) > 1:
        half = len(events) // 2
        yield from _packed(first_seq, events[:half])
        yield from _packed(first_seq + half, events[half:])
        return
    is_short = len(text) < COMPRESSED_BYTES_MIN
    yield first_seq + len(events) - 1, text if is_short else zlib.compress(text, COMPRESSION_LEVEL)


def of_iterations(appends: Iterable[Append]) -> list[Row]:
    """Where the outputs of a loop are, by index, and the little that most of them are."""
    return [
        (append.execution_id, event.run, event.iter, seq, _text_of(event.output))
        for append in appends
        for seq, event in enumerate(append.events, append.first_seq)
        if type(event) is LoopIterationDone
    ]


def _text_of(output: Envelope) -> bytes | None:
    """The data of an output as JSON, if it is a word or a number; None: it is in the log alone."""
    data = output.get("data", output)
    if data is None:
        return NULL
    kind = type(data)
    is_little = kind is bool or kind is int or (kind is str and len(data) <= TEXT_CHARACTERS_MAX)
    return encode_data(data) if is_little else None


def events_in(body: bytes, execution_id: int, last_seq: int) -> list[Event]:
    """The events of a block. Raises StoreUnusable."""
    try:
        text = body if body.startswith(PLAIN) else zlib.decompress(body)
    except zlib.error as fault:
        raise _unreadable(f"the block that ends with event {execution_id}-{last_seq}", fault) from fault
    try:
        return decode_all(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _one_by_one(text, execution_id, last_seq)


def _one_by_one(text: bytes, execution_id: int, last_seq: int) -> list[Event]:
    """The same for a block that cannot be read whole, to say which event it is."""
    try:
        bodies = msgspec.json.decode(text, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise _unreadable(f"the block that ends with event {execution_id}-{last_seq}", fault) from fault
    events = []
    for seq, body in enumerate(bodies, last_seq - len(bodies) + 1):
        try:
            events.append(decode(bytes(body)))
        except (msgspec.DecodeError, UnicodeDecodeError) as fault:
            raise _unreadable(f"event {execution_id}-{seq}", fault) from fault
    return events


def _unreadable(what: str, fault: Exception) -> StoreUnusable:
    return StoreUnusable(
        f"{what} cannot be read: {fault}. It is damaged, or a newer NoETL wrote it: "
        "upgrade NoETL, or bring the store back from a backup"
    )
