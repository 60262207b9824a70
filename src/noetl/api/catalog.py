"""Playbooks: register, list, look at versions, compare them, check a text without keeping it."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from noetl.api.cursors import PAGE_MAX, Cursor, Limit, cursor_to, place_in
from noetl.api.documents import CatalogPage, CatalogRow, CatalogText, CheckReport, Difference
from noetl.api.operations import JSON, YAML, Call, Operation, Reply
from noetl.api.problems import Refusal
from noetl.api.registering import check_sight_of_text
from noetl.api.sight import playbook_of
from noetl.control import reading
from noetl.control.catalog import Text
from noetl.control.inspecting import check_report, difference
from noetl.control.requests import RunRequest
from noetl.identity.roles import AUTHOR, VIEWER
from noetl.stores.contract import Entry

TAG = "catalog"
TEXT_CHARACTERS_MAX = 1024 * 1024
VERSION_MAX = 2**31 - 1
Path = Annotated[
    str, Meta(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]+$", description="a playbook's path")
]
Version = Annotated[int, Meta(ge=1, le=VERSION_MAX, description="1, 2, 3 …; without it, the newest")]
PlaybookText = Annotated[str, Meta(min_length=1, max_length=TEXT_CHARACTERS_MAX, description="YAML")]
FileName = Annotated[str, Meta(max_length=255, description="what its file is called, for messages")]


class Given(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A playbook as text, and how it is to be read."""

    text: PlaybookText
    name: FileName = "playbook.yaml"
    is_legacy: bool = False
    is_upstream: bool = False


class GivenToCheck(Given, frozen=True, kw_only=True, forbid_unknown_fields=True):
    is_strict: bool = False


class ListQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: Path | None = None
    limit: Limit = 100
    cursor: Cursor | None = None


class OneQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: Path
    version: Version | None = None


class VersionsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: Path


class DiffQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: Path
    old: Version
    new: Version | None = None


async def register_playbook(call: Call) -> Reply:
    given = given_text(call)
    request = RunRequest(data=given.data, name=given.name, is_legacy=given.is_legacy, is_upstream=given.is_upstream)
    await check_sight_of_text(call, request)
    return Reply(status=201, body=reading.catalog_row(await call.parts.desk.register(request)))


def given_text(call: Call) -> Text:
    """The playbook of a body: of a JSON document, or the body itself."""
    if call.body is None:
        if not 0 < len(call.raw) <= TEXT_CHARACTERS_MAX:
            raise Refusal(400, "bad-body", f"the body is a playbook, of 1 to {TEXT_CHARACTERS_MAX} bytes")
        return Text(data=call.raw, name="playbook.yaml")
    body: Given = call.body
    return Text(data=body.text.encode(), name=body.name, is_legacy=body.is_legacy, is_upstream=body.is_upstream)


async def list_playbooks(call: Call) -> dict[str, Any]:
    query: ListQuery = call.query
    after = place_in(TAG, query.cursor) if query.cursor else None
    found = (
        entry
        for entry in await call.parts.store.entries()
        if call.identity.sees(entry.path)
        and query.path in (None, entry.path)
        and (after is None or place_of(entry) > after)  # type: ignore[operator]  # both are lists
    )
    rows = list(islice(found, query.limit + 1))
    more = cursor_to(TAG, place_of(rows[query.limit - 1])) if len(rows) > query.limit else None
    return {"playbooks": [reading.catalog_row(entry) for entry in rows[: query.limit]], "next": more}


def place_of(entry: Entry) -> list[str | int]:
    """Where an entry stands in the list: by path, newest version first."""
    return [entry.path, -entry.version]


async def list_versions(call: Call) -> dict[str, Any]:
    query: VersionsQuery = call.query
    newest = await playbook_of(call, query.path, None)
    entries = [entry for entry in await call.parts.store.entries() if entry.path == newest.path]
    return {"playbooks": [reading.catalog_row(entry) for entry in entries[:PAGE_MAX]], "next": None}


async def show_playbook(call: Call) -> dict[str, Any]:
    query: OneQuery = call.query
    return reading.catalog_text(await playbook_of(call, query.path, query.version))


async def compare_versions(call: Call) -> dict[str, Any]:
    query: DiffQuery = call.query
    old = await playbook_of(call, query.path, query.old)
    new = await playbook_of(call, query.path, query.new)
    diff = await asyncio.to_thread(difference, old, new)
    return {"path": query.path, "old": old.version, "new": new.version, "diff": diff}


async def check_playbook(call: Call) -> dict[str, Any]:
    is_strict = call.body is not None and call.body.is_strict
    return await asyncio.to_thread(check_report, call.parts.catalog, given_text(call), is_strict=is_strict)


OPERATIONS = (
    Operation(
        method="POST",
        path="/api/v1/catalog",
        role=AUTHOR,
        summary="Register a playbook; the same text again keeps the version it has",
        handler=register_playbook,
        tag=TAG,
        body=Given,
        body_media=(JSON, YAML),
        answers={201: CatalogRow},
        refusals=(422,),
    ),
    Operation(
        method="GET",
        path="/api/v1/catalog",
        role=VIEWER,
        summary="List playbooks by path, newest version first",
        handler=list_playbooks,
        tag=TAG,
        query=ListQuery,
        answers={200: CatalogPage},
    ),
    Operation(
        method="GET",
        path="/api/v1/catalog/versions",
        role=VIEWER,
        summary="List the versions of one playbook, newest first",
        handler=list_versions,
        tag=TAG,
        query=VersionsQuery,
        answers={200: CatalogPage},
        refusals=(404,),
    ),
    Operation(
        method="GET",
        path="/api/v1/catalog/playbook",
        role=VIEWER,
        summary="Show one version of a playbook, with its text",
        handler=show_playbook,
        tag=TAG,
        query=OneQuery,
        answers={200: CatalogText},
        refusals=(404,),
    ),
    Operation(
        method="GET",
        path="/api/v1/catalog/diff",
        role=VIEWER,
        summary="Compare two versions of a playbook",
        handler=compare_versions,
        tag=TAG,
        query=DiffQuery,
        answers={200: Difference},
        refusals=(404,),
    ),
    Operation(
        method="POST",
        path="/api/v1/catalog/check",
        role=AUTHOR,
        summary="Check a playbook; nothing is kept and nothing runs",
        handler=check_playbook,
        tag=TAG,
        body=GivenToCheck,
        body_media=(JSON, YAML),
        answers={200: CheckReport},
    ),
)
