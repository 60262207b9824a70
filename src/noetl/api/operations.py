"""How an operation of the API is declared. Routing, validation, authorization and OpenAPI follow from this one value.

A file of routes ends with a literal tuple of operations, which `api.table` collects. The role stands next to the
handler (security 17): there is no default, and nothing is public but what `PUBLIC_PATHS` names. A handler gets a
`Call`, whose parts are checked already, and gives back data, a `Reply`, or a response of its own (a stream).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from starlette.requests import Request

from noetl.api.parts import Parts
from noetl.identity.roles import Identity

PUBLIC = "public"  # anybody on an allowed Host
HOOK = "hook"  # the handler itself authenticates: a webhook has a secret of its own
PUBLIC_PATHS = (  # all there are: pages hold no data, they are where a token is entered
    "/healthz",
    "/api/docs",
    "/",
    "/ui",
    "/ui/",
    "/ui/icon.svg",
    "/ui/assets/{file}",
    "/ui/{page}",
    "/ui/{page}/{name}",
    "/ui/{page}/{name}/{part}",
)
HOOK_PATHS = ("/api/v1/hooks/{name}",)

JSON, YAML, TEXT, EVENT_STREAM = "application/json", "application/yaml", "text/plain", "text/event-stream"
ANY = "application/octet-stream"
PROBLEM = "application/problem+json"
BODY_BYTES_MAX = 1024 * 1024 + 64 * 1024  # a payload or a playbook of 1 MiB, and what stands around it
BODIES = ("POST", "PUT")  # methods that carry one
PARAMETER = re.compile(r"\{([a-z_]+)\}")


class Media(msgspec.Struct, frozen=True):
    """An answer that is not JSON: its type, and what it holds, in words."""

    type: str
    says: str
    others: tuple[str, ...] = ()  # where it may be one of several

    @property
    def types(self) -> tuple[str, ...]:
        return (self.type, *self.others)


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A request on its way to a handler: known, allowed and checked."""

    parts: Parts
    identity: Identity  # of a PUBLIC or HOOK operation: NOBODY
    path: Mapping[str, str]  # the words of the route that stand in braces, percent-decoded once
    query: Any  # an instance of Operation.query
    body: Any  # an instance of Operation.body
    raw: bytes  # the body as it came: what a signature is over
    request: Request  # for headers and the connection
    trace_id: str
    is_acting: bool = False  # the operation needs more than looking does


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """An answer whose status is not the first that its operation declares, or that has headers."""

    status: int
    body: Any = None  # None: none
    headers: Mapping[str, str] = {}


Handler = Callable[[Call], Awaitable[Any]]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path."""

    method: str
    path: str  # words in braces stand for one segment: /api/v1/executions/{execution_id}
    role: str  # the least that may: viewer, runner, author, admin; or PUBLIC, HOOK
    summary: str  # one line
    handler: Handler
    tag: str  # the subject it is listed under
    query: type[msgspec.Struct] | None = None
    body: Any = None  # a Struct type; of POST and PUT only
    body_media: tuple[str, ...] = (JSON,)  # what a body may come as; what is not JSON reaches the handler in `raw`
    body_bytes_max: int = BODY_BYTES_MAX
    body_roles: Mapping[str, str] = {}  # fields of the body that need more than `role`
    answers: Mapping[int, Any]  # status: the type of its JSON body, a Media, or None; the first is the usual one
    refusals: tuple[int, ...] = ()  # statuses of problems that this operation has beyond those that all have
    headers: Mapping[str, str] = {}  # that the handler reads: name, what it is for
    description: str = ""
    is_page: bool = False  # its query is read by the page in the browser: here it may be anything
    is_stream: bool = False  # lasts until somebody ends it: counted apart from other requests
    at_once_max: int = 0  # of all callers together, where one takes much memory; 0: as many as tokens may

    @property
    def id(self) -> str:
        """`start_execution`: the handler's name, which is unique."""
        return str(getattr(self.handler, "__name__", ""))

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(PARAMETER.findall(self.path))

    @property
    def takes_body(self) -> bool:
        return self.method in BODIES

    @property
    def usual_status(self) -> int:
        status: int = next(iter(self.answers))
        return status
