"""What clients of the public NoETL server send and expect (UP-10): shapes, and how their operations are declared."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta

from noetl.api.documents import ExecutionId, Moment
from noetl.api.operations import Operation

TAG = "public clients"

Word = Annotated[str, Meta(max_length=255, pattern=r"^[^\x00-\x1f\x7f]*$")]
CONTENT_CHARACTERS_MAX = 1_500_000  # 1 MiB, and what base64 adds
UpstreamStatus = Literal["RUNNING", "COMPLETED", "FAILED", "CANCELLED"]


class Register(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    content: Annotated[
        str, Meta(min_length=1, max_length=CONTENT_CHARACTERS_MAX, description="YAML, or that in base64")
    ]
    resource_type: Word = "Playbook"


class ListResources(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    resource_type: Word = "Playbook"


class Resource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: Word | None = None
    version: Annotated[int | Word | None, Meta(description='a number, or "latest"')] = None
    catalog_id: Word | None = None
    resource_type: Word = "Playbook"


class Execute(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`payload`, `workload`, `args`, `parameters` and `input_payload` are one and the same."""

    path: Word | None = None
    version: Annotated[int | Word | None, Meta(description='a number, or "latest"')] = None
    catalog_id: Word | None = None
    payload: dict[str, Any] | None = None
    workload: dict[str, Any] | None = None
    args: dict[str, Any] | None = None
    parameters: dict[str, Any] | None = None
    input_payload: dict[str, Any] | None = None
    resource_kind: Word = "playbook"
    resource_type: Word = "playbook"
    type: Word = "playbook"
    merge: bool = False

    @property
    def given(self) -> dict[str, Any]:
        spellings = (self.payload, self.workload, self.args, self.parameters, self.input_payload)
        return next((one for one in spellings if one is not None), {})


class CancelUpstream(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    reason: Annotated[str | None, Meta(description="for the log")] = None
    cascade: bool = True  # it always is: children of a cancelled execution are cancelled


class PutCredential(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    type: Annotated[str, Meta(min_length=1, max_length=64)]
    data: Annotated[dict[str, Any], Meta(min_length=1, max_length=64)]
    description: Word | None = None
    tags: Any = None
    meta: Any = None

    def __repr__(self) -> str:
        return f"PutCredential({self.type})"


class CredentialsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    type: Word | None = None
    q: Word | None = None


class CredentialQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    include_data: bool = False


class ExecutionsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: Word | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class ResourceRow(TypedDict):
    catalog_id: str
    path: str
    version: int
    kind: Literal["Playbook"]
    created_at: Moment


class Registered(ResourceRow):
    status: Literal["success"]
    message: str


class ResourceText(ResourceRow):
    content: str


class Resources(TypedDict):
    entries: list[ResourceRow]


class ExecutionUpstream(TypedDict):
    execution_id: ExecutionId
    path: str
    version: int
    status: UpstreamStatus
    start_time: Moment
    end_time: Moment | None
    duration_seconds: float | None
    parent_execution_id: ExecutionId | None


class EventUpstream(TypedDict):
    execution_id: ExecutionId
    event_id: int
    event_type: str
    node_name: str | None
    status: str | None
    timestamp: Moment


class EventsUpstream(TypedDict):
    events: list[EventUpstream]


class StatusUpstream(TypedDict):
    execution_id: ExecutionId
    status: UpstreamStatus
    completed: bool
    failed: bool
    current_step: str | None
    completed_steps: list[str]
    error: str | None


class CancelledUpstream(TypedDict):
    execution_id: ExecutionId
    status: UpstreamStatus


class CredentialUpstream(TypedDict):
    name: str
    type: str
    created_at: Moment
    updated_at: Moment


class CredentialsUpstream(TypedDict):
    items: list[CredentialUpstream]


def upstream_operation(
    method: str, path: str, role: str, summary: str, handler: Any, answer: Any, **more: Any
) -> Operation:
    """One that answers with a single shape, or with nothing."""
    return Operation(
        method=method,
        path=f"/api{path}",
        role=role,
        summary=summary,
        handler=handler,
        tag=TAG,
        answers={200 if answer is not None else 204: answer},
        **more,
    )
