"""What a form and an editor need of a playbook: the inputs it has by default, and its mechanical faults repaired."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from noetl.api.catalog import GivenToCheck, OneQuery, given_text
from noetl.api.operations import JSON, YAML, Call, Operation
from noetl.api.sight import playbook_of
from noetl.control.fixing import repaired
from noetl.identity.roles import AUTHOR, VIEWER

TAG = "authoring"


class Workload(TypedDict):
    """The inputs of a playbook, with their defaults."""

    path: str
    version: int
    description: str
    workload: Annotated[dict[str, Any], Meta(description="what a payload is laid over")]


class Repaired(TypedDict):
    """A text after its mechanical repairs."""

    text: str
    repaired: Annotated[int, Meta(description="how many repairs there were; 0: the text is as it was")]


async def show_workload(call: Call) -> dict[str, Any]:
    query: OneQuery = call.query
    entry = await playbook_of(call, query.path, query.version)
    playbook = (await call.parts.catalog.known(entry.sha, [])).playbook
    described = {"description": playbook.description, "workload": playbook.workload}
    return {"path": entry.path, "version": entry.version, **described}


async def repair_playbook(call: Call) -> dict[str, Any]:
    return await asyncio.to_thread(repaired, call.parts.catalog, given_text(call))


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/v1/catalog/workload",
        role=VIEWER,
        summary="Show the inputs of a playbook, with their defaults",
        handler=show_workload,
        tag=TAG,
        query=OneQuery,
        answers={200: Workload},
        refusals=(404,),
    ),
    Operation(
        method="POST",
        path="/api/v1/catalog/fix",
        role=AUTHOR,
        summary="Repair what is mechanical in a text, as `noetl check --fix` does; nothing is kept",
        handler=repair_playbook,
        tag=TAG,
        body=GivenToCheck,
        body_media=(JSON, YAML),
        answers={200: Repaired},
    ),
)
