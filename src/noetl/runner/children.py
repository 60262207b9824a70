"""kind: playbook, from the caller's side: what the child is asked for, and what came back (TL-04)."""

from __future__ import annotations

from typing import Any

from noetl.engine.commands import TIMEOUT
from noetl.engine.output import Error, Output, failure
from noetl.engine.pipeline import Invocation
from noetl.engine.values import fault, plain
from noetl.engine.views import NOTHING

FIELDS = ("path", "version", "return_step")
NEVER_IN_HAND = "is_of_child"  # its payload was stored by the child: `resolve` reads it here, and nothing else does
OF_STORED = ("is_stored", "selected", "preview")  # what an envelope says of a payload that is kept outside the log


def wanted(invocation: Invocation, given: dict[str, Any]) -> dict[str, Any]:
    """The child that a task asks for; further names of its input are the child's payload."""
    path = given.get("path")
    if not isinstance(path, str) or not path:
        raise fault("type", "kind: playbook needs a path", invocation.task.place)
    payload = plain({name: value for name, value in given.items() if name not in FIELDS}, invocation.task.place)
    child = {"path": path, "version": given.get("version"), "return_step": given.get("return_step")}
    return {**child, "payload": payload, "key": invocation.key}


def answered(child: dict[str, Any]) -> Output:
    """What a child came to, as the output of the task that called it."""
    helpers = {"playbook": {"execution_id": str(child["execution_id"]), "status": child["result"]}}
    output = child.get("output") or NOTHING
    if child["result"] == "success":
        is_put_away = "data" not in output and output["meta"].get("is_stored")  # else: a reference that a task gave
        meta = {name: output["meta"][name] for name in OF_STORED if name in output["meta"]} if is_put_away else {}
        if is_put_away:
            meta[NEVER_IN_HAND] = True
        return Output(data=output.get("data"), ref=output.get("ref"), helpers=helpers, meta=meta)
    cause = child.get("error") or {}
    if child["result"] == TIMEOUT:
        return failure("timeout", str(cause.get("message", "it took too long")), retryable=True, helpers=helpers)
    kind = "cancelled" if child["result"] == "cancelled" else "child_failed"
    name = f"child execution {child['execution_id']}" if child["execution_id"] else "the child"
    message = (
        f"{name} {'was cancelled' if kind == 'cancelled' else 'failed'}: {cause.get('message', 'no reason given')}"
    )
    return Output(error=Error(kind=kind, message=message, details={"cause": cause}), helpers=helpers)
