"""Running on a server, watched from here: `run` and `resume` as they are on this machine, over the API.

The start carries a request key, so it may be sent again when its answer is lost. Progress comes by the stream of
events. Ctrl-C ends the watching, never the execution: that goes on where it runs, and the result says how to end it.
"""

from __future__ import annotations

import secrets
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from noetl.config import Settings
from noetl.control.requests import Nobody, Observer, RerunRequest, RunRequest, RunResult
from noetl.engine.events import Event, ExecutionForked, TaskDone
from noetl.errors import NoetlError, RequestError, Unreachable
from noetl.projections.progress import INCIDENT, WAITING, Progress
from noetl.projections.read_back import event_of, seq_of
from noetl.projections.runs import RUNNING
from noetl.projections.summary import summary
from noetl.remote import held_up
from noetl.remote.answers import Refused
from noetl.remote.attaching import attached_files
from noetl.remote.following import Envelope, Ticking, followed, past
from noetl.remote.line import Interrupted, Line, open_line
from noetl.remote.refusing import local_refusal, playbook_text

KEY_BYTES = 16
START_TRIES_MAX = 5
START_PAUSE_SECONDS = 0.3
SETTLE_SECONDS = 0.2  # after the last event, before an execution is said to wait
STANDSTILL_SECONDS, STANDSTILL_SECONDS_MAX = 2.0, 30.0  # without an event, before it is asked why
NAME_CHARS_MAX = 255


def run(settings: Settings, request: RunRequest, observer: Observer) -> RunResult:
    """Run a playbook to its end, on the server."""
    with closing(open_line(settings)) as line:
        try:
            started = _start(line, "/api/v1/executions", request.request_key, _body_of(settings, request))
        except Refused as refused:
            raise local_refusal(settings, request, refused) from None
        execution_id = int(started["execution_id"])
        name = _name_of(line, started["path"], started["version"])
        observer.started(execution_id, name, started["path"], [])
        return watched(line, execution_id, observer, Progress())


def rerun(settings: Settings, request: RerunRequest, observer: Observer) -> RunResult:
    """Run an execution again from a point of its log, on the server."""
    with closing(open_line(settings)) as line:
        started = ask_for_rerun(settings, line, request)
        execution_id = int(started["execution_id"])
        name = _name_of(line, started["path"], started["version"])
        return _gone_on_with(line, execution_id, name, started["path"], observer, is_new=started["is_new"])


def ask_for_rerun(settings: Settings, line: Line, request: RerunRequest) -> dict[str, Any]:
    """Have an execution run again; nobody watches it yet."""
    text = RunRequest(
        data=request.data, name=request.name, is_legacy=request.is_legacy, is_upstream=request.is_upstream
    )
    try:
        path = f"/api/v1/executions/{request.execution_id}/rerun"
        return _start(line, path, request.request_key, _rerun_body_of(settings, request, text))
    except Refused as refused:
        raise local_refusal(settings, text, refused) from None


def _rerun_body_of(settings: Settings, request: RerunRequest, text: RunRequest) -> dict[str, Any]:
    body: dict[str, Any] = {"set": request.set}
    if request.from_step:
        body["from_step"] = request.from_step
    if request.at:
        body["at"] = request.at
    if request.is_from_failed:
        body["from_failed"] = True
    if request.is_whole:
        body["whole"] = True
    if request.data is None:
        return body
    flags = {"is_legacy": request.is_legacy, "is_upstream": request.is_upstream}
    return {**body, "text": playbook_text(settings, text), "name": request.name[-NAME_CHARS_MAX:], **flags}


def _start(line: Line, path: str, request_key: str | None, body: dict[str, Any]) -> dict[str, Any]:
    """Sent again where the answer was lost: under its key it counts once."""
    key = request_key or f"cli-{secrets.token_hex(KEY_BYTES)}"
    if not (key.isascii() and key.isprintable()):
        raise RequestError("over a server a request key has printable ASCII characters only")
    is_sent = False
    for attempt in range(1, START_TRIES_MAX + 1):
        try:
            started: dict[str, Any] = line.post(path, body, key)
            return started
        except Unreachable as fault:
            is_sent = is_sent or isinstance(fault, Interrupted)
            if not is_sent or attempt == START_TRIES_MAX:
                raise
            time.sleep(START_PAUSE_SECONDS * attempt)
    raise AssertionError("the last attempt returns or raises")


def _body_of(settings: Settings, request: RunRequest) -> dict[str, Any]:
    body: dict[str, Any] = {"payload": request.payload}
    if request.data is None:
        version = {} if request.version is None else {"version": request.version}
        return {**body, "path": request.path, **version}
    return {
        **body,
        "text": playbook_text(settings, request),
        "name": request.name[-NAME_CHARS_MAX:],
        "beside": attached_files(request.data, request.folder),
        "is_legacy": request.is_legacy,
        "is_upstream": request.is_upstream,
    }


def _name_of(line: Line, path: str, version: int) -> str:
    """What the playbook calls itself, for whoever watches."""
    from noetl.dsl.check import documents_of

    text = line.get("/api/v1/catalog/playbook", path=path, version=version)["text"]
    metadata = [document.get("metadata") for document in documents_of(text, path)]
    return str((metadata[0] or {}).get("name", path)) if metadata else path


