"""An exported execution, brought back as a file: read, proved and kept as it came.

A file is anybody's. Every line is bounded in bytes and depth and decoded as an event, and the whole log is folded by
the engine and by what pages read, before any of it is believed: what then stands can be looked at like any other log.
The header says how many events there are, so that a file that was cut short does not pass for a whole one.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable
from typing import Any, BinaryIO

import msgspec

from noetl.control.catalog import Loaded, playbook_of
from noetl.control.exported import FORMAT, PLAYBOOKS_MAX, VERSIONS, ExportedPlaybook, Header
from noetl.control.nesting import is_deeper_than
from noetl.control.planning import extended
from noetl.control.shares import digest
from noetl.dsl.kinds import Kinds
from noetl.dsl.model import Step
from noetl.engine.apply import apply
from noetl.engine.decide import row_status
from noetl.engine.events import (
    Event,
    PlaybookExecutionRequested,
    StepScheduled,
    TaskStarted,
    decode,
    decode_all,
    encode,
    name_of,
)
from noetl.engine.net import Net
from noetl.engine.state import State
from noetl.errors import NoetlError, RequestError
from noetl.projections.ledger import Ledger
from noetl.stores.contract import Execution

FILE_BYTES_MAX = 64 * 1024 * 1024
HEADER_BYTES_MAX = 20 * 1024 * 1024
EVENT_BYTES_MAX = 4 * 1024 * 1024
EVENTS_MAX = 200_000
TEXTS_CHARACTERS_MAX = 2 * 1024 * 1024  # of all playbooks together
DEPTH_MAX = 128  # of nesting: that of the deepest payload, and what stands around it
PROVING_SECONDS_MAX = 15.0
CTX_BYTES_MAX = 1024 * 1024  # the engine allows a quarter of it: more would only make every event slow to fold
LOOK_EVENTS = 1000  # between two looks at the time and at the size of ctx
TIME_MAX = 253_370_764_800.0  # the year 9999
UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)


Playbooks = dict[str, "Loaded | NoetlError"]  # by sha: ready to be looked at, or why not


class Damaged(RequestError):
    """A file that is no exported execution, or not a whole one."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line} of the exported execution: {why}")
        self.line = line


class Brought(msgspec.Struct, frozen=True, kw_only=True):
    """A file that holds what it says. Events are decoded when they are asked for."""

    header: Header
    body: bytes
    starts_at: int  # where the first event's line begins
    ends: array[int]  # where each event's line ends; its place is its number, less one
    row: Execution  # as its log has it
    playbooks: Playbooks
    ledger: Ledger
    payloads: bytes = b""  # the lines behind the events, as they came: `brought_payloads` reads them

    @property
    def size_bytes(self) -> int:
        return len(self.body) + len(self.payloads) + 4 * len(self.ends) + self.ledger.size_bytes

    def events(self, after: int, limit: int) -> list[tuple[int, Event]]:
        """As a store gives them."""
        last = min(after + limit, len(self.ends))
        if not 0 <= after < last:
            return []
        start = self.ends[after - 1] + 1 if after else self.starts_at
        lines = self.body[start : self.ends[last - 1]]  # within a line there is no line end, so a comma may stand there
        return list(enumerate(decode_all(b"[%s]" % lines.replace(b"\n", b",")), after + 1))


def brought(body: bytes, execution_id: int, kinds: Kinds, monotonic: Callable[[], float]) -> Brought:
    """Read an exported execution, as if it had this id; raises Damaged.

    Blocks for as long as it takes: call it off the event loop.
    """
    if len(body) > FILE_BYTES_MAX:
        raise Damaged(1, f"a file may have {FILE_BYTES_MAX} bytes, and this has {len(body)}")
    header, starts_at = header_in(body)
    body, payloads = parted(body, starts_at, header)
    ends = ends_in(body, starts_at, header.events)
    playbooks = {one.sha: looked_at(one, kinds) for one in header.playbooks}
    state, ledger = Proof(body, execution_id, playbooks, monotonic).proved(starts_at, ends)
    check_plans(state.planned, playbooks.get(state.sha), kinds)
    check_lines(body, starts_at, ends, header)
    return Brought(
        header=header,
        body=body,
        starts_at=starts_at,
        ends=ends,
        row=row_in(state, execution_id),
        playbooks=playbooks,
        ledger=ledger,
        payloads=payloads,
    )


