"""What templates see of events and outputs, made of what the log has.

A payload that is kept outside the log stands in an envelope as a `ref` without `data`. A template that reads `data` of
such an envelope meets STORED, which refuses to be read and names `resolve` (RS-04).
"""

from __future__ import annotations

from typing import Any

from noetl import ids
from noetl.engine.events import Envelope
from noetl.expressions import STORED, Payload

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
    payload = shown["data"]
    if not isinstance(payload, dict):
        return shown
    http = output.get("http") or {}
    of_http = {"status_code": http.get("status"), "headers": http.get("headers"), "url": http.get("url")}
    beyond = {**(of_http | {"body": payload} if http else {}), **{name: shown.get(name) for name in OF_ENVELOPE}}
    return Payload(payload, beyond)


def transparent_output(output: Envelope) -> Envelope:
    """`output` under the upstream surface: an envelope whose data answers for more than its keys."""
    payload = output.get("data")
    return {**output, "data": Payload(payload, {})} if isinstance(payload, dict) else output


def handed_on(output: Envelope | None) -> Any:
    """The data of an envelope, or its reference when the data is kept elsewhere (SC-07)."""
    if output is None:
        return None
    return output["data"] if "data" in output else output.get("ref")


def without_data(output: Envelope) -> Envelope:
    """An envelope whose data stands in another event already."""
    return {name: value for name, value in output.items() if name != "data"}


def failed(error: dict[str, Any]) -> Envelope:
    """The envelope of a step that failed before any task gave one."""
    return {"status": "error", "data": None, "ref": None, "error": error, "meta": {}}


def joined(outputs: dict[str, Any]) -> Envelope:
    """ST-11: what a join receives: a mapping of source step to data."""
    return {**NOTHING, "data": outputs}


def boundary(
    execution_id: int, seq: int, name: str, step: str, run: int, output: Envelope | None, error: dict[str, Any] | None
) -> dict[str, Any]:
    """`event`, as arcs and admission rules read it: the envelope of EV-01."""
    status = "error" if error else "success" if run else "in_progress"
    return {
        "event_id": ids.event_id(execution_id, seq),
        "execution_id": str(execution_id),
        "name": name,
        "entity_type": name.partition(".")[0],
        "entity_id": ids.step_run_id(execution_id, run) if run else str(execution_id),
        "status": status,
        "step": step,
        "step_run_id": ids.step_run_id(execution_id, run) if run else None,
        "payload": {"output": readable(output) if output else None, "error": error},
    }