def resume(settings: Settings, execution_id: int, observer: Observer) -> RunResult:
    """Go on with an execution, on the server; one that has ended is only summed up."""
    with closing(open_line(settings)) as line:
        shown = line.get(f"/api/v1/executions/{execution_id}")
        name = _name_of(line, shown["path"], shown["version"])
        return _gone_on_with(line, execution_id, name, shown["path"], observer, is_asked=True)


def _gone_on_with(
    line: Line,
    execution_id: int,
    name: str,
    path: str,
    observer: Observer,
    *,
    is_asked: bool = False,
    is_new: bool = False,
) -> RunResult:
    """Watch one that has a past. `is_asked`: it goes on when somebody says so. `is_new`: a rerun, of which only what it
    keeps of another is past, however far it has come since."""
    so_far, progress = Progress(), Progress()  # the observer goes on with one of them
    events = [event_of(envelope) for envelope in past(line, execution_id)]
    for event in events[: _kept(events)] if is_new else events:
        so_far.apply(event)
        progress.apply(event)
    observer.started(execution_id, name, path, [], so_far)
    if is_asked:
        line.post(f"/api/v1/executions/{execution_id}/resume", {})
    return watched(line, execution_id, observer, progress)


def _kept(events: list[Event]) -> int:
    """How many events a rerun has of another execution; one that began anew has none."""
    return max((place for place, event in enumerate(events) if isinstance(event, ExecutionForked)), default=0)


# --- watching --------------------------------------------------------------------------------------------------------


def watched(line: Line, execution_id: int, observer: Observer, progress: Progress) -> RunResult:
    """Tell an observer what happens until the execution has ended, waits or is left alone."""
    extra: dict[str, Any] = {}
    try:
        with _termination_as_interrupt():
            if not progress.result:
                extra = _follow(line, execution_id, observer, progress)
    except KeyboardInterrupt:
        found = _summed_up(line, execution_id, progress)
        return RunResult(summary=found, is_interrupted=True, runs_on=line.url)
    found = line.get(f"/api/v1/executions/{execution_id}/summary")
    is_undone = any(step.compensations for step in progress.ended_steps.values())
    return RunResult(summary=found | (extra if found["status"] == RUNNING else {}), is_undone=is_undone)


def _follow(line: Line, execution_id: int, observer: Observer, progress: Progress) -> dict[str, Any]:
    """Until nothing more happens by itself; gives what its children say of an execution that only waits for them."""
    coming = Ticking(followed(line, execution_id, progress.seq))
    quiet_since, look_after = time.monotonic(), STANDSTILL_SECONDS
    told: set[str] = set()
    while True:
        is_settling = progress.status in (WAITING, INCIDENT)
        try:
            envelope = coming.next_within(SETTLE_SECONDS if is_settling else observer.tick_seconds)
        except StopIteration:
            return {}
        try:
            if envelope is not None:
                _tell(observer, execution_id, envelope, progress)
                quiet_since, look_after = time.monotonic(), STANDSTILL_SECONDS
                continue
            observer.tick()
        except OSError:  # its terminal is gone
            observer = Nobody()
        if is_settling:
            return {}
        if time.monotonic() - quiet_since > look_after:
            if extra := _looked_into(line, execution_id, observer, progress, told):
                return extra
            look_after = min(look_after * 2, STANDSTILL_SECONDS_MAX)


def _tell(observer: Observer, execution_id: int, envelope: Envelope, progress: Progress) -> None:
    event = event_of(envelope)
    progress.apply(event)
    if isinstance(event, TaskDone):
        for printed in event.logs:  # what a task printed comes before how it ended
            observer.printed(execution_id, envelope.get("step", ""), event.task, printed)
    observer.committed(execution_id, seq_of(envelope), [event])


def _looked_into(
    line: Line, execution_id: int, observer: Observer, progress: Progress, told: set[str]
) -> dict[str, Any]:
    """Why nothing happens: what its children say, if it only waits for them; a pool without a worker is told of."""
    try:
        if progress.called and (extra := held_up.by_children(line, execution_id, progress)):
            return extra
        if not progress.runs.current:  # else a task is under way, and takes its time
            shown = line.get(f"/api/v1/executions/{execution_id}")
            for one in shown.get("unserved", ()):  # an older server does not tell
                if one["pool"] not in told:
                    told.add(one["pool"])
                    observer.unserved(one["reason"])
    except (Unreachable, OSError):
        pass  # the stream has the patience to wait for the server; a terminal that is gone is seen with the next event
    return {}


def _summed_up(line: Line, execution_id: int, progress: Progress) -> dict[str, Any]:
    """From the server, else from what arrived: whoever pressed Ctrl-C does not wait for a server that is away."""
    try:
        found: dict[str, Any] = line.get(f"/api/v1/executions/{execution_id}/summary")
        return found
    except NoetlError:
        return summary(execution_id, progress, [])


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """SIGTERM does what Ctrl-C does, as long as this lasts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
