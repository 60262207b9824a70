"""The web pages on their way out: one document for every page, and the files that it loads.

All of it is public, because none of it holds data: a page asks for a token, and asks the API with it. The files stand
in a table that is made once; a name that is not in it does not exist, so that no path leads anywhere else. What has
its hash in its name is kept by browsers for good; the document that names it never is.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from collections.abc import Mapping
from functools import cache

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from noetl.api.operations import PUBLIC, Call, Media, Operation
from noetl.api.problems import Refusal
from noetl.ui import ASSETS, page_files

TAG = "pages"
INDEX, ICON = "index.html", "icon.svg"
PAGES = ("playbooks", "executions", "schedules", "workers", "keychain", "open")  # what may stand after /ui/
POLICY = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "img-src 'self' data:; style-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {"Content-Security-Policy": POLICY, "Cross-Origin-Opener-Policy": "same-origin", "Vary": "Accept-Encoding"}
FOR_GOOD = "public, max-age=31536000, immutable"
FOR_A_DAY = "public, max-age=86400"
NEVER = "no-store"
COMPRESSED = ("text/", "application/json", "image/svg")
TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
}
LEVEL = 9


class Shipped(msgspec.Struct, frozen=True, kw_only=True):
    """A file, ready to be sent in either form."""

    media: str
    tag: str
    plain: bytes
    small: bytes  # compressed; empty: it does not help


@cache
def shipped() -> Mapping[str, Shipped]:
    return {name: made(name, body) for name, body in page_files().items()}


def made(name: str, body: bytes) -> Shipped:
    ending = name[name.rfind(".") :]
    media = TYPES.get(ending) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    small = gzip.compress(body, LEVEL, mtime=0) if media.startswith(COMPRESSED) else b""
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return Shipped(media=media, tag=tag, plain=body, small=small if len(small) < len(body) else b"")


def sent(call: Call, name: str, keep: str) -> Response:
    """One file; raises Refusal 404."""
    one = shipped().get(name)
    if one is None:
        raise Refusal(404, "unknown-path", "there is no such file among the pages; a newer version may have others")
    headers = {**HEADERS, "Cache-Control": keep, "ETag": one.tag}
    if keep != NEVER and one.tag in call.request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if one.small and takes_gzip(call.request):
        return Response(one.small, 200, {**headers, "Content-Encoding": "gzip"}, one.media)
    return Response(one.plain, 200, headers, one.media)


def takes_gzip(request: Request) -> bool:
    """Whether the client takes gzip: `gzip;q=0` says that it does not."""
    for part in request.headers.get("accept-encoding", "").split(","):
        name, _, rest = part.strip().partition(";")
        if name.strip().lower() in ("gzip", "*"):
            return rest.replace(" ", "").rstrip("0.") not in ("q=", "q")
    return False


def document(call: Call) -> Response:
    page = call.path.get("page")
    if page is not None and page not in PAGES:
        raise Refusal(404, "unknown-path", f"there is no page of this name; there are /ui/ and {', '.join(PAGES)}")
    return sent(call, INDEX, NEVER)


async def enter(_: Call) -> Response:
    return Response(status_code=307, headers={"Location": "/ui/"})


async def enter_pages(call: Call) -> Response:
    return await enter(call)


async def show_home(call: Call) -> Response:
    return document(call)


async def show_list(call: Call) -> Response:
    return document(call)


async def show_one(call: Call) -> Response:
    return document(call)


async def show_part(call: Call) -> Response:
    return document(call)


async def show_icon(call: Call) -> Response:
    return sent(call, ICON, FOR_A_DAY)


async def show_asset(call: Call) -> Response:
    return sent(call, f"{ASSETS}/{call.path['file']}", FOR_GOOD)


PAGE = {200: Media("text/html", "the document of all pages")}
FILE = {200: Media("text/javascript", "a file of the pages", ("text/css", "image/svg+xml")), 304: None}
OPERATIONS = tuple(
    Operation(
        method="GET",
        path=path,
        role=PUBLIC,
        summary=summary,
        handler=handler,
        tag=TAG,
        answers=answers,
        refusals=(404,),
        is_page=True,
    )
    for path, summary, handler, answers in (
        ("/", "Go to the web pages", enter, {307: None}),
        ("/ui", "Go to the web pages", enter_pages, {307: None}),
        ("/ui/", "The web pages: home", show_home, PAGE),
        ("/ui/icon.svg", "The icon of the web pages", show_icon, FILE),
        ("/ui/assets/{file}", "A script or sheet of the web pages; its name holds its hash", show_asset, FILE),
        ("/ui/{page}", "A web page: a list", show_list, PAGE),
        ("/ui/{page}/{name}", "A web page: one of the list", show_one, PAGE),
        ("/ui/{page}/{name}/{part}", "A web page: a part of one", show_part, PAGE),
    )
)