def row_in(state: State, execution_id: int) -> Execution:
    """What a list says of it: what the log says, not what the header does."""
    return Execution(
        id=execution_id,
        sha=state.sha,
        path=state.path,
        version=state.version,
        status=row_status(state),
        head=state.seq,
        created_at=state.created_at,
        ended_at=state.ended_at or None,
        digest=digest(state),
    )


def looked_at(given: ExportedPlaybook, kinds: Kinds) -> Loaded | NoetlError:
    """A playbook that came along, or why it does not check here, say for a kind that is not installed: the log can be
    looked at all the same."""
    try:
        playbook = playbook_of(given.as_text, kinds)
    except NoetlError as fault:
        return fault
    return Loaded(playbook, Net(playbook), given.as_text)


def check_plans(planned: list[list[Any]], loaded: Loaded | NoetlError | None, kinds: Kinds) -> None:
    """Steps that a planner added must fit the playbook, as they did when they were added."""
    if planned and isinstance(loaded, Loaded):
        try:
            extended(loaded, planned, kinds)
        except Exception as fault:  # a plan is any data, and what it is made of is not ours
            raise Damaged(1, f"the steps that were planned do not fit the playbook: {str(fault)[:200]}") from None


# --- lines -----------------------------------------------------------------------------------------------------------


def header_in(body: bytes) -> tuple[Header, int]:
    """The header, and where it ends."""
    end = body.find(b"\n", 0, HEADER_BYTES_MAX)
    if end < 0:
        raise Damaged(1, "there is no header with events below it; `noetl export` writes such a file")
    line = body[:end]
    if is_deeper_than(line, DEPTH_MAX):
        raise Damaged(1, f"it is nested deeper than {DEPTH_MAX} levels")
    try:
        header = msgspec.json.decode(line, type=Header)
    except UNREADABLE as fault:
        raise Damaged(1, f"this is no header of an exported execution: {fault}") from None
    check_header(header)
    return header, end + 1


def check_header(header: Header) -> None:
    if header.format != FORMAT:
        raise Damaged(1, f'format must be "{FORMAT}"')
    if header.version not in VERSIONS:
        known = " or ".join(map(str, VERSIONS))
        raise Damaged(1, f"version must be {known}, found {header.version}: another NoETL wrote it")
    if not 0 < header.events <= EVENTS_MAX:
        raise Damaged(1, f"events must be from 1 to {EVENTS_MAX}, found {header.events}")
    if len(header.playbooks) > PLAYBOOKS_MAX:
        raise Damaged(1, f"there may be {PLAYBOOKS_MAX} playbooks, found {len(header.playbooks)}")
    if sum(len(one.text) for one in header.playbooks) > TEXTS_CHARACTERS_MAX:
        raise Damaged(1, f"its playbooks may have {TEXTS_CHARACTERS_MAX} characters, and have more")
    if any(one.as_text.sha != one.sha for one in header.playbooks):
        raise Damaged(1, "the text of a playbook is not the one that its sha is of")


def parted(body: bytes, start: int, header: Header) -> tuple[bytes, bytes]:
    """The log, and the payloads behind it, if there are to be any."""
    for _ in range(header.events if header.has_payloads else 0):
        start = body.find(b"\n", start) + 1
        if not start:  # cut short: whoever counts the events says so
            return body, b""
    return (body[:start], body[start:]) if header.has_payloads else (body, b"")


class LogPart(msgspec.Struct, frozen=True):
    """The beginning of a file that is read from a stream: all but its payloads, which are still to come."""

    body: bytes
    lines: int  # how many lines it has
    has_payloads: bool


def log_part(stream: BinaryIO) -> LogPart:
    """Read a file up to its payloads; of one that is too large only so much that this can be seen."""
    first = stream.readline(HEADER_BYTES_MAX)
    header, _ = header_in(first)
    if not header.has_payloads:
        return LogPart(first + stream.read(FILE_BYTES_MAX + 1), 1 + header.events, False)
    lines, size = [first], len(first)
    while len(lines) <= header.events and size <= FILE_BYTES_MAX and (line := stream.readline(EVENT_BYTES_MAX + 2)):
        lines.append(line)
        size += len(line)
    return LogPart(b"".join(lines), len(lines), True)


