"""Help for whoever writes a playbook: its graph, what may stand at the cursor, the pages of keys, kinds and rules."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from noetl.api.authoring_documents import Completions, Description, GraphAnswer, KindsDocument, RulePage
from noetl.api.catalog import TEXT_CHARACTERS_MAX, GivenToCheck, OneQuery, given_text
from noetl.api.operations import JSON, YAML, Call, Operation
from noetl.api.problems import Refusal
from noetl.api.sight import playbook_of
from noetl.control.authoring import completion, description, kind_rows, rule_meant, rule_page, schema_document
from noetl.control.catalog import text_of
from noetl.control.graphs import graph_answer
from noetl.identity.roles import AUTHOR, VIEWER

TAG = "authoring"
PLACE_MAX = 2**31 - 1


class Cursor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text that is being written, and a place in it."""

    text: Annotated[str, Meta(max_length=TEXT_CHARACTERS_MAX, description="YAML, as far as it is written")]
    line: Annotated[int, Meta(ge=1, le=PLACE_MAX, description="from 1")]
    column: Annotated[int, Meta(ge=1, le=PLACE_MAX, description="from 1: the cursor stands before this character")]


async def graph_playbook(call: Call) -> dict[str, Any]:
    query: OneQuery = call.query
    entry = await playbook_of(call, query.path, query.version)
    return await asyncio.to_thread(graph_answer, call.parts.catalog.kinds, text_of(entry))


async def graph_text(call: Call) -> dict[str, Any]:
    return await asyncio.to_thread(graph_answer, call.parts.catalog.kinds, given_text(call))


async def complete_text(call: Call) -> dict[str, Any]:
    body: Cursor = call.body
    return await asyncio.to_thread(completion, call.parts.catalog.kinds, body.text, body.line, body.column)


async def describe_text(call: Call) -> dict[str, Any]:
    body: Cursor = call.body
    return await asyncio.to_thread(description, call.parts.catalog.kinds, body.text, body.line, body.column)


async def show_schema(call: Call) -> dict[str, Any]:
    return await asyncio.to_thread(schema_document, call.parts.catalog.kinds)


async def list_kinds(call: Call) -> dict[str, Any]:
    return await asyncio.to_thread(kind_rows, call.parts.catalog.kinds)


async def explain_rule(call: Call) -> dict[str, Any]:
    found = rule_page(call.path["code"])
    if found is None:
        raise Refusal(404, "unknown-rule", f"there is no such rule; {rule_meant(call.path['code'])}")
    return found


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/v1/catalog/graph",
        role=VIEWER,
        summary="Show the graph of a playbook",
        handler=graph_playbook,
        tag=TAG,
        query=OneQuery,
        answers={200: GraphAnswer},
        refusals=(404,),
    ),
    Operation(
        method="POST",
        path="/api/v1/catalog/graph",
        role=AUTHOR,
        summary="Draw the graph of a text; nothing is kept and nothing runs",
        handler=graph_text,
        tag=TAG,
        body=GivenToCheck,
        body_media=(JSON, YAML),
        answers={200: GraphAnswer},
    ),
    Operation(
        method="POST",
        path="/api/v1/catalog/complete",
        role=AUTHOR,
        summary="List what may stand at a cursor",
        handler=complete_text,
        tag=TAG,
        body=Cursor,
        answers={200: Completions},
    ),
    Operation(
        method="POST",
        path="/api/v1/catalog/describe",
        role=AUTHOR,
        summary="Say what stands under a cursor",
        handler=describe_text,
        tag=TAG,
        body=Cursor,
        answers={200: Description},
    ),
    Operation(
        method="GET",
        path="/api/v1/schema",
        role=VIEWER,
        summary="Show the JSON Schema of playbooks",
        handler=show_schema,
        tag=TAG,
        answers={200: dict[str, Any]},
    ),
    Operation(
        method="GET",
        path="/api/v1/kinds",
        role=VIEWER,
        summary="List the tool kinds, with their pages",
        handler=list_kinds,
        tag=TAG,
        answers={200: KindsDocument},
    ),
    Operation(
        method="GET",
        path="/api/v1/rules/{code}",
        role=VIEWER,
        summary="Show the page of a rule, by its code or its name",
        handler=explain_rule,
        tag=TAG,
        answers={200: RulePage},
        refusals=(404,),
    ),
)
