"""The log of an execution, as it grows on a server: each event once, in order, whatever happens to the connection.

A stream that breaks is asked for again from the last event that arrived; what comes twice is dropped, and where one is
missing the stream is asked for again. Only a server that cannot be reached for long ends it.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from noetl.errors import NoetlError, Unreachable
from noetl.projections.read_back import seq_of
from noetl.remote.line import Line
from noetl.remote.stream import OVER

LAST_EVENT = "playbook.processed"
PAGE = 1000
FIRST_PAUSE_SECONDS, PAUSE_SECONDS_MAX = 0.1, 2.0
PATIENCE_SECONDS = 300.0  # a server that is upgraded or moved is back by then
BUFFER_EVENTS_MAX = 1000
Envelope = dict[str, Any]


def past(line: Line, execution_id: int, after: int = 0) -> Iterator[Envelope]:
    """The events that the log has now, those after one. Of a long log a server reads each page from its beginning,
    so after the first page the stream goes on, which does not."""
    page = line.get(f"/api/v1/executions/{execution_id}/events", after=after, limit=PAGE)
    yield from page["events"]
    if page["next"] is None:
        return
    seq, head = page["next"], line.get(f"/api/v1/executions/{execution_id}")["events"]
    for envelope in followed(line, execution_id, seq):
        yield envelope
        if seq_of(envelope) >= head:
            return


def followed(line: Line, execution_id: int, after: int = 0) -> Iterator[Envelope]:
    """The events after one, and on as the log grows, until the execution has ended."""
    seq, patience = after, Patience(execution_id)
    while True:
        try:
            for message in line.stream(f"/api/v1/executions/{execution_id}/events/stream", seq):
                patience.restore()
                if message is OVER:
                    return
                envelope = None if message is None else msgspec.json.decode(message.data)
                if envelope is None or seq_of(envelope) <= seq:
                    continue
                if seq_of(envelope) > seq + 1:
                    break
                seq += 1
                yield envelope
                if envelope["name"] == LAST_EVENT:
                    return
        except (Unreachable, msgspec.DecodeError) as fault:
            if line.is_closed or not line.is_known:
                raise
            patience.wait(fault)
        else:
            patience.wait(None)


class Patience:
    """How long to wait before a server is asked again, and when to give up."""

    def __init__(self, execution_id: int) -> None:
        self.execution_id = execution_id
        self.restore()

    def restore(self) -> None:
        """It is there."""
        self.pause_seconds = FIRST_PAUSE_SECONDS
        self.since = time.monotonic()

    def wait(self, fault: Exception | None) -> None:
        if fault is not None and time.monotonic() - self.since > PATIENCE_SECONDS:
            raise Unreachable(f"{fault}. Execution {self.execution_id} goes on there without this command") from fault
        time.sleep(self.pause_seconds)
        self.pause_seconds = min(self.pause_seconds * 2, PAUSE_SECONDS_MAX)


class Ended(NamedTuple):
    """The last thing in a buffer: why nothing follows."""

    fault: BaseException | None


class Ticking:
    """The items of an iterator that may keep one waiting, read by a thread of its own; the reader never waits long."""

    def __init__(self, items: Iterator[Envelope]) -> None:
        self._buffer: queue.Queue[Envelope | Ended] = queue.Queue(BUFFER_EVENTS_MAX)
        self._thread = threading.Thread(target=self._read, args=(items,), daemon=True)
        self._thread.start()

    def _read(self, items: Iterator[Envelope]) -> None:
        try:
            for item in items:
                self._buffer.put(item)
        except (NoetlError, OSError, ValueError) as fault:
            self._buffer.put(Ended(fault))
        else:
            self._buffer.put(Ended(None))

    def next_within(self, seconds: float) -> Envelope | None:
        """The next item; None: none came in this time. Raises StopIteration at the end, or what ended it."""
        try:
            item = self._buffer.get(timeout=seconds)
        except queue.Empty:
            return None
        if isinstance(item, Ended):
            raise item.fault or StopIteration
        return item
