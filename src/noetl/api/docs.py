"""The API explained by itself: its OpenAPI document, and a page to try it.

The page is one of the two public paths: it holds nothing but itself, asks for a token, keeps it in memory and sends it
with each request. What it loads stands under the same path, so that the literal of public paths stays one of two.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, Literal

import msgspec
from starlette.responses import Response

from noetl.api.operations import JSON, PUBLIC, Call, Media, Operation
from noetl.identity.roles import VIEWER

TAG = "documentation"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FILES = {
    "page": ("page.html", "text/html; charset=utf-8"),
    "script": ("page.js", "text/javascript; charset=utf-8"),
    "style": ("page.css", "text/css; charset=utf-8"),
}


class PageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    part: Literal["page", "script", "style"] = "page"


@cache
def text_of(name: str) -> bytes:
    return files("noetl.api").joinpath("page", name).read_bytes()


async def show_page(call: Call) -> Response:
    query: PageQuery = call.query
    name, media = FILES[query.part]
    return Response(text_of(name), 200, {"Content-Security-Policy": POLICY, "Content-Type": media})


async def show_openapi(_: Call) -> Response:
    return Response(openapi_text(), 200, media_type=JSON)


@cache
def openapi_text() -> bytes:
    from noetl.api.openapi import document
    from noetl.api.table import OPERATIONS as ALL  # which has this file's operations too

    return msgspec.json.encode(document(ALL))


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/docs",
        role=PUBLIC,
        summary="A page that lists the operations and tries them",
        handler=show_page,
        tag=TAG,
        query=PageQuery,
        answers={200: Media("text/html", "the page, its script or its style", ("text/javascript", "text/css"))},
    ),
    Operation(
        method="GET",
        path="/api/v1/openapi.json",
        role=VIEWER,
        summary="This API as an OpenAPI 3.1 document",
        handler=show_openapi,
        tag=TAG,
        answers={200: dict[str, Any]},
    ),
)
