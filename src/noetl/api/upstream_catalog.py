"""The catalog, as clients of the public NoETL server call it (UP-10). A `catalog_id` is `path@version`.

What they register was written for that server, so it is read as `--compat upstream` reads it.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from typing import Any

from noetl.api import upstream_shapes as shapes
from noetl.api.operations import Call
from noetl.api.problems import Refusal
from noetl.api.registering import check_sight_of_text
from noetl.api.sight import playbook_of
from noetl.api.upstream_shapes import upstream_operation
from noetl.control.requests import RunRequest
from noetl.engine.events import timestamp
from noetl.identity.roles import AUTHOR, VIEWER
from noetl.stores.contract import Entry

LATEST = "latest"


async def register_upstream(call: Call) -> dict[str, Any]:
    body: shapes.Register = call.body
    if body.resource_type.lower() != "playbook":
        raise Refusal(400, "bad-body", 'resource_type must be "Playbook"; credentials go to /api/credentials')
    request = RunRequest(data=text_in(body.content), name="playbook.yaml", is_upstream=True)
    await check_sight_of_text(call, request)
    entry = await call.parts.desk.register(request)
    message = f"{entry.path} is registered as version {entry.version}"
    return {"status": "success", "message": message} | resource_row(entry)


def text_in(content: str) -> bytes:
    """YAML, or YAML in base64: the command line sends that, other clients do not."""
    try:
        return b64decode("".join(content.split()), validate=True)
    except (Error, ValueError):
        return content.encode()


def resource_row(entry: Entry) -> dict[str, Any]:
    return {
        "catalog_id": f"{entry.path}@{entry.version}",
        "path": entry.path,
        "version": entry.version,
        "kind": "Playbook",
        "created_at": timestamp(entry.created_at),
    }


async def list_resources(call: Call) -> dict[str, Any]:
    return await resources(call, call.body.resource_type)


async def list_resources_of_type(call: Call) -> dict[str, Any]:
    return await resources(call, call.path["resource_type"])


async def resources(call: Call, resource_type: str) -> dict[str, Any]:
    is_ours = resource_type.lower().rstrip("s") == "playbook"
    entries = await call.parts.store.entries() if is_ours else []
    return {"entries": [resource_row(entry) for entry in entries if call.identity.sees(entry.path)]}


async def show_resource(call: Call) -> dict[str, Any]:
    body: shapes.Resource = call.body
    path, version = name_of(body.path, body.version, body.catalog_id)
    entry = await playbook_of(call, path, version)
    return resource_row(entry) | {"content": entry.text.decode("utf-8", "replace")}


def name_of(path: str | None, version: int | str | None, catalog_id: str | None) -> tuple[str, int | None]:
    """Which playbook is meant; raises Refusal."""
    if catalog_id is not None:
        path, _, version = catalog_id.rpartition("@")
    if not path:
        raise Refusal(400, "bad-body", 'the body names a playbook by "path", or by a "catalog_id" of this server')
    word = str(LATEST if version is None else version)
    if word == LATEST:
        return path, None
    if not (word.isascii() and word.isdecimal() and len(word) < 10):
        raise Refusal(400, "bad-body", f'"version" is a number, or "{LATEST}"')
    return path, int(word)


OPERATIONS = (
    upstream_operation(
        "POST",
        "/catalog/register",
        AUTHOR,
        "Register a playbook",
        register_upstream,
        shapes.Registered,
        body=shapes.Register,
        body_bytes_max=2 * 1024 * 1024,
        refusals=(422,),
    ),
    upstream_operation(
        "POST",
        "/catalog/list",
        VIEWER,
        "List playbooks",
        list_resources,
        shapes.Resources,
        body=shapes.ListResources,
    ),
    upstream_operation(
        "GET", "/catalog/list/{resource_type}", VIEWER, "List playbooks", list_resources_of_type, shapes.Resources
    ),
    upstream_operation(
        "POST",
        "/catalog/resource",
        VIEWER,
        "Show a playbook",
        show_resource,
        shapes.ResourceText,
        body=shapes.Resource,
        refusals=(404,),
    ),
)
