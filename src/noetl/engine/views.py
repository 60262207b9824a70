"""What templates see of events and outputs, made of what the log has.

A payload that is kept outside the log stands in an envelope as a `ref` without `data`. A template that reads `data` of
such an envelope meets STORED, which refuses to be read and names `resolve` (RS-04). Under the upstream surface it
answers what is known beside the reference, and refuses all else (UP-07).
"""

from __future__ import annotations

from typing import Any

from noetl import ids
from noetl.engine.events import (
    ERROR,
    SUCCESS,
    Envelope,
    WorkflowStarted,
    name_of,
    source_of,
    status_of,
    timestamp,
)
from noetl.engine.state import Run
from noetl.expressions import STORED, Payload, Stored

OF_ENVELOPE = ("status", "ref", "error", "meta")
NOTHING: Envelope = {"status": "ok", "data": None, "ref": None, "error": None, "meta": {}}


def readable(output: Envelope | None) -> Envelope:
    """An envelope as a template reads it."""
    if output is None:
        return NOTHING
    if "data" in output:
        return output
    return {**output, "data": STORED if output.get("ref") else None}


def transparent(output: Envelope) -> Any:
    """A step's or task's name under the upstream surface: its payload's keys, then those of its envelope (UP-01)."""
    shown = readable(output)
    payload, more = shown["data"], {**_of_http(output), **_of_loop(shown), **_of_stored(shown)}
    if type(payload) is Stored:
        return Stored({**without_data(shown), **more, **_selected(shown)})
    if not isinstance(payload, dict):
        return Payload(shown, more) if more else shown
    of_body = {"body": payload} if output.get("http") else {}
    of_envelope = {name: shown.get(name) for name in OF_ENVELOPE}
    return Payload(payload, {**more, **of_body, **of_envelope, **_selected(shown)})


def transparent_output(output: Envelope) -> Envelope:
    """`output` under the upstream surface: an envelope whose data answers for more than its keys."""
    payload, more = output.get("data"), {**_of_loop(output), **_of_stored(output)}
    if type(payload) is Stored:
        output = {**output, "data": Stored({**more, **_selected(output)})}
    elif isinstance(payload, dict):
        output = {**output, "data": Payload(payload, _selected(output))}
    return Payload(output, more) if more else output


def _of_http(output: Envelope) -> dict[str, Any]:
    http = output.get("http")
    return {"status_code": http.get("status"), "headers": http.get("headers"), "url": http.get("url")} if http else {}


def _of_loop(output: Envelope) -> dict[str, Any]:
    """UP-07: what a loop came to, in the words of the field."""
    loop = output.get("loop")
    if not loop:
        return {}
    stats = {"total": loop["total"], "success": loop["done"], "failed": loop["failed"]}
    return {"results": output.get("data"), "stats": stats}


def _of_stored(output: Envelope) -> dict[str, Any]:
    """UP-07: where a payload is kept, and how it begins."""
    ref = output.get("ref")
    if not isinstance(ref, dict):
        return {}
    return {"_ref": ref, "_store": ref.get("type") or ref.get("store"), "_preview": output["meta"].get("preview")}


def _selected(output: Envelope) -> dict[str, Any]:
    """The fields that the task's `spec.result.select` names, under their own names."""
    found: dict[str, Any] = output["meta"].get("selected") or {}
    return found


def handed_on(output: Envelope | None) -> Any:
    """The data of an envelope, or its reference when the data is kept elsewhere (SC-07)."""
    if output is None:
        return None
    return output["data"] if "data" in output else output.get("ref")


def without_data(output: Envelope) -> Envelope:
    """An envelope whose data stands in another event already."""
    return {name: value for name, value in output.items() if name != "data"}


def stored(output: Envelope, ref: dict[str, Any]) -> Envelope:
    """An envelope whose data we keep outside the log. What has no such mark is a reference that a task gave."""
    return {**without_data(output), "ref": ref, "meta": {**output["meta"], "is_stored": True}}


def failed(error: dict[str, Any]) -> Envelope:
    """The envelope of a step that failed before any task gave one."""
    return {"status": "error", "data": None, "ref": None, "error": error, "meta": {}}


def joined(outputs: dict[str, Any]) -> Envelope:
    """ST-11: what a join receives: a mapping of source step to data."""
    return {**NOTHING, "data": outputs}


def boundary(execution_id: int, run: Run) -> dict[str, Any]:
    """The envelope of the event that ended a step run (EV-01, EV-02), as a state can hold it: plain data."""
    run_id = ids.step_run_id(execution_id, run.id)
    return {
        "event_id": ids.event_id(execution_id, run.boundary_seq),
        "execution_id": str(execution_id),
        "timestamp": timestamp(run.boundary_at),
        "source": run.boundary_source,
        "name": run.boundary,
        "entity_type": run.boundary.partition(".")[0],
        "entity_id": run_id,
        "status": ERROR if run.error else SUCCESS,
        "step": run.step,
        "step_run_id": run_id,
        "payload": {"output": run.output, "error": run.error},
    }


def readable_event(event: dict[str, Any]) -> dict[str, Any]:
    """`event`, as arcs and admission rules read it."""
    payload = event.get("payload")
    if not payload or not payload["output"]:
        return event
    return {**event, "payload": {**payload, "output": readable(payload["output"])}}


def beginning(execution_id: int, seq: int, event: WorkflowStarted) -> dict[str, Any]:
    """`event` for the first step, which no other step sent a token to."""
    return {
        "event_id": ids.event_id(execution_id, seq),
        "execution_id": str(execution_id),
        "timestamp": timestamp(event.ts),
        "source": source_of(event),
        "name": name_of(event),
        "entity_type": "workflow",
        "entity_id": str(execution_id),
        "status": status_of(event),
        "step": "",
        "step_run_id": None,
        "payload": {"output": None, "error": None},
    }
