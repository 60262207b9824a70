"""Taps on the tools of a run for real: what each call was given as an answer is noted, free of secrets, in order.

A call that was cancelled or timed out by its worker has no answer of its own; that is noted too, with how long it took.
Notes are kept encoded, and within a bound: a run that gives more is not recorded, and goes on all the same.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable
from typing import Any

import msgspec

from noetl.config import Settings
from noetl.control.requests import Observer
from noetl.embedded import Embedded, Kinds, kinds_of
from noetl.engine.events import ChildDone, Event, StepScheduled
from noetl.engine.output import Output, failure
from noetl.engine.values import plain
from noetl.references import reference_of
from noetl.rehearsal.asking import Asked, Whereabouts
from noetl.rehearsal.envelopes import Answer, answer_of
from noetl.rehearsal.payloads import written_payload
from noetl.rehearsal.records import RECORDING_BYTES_MAX
from noetl.runner.invoke import failed_by
from noetl.tools.contract import Call, Hands, Tool

NOTED_BYTES_MAX = RECORDING_BYTES_MAX
LIVE = frozenset(("noop",))  # they give the same again by themselves


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """One answer."""

    name: str  # step.task
    run: int
    iteration: str
    answer: bytes
    seconds: float
    is_cut_off: bool = False  # its worker did not wait for it


class Taps:
    """Listens to one run."""

    def __init__(self, settings: Settings, observer: Observer) -> None:
        self.kinds: Kinds = TappedKinds(kinds_of(settings), self)
        self.observer = Listener(observer, self)
        self.where = Whereabouts()
        self.notes: list[Note] = []
        self.path: list[str] = []
        self.calls: dict[str, int] = {}  # of each task of the playbook itself
        self.fault = ""  # why it cannot be recorded
        self.execution_id = 0
        self._bytes = 0
        self._parts: Embedded | None = None

    def open(self, parts: Embedded) -> None:
        self._parts = parts

    def clean(self, data: Any) -> Any:
        """Data without any secret that is known by now."""
        return self._parts.keychain.redactor().clean(data) if self._parts is not None else data

    # --- what is heard -----------------------------------------------------------------------------------------------

    def committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None:
        self.execution_id = self.execution_id or execution_id
        self.where.committed(execution_id, first_seq, events)
        self.where.events.clear()  # of a long run that would be too much
        for event in events if execution_id == self.execution_id else ():
            if isinstance(event, StepScheduled):
                self.path.append(event.step)
            elif isinstance(event, ChildDone):
                self._note_child(execution_id, event)

    def asked(self, call: Call, kind: str) -> Asked | None:
        """Who asks; None: a called playbook, whose caller's answer is noted."""
        if call.execution_id != self.execution_id:
            return None
        asked = self.where.asked(call.key, kind, call.task, call.attempt, {})
        self.calls[asked.name] = self.calls.get(asked.name, 0) + 1
        return asked if kind not in LIVE else None

    async def note(self, asked: Asked | None, call: Call, output: Output, seconds: float) -> None:
        if asked is None or self.fault:
            return
        answer = answer_of(output)
        reference = reference_of(output.ref) if output.ref else None
        if reference is not None:
            try:
                answer["stored"] = written_payload(await call.results.fetch(reference, NOTED_BYTES_MAX), reference)
            except Exception as error:
                self.fault = f'the payload of "{asked.name}" cannot be fetched: {error}'
        self._keep(asked, answer, seconds)

    def note_cut_off(self, asked: Asked | None, seconds: float) -> None:
        message = "it was ended before it answered"
        output = failure("timeout", message, retryable=True, is_definite=False)
        if asked is not None:
            self._keep(asked, answer_of(output), seconds, is_cut_off=True)

    def _note_child(self, execution_id: int, event: ChildDone) -> None:
        key = f"{execution_id}:{event.run}:{event.iter}:{event.task}:{event.visit}.0"
        asked = self.where.asked(key, "playbook", event.task, event.attempt, {})
        self.calls[asked.name] = self.calls.get(asked.name, 0) + 1
        helper = {"playbook": {"execution_id": str(event.child_execution_id), "status": event.result}}
        if event.result == "success":
            found = event.output or {}
            answer: Answer = {"data": found.get("data")} if "data" in found else {"ref": found.get("ref")}
        else:
            kind = event.result if event.result in ("cancelled", "timeout") else "child_failed"
            cause = event.error or {}
            answer = {"error": {"kind": kind, "message": str(cause.get("message", kind)), "details": {"cause": cause}}}
        self._keep(asked, {**answer, **helper}, 0.0)

    def _keep(self, asked: Asked, answer: Answer, seconds: float, *, is_cut_off: bool = False) -> None:
        if self.fault:
            return
        try:
            encoded = msgspec.json.encode(plain(self.clean(answer)))
        except Exception as error:
            self.fault = f'an answer of "{asked.name}" cannot be written as JSON: {error}'
            return
        self._bytes += len(encoded)
        if self._bytes > NOTED_BYTES_MAX:
            self.fault = f"the answers are more than {NOTED_BYTES_MAX // (1024 * 1024)} MiB"
            self.notes.clear()
            return
        note = Note(
            name=asked.name,
            run=asked.run,
            iteration=asked.iteration,
            answer=encoded,
            seconds=round(seconds, 3),
            is_cut_off=is_cut_off,
        )
        self.notes.append(note)


class Listener:
    """Whoever watches the run, and behind that the taps."""

    def __init__(self, observer: Observer, taps: Taps) -> None:
        self._observer = observer
        self._taps = taps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._observer, name)

    def committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None:
        self._taps.committed(execution_id, first_seq, events)
        self._observer.committed(execution_id, first_seq, events)


class TappedKinds(Kinds):
    """The kinds of the settings, each with a tap."""

    def __init__(self, kinds: Kinds, taps: Taps) -> None:
        super().__init__()
        self._plugins = kinds.plugins
        self._taps = taps

    def make_tool(self, name: str, hands: Hands) -> Tool:
        return TappedTool(super().make_tool(name, hands), name, self._taps)


class TappedTool:
    """One tool with a tap."""

    def __init__(self, tool: Tool, kind: str, taps: Taps) -> None:
        self._tool = tool
        self._kind = kind
        self._taps = taps
        self.times_itself = getattr(tool, "times_itself", False)

    def run(self, call: Call) -> Output | Awaitable[Output]:
        asked = self._taps.asked(call, self._kind)
        if asked is None:
            return self._tool.run(call)
        return self._heard(asked, call)

    async def _heard(self, asked: Asked, call: Call) -> Output:
        begun = time.monotonic()
        try:
            come = self._tool.run(call)
            output = await come if inspect.isawaitable(come) else come
        except asyncio.CancelledError:
            self._taps.note_cut_off(asked, time.monotonic() - begun)
            raise
        except Exception as error:
            await self._taps.note(asked, call, failed_by(error), time.monotonic() - begun)
            raise
        await self._taps.note(asked, call, output, time.monotonic() - begun)
        return output

    async def close(self) -> None:
        await self._tool.close()
