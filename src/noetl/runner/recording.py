"""An output as the log can hold it: what is too large for a row goes to a result store first (RS-01, RS-06).

An output comes in; two envelopes go out, the one that is recorded and the one that the pipeline goes on with, which has
the payload in hand. The limit is the playbook's `limits.max_payload_bytes`; with `results.reference_first`, or where a
template reads `output.ref`, a payload is stored whatever its size. Nothing is recorded here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.dsl.model import Playbook, Task
from noetl.engine.events import Event, LoopIterationDone, StepDone, StepStarted, TaskDone, TaskStarted
from noetl.engine.output import Output, envelope
from noetl.engine.pipeline import Answer
from noetl.engine.rows import payload_bytes_max, row_bytes_max
from noetl.engine.values import plain
from noetl.engine.views import stored
from noetl.references import is_reference
from noetl.runner.excerpts import preview, selection
from noetl.runner.shortening import cut, shrunk
from noetl.tools.contract import Results

LINES_LEFT_OUT = "(what it printed is left out: the row is full)"
HELPERS_BYTES_MAX = 16 * 1024
DETAILS_BYTES_MAX = 4 * 1024
MESSAGE_CHARACTERS_MAX = 4_000
SMALL_CHARACTERS_MAX = 256
PLAIN_ENVELOPE_KEYS, PLAIN_META_KEYS = 5, 4  # of an output without a kind's helper, and without a selection
SMALL_BYTES_MAX = 6 * SMALL_CHARACTERS_MAX + 2  # every character escaped, and the quotes

encode = msgspec.json.Encoder().encode
Finished = TaskDone | StepDone | LoopIterationDone


Envelopes = tuple[dict[str, Any], dict[str, Any]]


def kept_at_once(playbook: Playbook, task: Task, output: Output, meta: dict[str, Any]) -> Envelopes | None:
    """An output in hand and as it is recorded; None: it has to be stored, which takes time (`kept`)."""
    made, is_reference_only = _enveloped(playbook, task, output, meta)
    if is_reference_only:
        return made, made
    size_max = payload_bytes_max(playbook)
    if _is_wanted(playbook, task):
        return None
    is_kept = is_small(output.data, size_max) or len(encode(plain(output.data))) <= size_max
    return (made, made) if is_kept else None


async def kept(playbook: Playbook, task: Task, output: Output, meta: dict[str, Any], results: Results) -> Envelopes:
    """The same of any output; what is large, or wanted as a reference, is stored."""
    made, is_reference_only = _enveloped(playbook, task, output, meta)
    size_max = payload_bytes_max(playbook)
    if is_reference_only or (not _is_wanted(playbook, task) and is_small(output.data, size_max)):
        return made, made
    payload = plain(output.data)
    data = encode(payload)
    if len(data) <= size_max and not _is_wanted(playbook, task):
        return made, made
    made["ref"] = (await results.store(data)).as_data()
    if len(data) <= size_max and not playbook.settings.reference_first:
        return made, made
    made["meta"].update(preview(playbook, payload))
    made["meta"]["is_stored"] = True  # by us, so that a redelivery puts it back into the pipeline's hands
    return made, {name: value for name, value in made.items() if name != "data"}


def _is_wanted(playbook: Playbook, task: Task) -> bool:
    """Whether a payload is stored whatever its size."""
    return task.wants_reference or playbook.settings.reference_first


def _enveloped(playbook: Playbook, task: Task, output: Output, meta: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The envelope of an output, and whether it has a reference in place of data."""
    made, data = envelope(output, meta), output.data
    if is_reference(data):  # RS-05: a returned value of reference shape becomes output.ref
        made["ref"] = made.pop("data")
        return made, True
    if data is None and output.ref is not None:
        del made["data"]
        return made, True
    if task.spec:
        made["meta"].update(selection(playbook, task, data))
    return made, False


def fits(playbook: Playbook, event: Event) -> bool:
    """Whether a row can hold an event as it is."""
    if not isinstance(event, Finished) or event.output is None:
        return True
    size_max = row_bytes_max(playbook)
    if is_small(event.output.get("data"), size_max) and not has_more(event):
        return True
    return len(encode(event)) <= size_max


def fits_surely(playbook: Playbook, answer: Answer) -> bool:
    """Whether a row can hold the end of a task that gave this, if nothing but the task itself writes."""
    if answer.logs or answer.patches:
        return False
    return is_small(answer.recorded.get("data"), row_bytes_max(playbook))


async def fitted(playbook: Playbook, event: Event, results: Results) -> Event:
    """An event that a row can hold: a payload that the rest leaves no room for is stored too."""
    if not isinstance(event, Finished) or event.output is None or fits(playbook, event):
        return event
    output, size_max = event.output, row_bytes_max(playbook)
    if "data" in output:
        output = {**output, "meta": {**output["meta"], **preview(playbook, output["data"])}}
        event = msgspec.structs.replace(event, output=await _stored(output, results))
    if isinstance(event, TaskDone) and event.logs and len(encode(event)) > size_max:
        event = msgspec.structs.replace(event, logs=[LINES_LEFT_OUT])
    return event


async def _stored(output: dict[str, Any], results: Results) -> dict[str, Any]:
    """A recorded envelope with its data outside the log."""
    reference = output["ref"] or (await results.store(encode(output["data"]))).as_data()
    return stored(output, reference)


def bounded(playbook: Playbook, output: Output) -> Output:
    """An output whose helpers and error fit beside its data, or beside a reference to it: long texts are cut."""
    share = row_bytes_max(playbook) // 4
    if output.helpers:
        output = msgspec.structs.replace(output, helpers=shrunk(output.helpers, min(HELPERS_BYTES_MAX, share)))
    if output.error is not None:
        details = shrunk(output.error.details, min(DETAILS_BYTES_MAX, share))
        message = cut(output.error.message, min(MESSAGE_CHARACTERS_MAX, share))
        if details is not output.error.details or message is not output.error.message:
            error = msgspec.structs.replace(output.error, message=message, details=details)
            output = msgspec.structs.replace(output, error=error)
    return output


def has_more(event: Finished) -> bool:
    """Whether something of any size stands in an event besides its output."""
    return bool(event.patches or (isinstance(event, TaskDone) and (event.held or event.logs)))


def is_small_event(event: Event) -> bool:
    """Whether an event is surely of no size, without encoding it: names, ids, and an output with little in it."""
    kind = type(event)
    if len(event.task) > SMALL_CHARACTERS_MAX:
        return False
    if kind is TaskStarted or kind is StepStarted:
        return True
    if not isinstance(event, Finished) or has_more(event) or getattr(event, "previous", None):
        return False
    output = event.output
    if output is None or len(output) > PLAIN_ENVELOPE_KEYS or len(output["meta"]) > PLAIN_META_KEYS:
        return False
    return output["ref"] is None and output["error"] is None and is_small(output.get("data"), SMALL_BYTES_MAX)


def is_small(data: Any, bytes_max: int) -> bool:
    """Whether a payload surely fits, without encoding it."""
    kind = type(data)
    if bytes_max < SMALL_BYTES_MAX:
        return False
    return kind is bool or kind is int or data is None or (kind is str and len(data) < SMALL_CHARACTERS_MAX)
