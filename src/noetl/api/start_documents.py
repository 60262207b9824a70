"""What schedules and triggers share over the API: documents as text, each seen by who sees its playbook."""

from __future__ import annotations

from typing import Annotated, Any, Protocol, TypedDict

import msgspec
from msgspec import Meta

from noetl.api.catalog import FileName
from noetl.api.cursors import Cursor, Limit, cursor_to, place_in
from noetl.api.documents import ExecutionId
from noetl.api.operations import Call
from noetl.api.problems import Refusal
from noetl.api.sight import demand_sight
from noetl.errors import UnknownDocument
from noetl.starting.documents import is_name

TEXT_BYTES_MAX = 256 * 1024
NAME_CHARACTERS_SHOWN_MAX = 100


class Begun(TypedDict):
    execution_id: ExecutionId
    is_new: bool


class Given(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Documents as text; the one whose name is in the path is applied."""

    text: Annotated[str, Meta(min_length=1, max_length=TEXT_BYTES_MAX, description="YAML")]
    name: FileName = "document.yaml"


class ListQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    limit: Limit = 100
    cursor: Cursor | None = None


class Document(Protocol):
    """`ScheduleDocument` or `TriggerDocument`."""

    @property
    def path(self) -> str: ...


class Kept(Protocol):
    """A `Schedule` or a `Trigger`."""

    @property
    def document(self) -> Document: ...


class Keeper(Protocol):
    """`Schedules` or `Triggers`."""

    async def one(self, name: str) -> Kept:
        """Raises UnknownDocument."""
        ...

    async def listed(self, after: str = "", limit: int = 0) -> list[dict[str, Any]]: ...


def given_text(call: Call) -> tuple[bytes, str]:
    """The text of a body, and what its file is called."""
    if call.body is not None:
        return call.body.text.encode(), call.body.name
    if not 0 < len(call.raw) <= TEXT_BYTES_MAX:
        raise Refusal(400, "bad-body", f"the body is YAML, of 1 to {TEXT_BYTES_MAX} bytes")
    return call.raw, "document.yaml"


def path_name(call: Call, kind: str) -> str:
    """The name in the path; what cannot be one is of nothing."""
    name = call.path["name"]
    if not is_name(name):
        raise UnknownDocument(kind, name[:NAME_CHARACTERS_SHOWN_MAX])
    return name


async def visible_name(call: Call, kind: str, keeper: Keeper) -> str:
    """The name in the path, of a document that whoever asks may see; raises UnknownDocument."""
    name = path_name(call, kind)
    kept = await keeper.one(name)
    if not call.identity.sees(kept.document.path):
        raise UnknownDocument(kind, name)
    return name


async def demand_place(call: Call, keeper: Keeper, name: str, document: Document) -> None:
    """Raises Forbidden: a name that a document of playbooks outside the token's path has is not given away."""
    demand_sight(call, document.path)
    try:
        there = await keeper.one(name)
    except UnknownDocument:
        return
    demand_sight(call, there.document.path)


async def visible_page(call: Call, tag: str, keeper: Keeper) -> dict[str, Any]:
    """Rows by name, under `tag`, and the cursor of the page after them."""
    query: ListQuery = call.query
    found: list[dict[str, Any]] = []
    after = _after(tag, query.cursor)
    while len(found) <= query.limit:
        rows = await keeper.listed(after, query.limit + 1)
        found += [row for row in rows if call.identity.sees(row["path"])]
        if len(rows) <= query.limit:
            break
        after = rows[-1]["name"]
    more = cursor_to(tag, [found[query.limit - 1]["name"]]) if len(found) > query.limit else None
    return {tag: found[: query.limit], "next": more}


def _after(tag: str, cursor: str | None) -> str:
    place = place_in(tag, cursor) if cursor else [""]
    return str(place[0]) if isinstance(place, list) and place else ""