def ends_in(body: bytes, start: int, count: int) -> array[int]:
    """Where each event's line ends. The last may lack its line end; nothing may follow it."""
    ends = array("I")
    while start < len(body):
        end = body.find(b"\n", start)
        end = len(body) if end < 0 else end
        if not start < end <= start + EVENT_BYTES_MAX:
            raise Damaged(len(ends) + 2, f"an event has from 1 to {EVENT_BYTES_MAX} bytes, and this has {end - start}")
        if len(ends) == count:
            raise Damaged(len(ends) + 2, f"the header says that there are {count} events, and here is another")
        ends.append(end)
        start = end + 1
    if len(ends) < count:
        raise Damaged(len(ends) + 2, f"it ends here, after {len(ends)} of {count} events")
    return ends


def check_lines(body: bytes, start: int, ends: array[int], header: Header) -> None:
    """Whether the log is the one that was written: an event that was altered may still follow on those before it. This
    is for accidents; who writes a header can write another one."""
    digest = hashlib.sha256()
    for end in ends:
        digest.update(body[start:end].rstrip(b"\r") + b"\n")  # a mailer may have changed the ends of lines
        start = end + 1
    if header.events_sha256 not in ("", digest.hexdigest()):
        raise Damaged(2, "the events are not those that were written (by their sha256); export it once more")


# --- events ----------------------------------------------------------------------------------------------------------


class Proof:
    """Folds a log, event by event."""

    def __init__(
        self, body: bytes, execution_id: int, playbooks: Playbooks, monotonic: Callable[[], float]
    ) -> None:  # fmt: skip
        self._body = body
        self._playbooks = playbooks
        self._monotonic = monotonic
        self._until = monotonic() + PROVING_SECONDS_MAX
        self._state = State(execution_id=execution_id)
        self._ledger = Ledger(execution_id)

    def proved(self, start: int, ends: array[int]) -> tuple[State, Ledger]:
        """What the log adds up to; raises Damaged where an event does not follow on those before it."""
        for seq, end in enumerate(ends, 1):
            self._fold(seq, event_in(self._body[start:end], seq))
            if seq % LOOK_EVENTS == 0 or seq == len(ends):
                self._look(seq)
            start = end + 1
        return self._state, self._ledger

    def _fold(self, seq: int, event: Event) -> None:
        try:
            apply(self._state, event)
            if isinstance(event, StepScheduled | TaskStarted):
                self._check_place(event)
            self._ledger.apply([(seq, event)])
        except Exception as fault:  # whatever it is: an engine wrote no such event there
            why = str(fault)[:200] or type(fault).__name__
            raise Damaged(seq + 1, f"{name_of(event)} does not follow on the events before it: {why}") from None

    def _check_place(self, event: StepScheduled | TaskStarted) -> None:
        """What runs must stand in the playbook, where there is one to look into, or in what was planned."""
        loaded = self._playbooks.get(self._state.sha)
        name = self._state.runs[event.run].step
        step = loaded.playbook.steps.get(name) if isinstance(loaded, Loaded) else None
        if isinstance(loaded, Loaded) and step is None and name not in planned_names(self._state):
            raise LookupError(f'the playbook has no step "{name}"')
        if step is not None and isinstance(event, TaskStarted) and event.task not in labels_of(step):
            raise LookupError(f'step "{name}" of the playbook has no task "{event.task}"')

    def _look(self, seq: int) -> None:
        if self._monotonic() > self._until:
            raise Damaged(seq + 1, f"reading it as far as here took longer than {PROVING_SECONDS_MAX:.0f} s")
        if len(encode(self._state.ctx)) > CTX_BYTES_MAX:
            raise Damaged(seq + 1, f"ctx has more than {CTX_BYTES_MAX} bytes, which no execution may have")


def planned_names(state: State) -> set[Any]:
    return {step.get("step") for plan in state.planned for step in plan if isinstance(step, dict)}


def labels_of(step: Step) -> set[str]:
    return {task.label for task in (*step.tasks, *step.compensation)}


def event_in(line: bytes, seq: int) -> Event:
    if is_deeper_than(line, DEPTH_MAX):
        raise Damaged(seq + 1, f"it is nested deeper than {DEPTH_MAX} levels")
    try:
        event = decode(line)
    except UNREADABLE as fault:
        raise Damaged(seq + 1, f"this is no event that this NoETL knows: {fault}") from None
    if not 0.0 <= event.ts <= TIME_MAX:
        raise Damaged(seq + 1, f"ts must be a time from 1970 on, in seconds, found {event.ts}")
    if (seq == 1) != isinstance(event, PlaybookExecutionRequested):
        raise Damaged(seq + 1, "a log begins with playbook.execution.requested, and has it once")
    return event
