"""Executions that begin: of a registered playbook, of a text, or from the middle of another execution."""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from noetl import traceparent
from noetl.api.catalog import FileName, Path, PlaybookText, Version
from noetl.api.documents import StartedRow
from noetl.api.executions import ONE, TAG, Seq
from noetl.api.operations import Call, Operation, Reply
from noetl.api.problems import Refusal
from noetl.api.registering import check_sight_of_text
from noetl.api.sight import execution_of, playbook_of
from noetl.control import reading
from noetl.control.desk import Started
from noetl.control.requests import RerunRequest, RunRequest
from noetl.control.rerun import rerun
from noetl.identity.roles import AUTHOR, RUNNER
from noetl.stores.contract import RUNNING, Entry

KEY_CHARACTERS_MAX = 150
START_BYTES_MAX = 3 * 1024 * 1024  # a playbook, what comes along with it and a payload, of 1 MiB each
Payload = Annotated[dict[str, Any], Meta(description="overlays the playbook's workload")]
IDEMPOTENCY = {"Idempotency-Key": "one execution per key, ever: the same key again answers with the one there is"}
TRACE = {"traceparent": "the execution becomes part of this trace (W3C Trace Context)"}


class Start(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A registered playbook by its path, or a text (which needs the role author)."""

    path: Path | None = None
    version: Version | None = None
    text: PlaybookText | None = None
    name: FileName = "playbook.yaml"
    beside: Annotated[dict[str, str], Meta(description="texts that it calls by these names")] = {}
    payload: Payload = {}
    is_legacy: bool = False
    is_upstream: bool = False


class Rerun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From a step or an event, with other values or another playbook; the execution there was stays as it is."""

    from_step: Annotated[str, Meta(min_length=1, max_length=255)] | None = None
    from_failed: Annotated[bool, Meta(description="from the step whose failure ended it")] = False
    at: Seq | None = None
    whole: Annotated[bool, Meta(description="run a failed loop anew, not only what is left of it")] = False
    set: Annotated[dict[str, Any], Meta(max_length=100, description="ctx.name: value")] = {}
    text: PlaybookText | None = None
    name: FileName = "playbook.yaml"
    is_legacy: bool = False
    is_upstream: bool = False


async def start_execution(call: Call) -> Reply:
    request, found = await request_of(call, call.body)
    return await started_reply(call, await call.parts.desk.start(request, found))


async def started_reply(call: Call, started: Started) -> Reply:
    """Where the execution is, and whether it is a new one."""
    path, version, status = started.path, started.version, RUNNING
    if not started.is_running:
        row = await reading.row_of(call.parts.store, started.execution_id)
        path, version, status = row.path, row.version, row.status
    body = {
        "execution_id": str(started.execution_id),
        "status": status,
        "path": path,
        "version": version,
        "is_new": started.is_new,
    }
    where = {"Location": f"/api/v1/executions/{started.execution_id}"}
    return Reply(status=201 if started.is_new else 200, body=body, headers=where)


async def request_of(call: Call, body: Start) -> tuple[RunRequest, Entry | None]:
    """What a start asks for, and the playbook if it is named by its path; raises Refusal if it does not name one."""
    if (body.path is None) == (body.text is None):
        raise Refusal(400, "bad-body", 'the body names a registered playbook by "path", or brings one as "text"')
    place = traceparent.read(call.request.headers.get("traceparent", ""))
    request = RunRequest(
        name=body.name,
        path=body.path,
        version=body.version,
        payload=body.payload,
        data=None if body.text is None else body.text.encode(),
        beside=body.beside,
        is_legacy=body.is_legacy,
        is_upstream=body.is_upstream,
        request_key=idempotency_key(call),
        trace_id=call.trace_id,
        parent_span_id=place.span_id if place else "",
    )
    found = await playbook_of(call, body.path, body.version) if body.path is not None else None
    await check_sight_of_text(call, request)
    return request, found


def idempotency_key(call: Call) -> str | None:
    """The client's key, apart from the keys that a server makes and from those of tokens for other paths."""
    key = call.request.headers.get("idempotency-key")
    if key is None:
        return None
    if not 0 < len(key) <= KEY_CHARACTERS_MAX or not (key.isascii() and key.isprintable()):
        wanted = f"1 to {KEY_CHARACTERS_MAX} printable ASCII characters"
        raise Refusal(400, "bad-idempotency-key", f"an Idempotency-Key has {wanted}")
    prefix = call.identity.path_prefix
    return f"api/{sha256(prefix.encode()).hexdigest()}:{key}" if prefix else f"api:{key}"


async def rerun_execution(call: Call) -> Reply:
    row, body = await execution_of(call), call.body
    data = None if body.text is None else body.text.encode()
    flags = {"is_legacy": body.is_legacy, "is_upstream": body.is_upstream}
    await check_sight_of_text(call, RunRequest(data=data, name=body.name, **flags))
    request = RerunRequest(
        execution_id=row.id,
        from_step=body.from_step or "",
        is_from_failed=body.from_failed,
        at=body.at or 0,
        is_whole=body.whole,
        set=body.set,
        data=data,
        name=body.name,
        request_key=idempotency_key(call),
        **flags,
    )
    return await started_reply(call, await rerun(call.parts.desk, call.parts.read_result, request))


OPERATIONS = (
    Operation(
        method="POST",
        path="/api/v1/executions",
        role=RUNNER,
        summary="Start an execution of a registered playbook, or of a text",
        handler=start_execution,
        tag=TAG,
        body=Start,
        body_bytes_max=START_BYTES_MAX,
        body_roles={"text": AUTHOR, "beside": AUTHOR},
        headers=IDEMPOTENCY | TRACE,
        answers={201: StartedRow, 200: StartedRow},
        refusals=(404, 409, 422),
    ),
    Operation(
        method="POST",
        path=f"{ONE}/rerun",
        role=RUNNER,
        summary="Run an execution again from a step or an event, as a new one",
        handler=rerun_execution,
        tag=TAG,
        body=Rerun,
        body_roles={"text": AUTHOR},
        headers=IDEMPOTENCY,
        answers={201: StartedRow, 200: StartedRow},
        refusals=(404, 409, 422),
    ),
)
