"""What a request brings, checked against its operation: query and body become Structs, or a Refusal says why not.

Strict: unknown fields, doubled parameters, other content types, compressed bodies, deep nesting and numbers that no
store keeps are refused. A body is read with a bound on its size and on how long it may take (security 5, 6, 18, 21).
"""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import ClientDisconnect, Request

from noetl.api.operations import JSON, Operation
from noetl.api.problems import Refusal
from noetl.control.nesting import is_deeper_than

DEPTH_MAX = 64
QUERY_BYTES_MAX = 8192
QUERY_FIELDS_MAX = 32
BODY_SECONDS_MAX = 30.0
INT_MIN, INT_MAX = -(2**63), 2**63 - 1


# --- query -----------------------------------------------------------------------------------------------------------


def read_query(operation: Operation, query: bytes) -> Any:
    """The parameters after the question mark."""
    if len(query) > QUERY_BYTES_MAX:
        raise Refusal(400, "bad-query", f"a query may have {QUERY_BYTES_MAX} bytes")
    if operation.is_page:
        return None
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, max_num_fields=QUERY_FIELDS_MAX, errors="strict"
        )
    except ValueError:
        raise Refusal(400, "bad-query", "the query is not percent-encoded UTF-8, or has too many fields") from None
    given: dict[str, str] = {}
    for name, value in pairs:
        if name in given:
            raise Refusal(400, "bad-query", f'the query has "{shortened(name)}" twice')
        given[name] = value
    if operation.query is None:
        if given:
            raise Refusal(400, "bad-query", f'this operation takes no query, and got "{shortened(next(iter(given)))}"')
        return None
    try:
        found = msgspec.convert(given, operation.query, strict=False)
    except msgspec.ValidationError as error:
        raise Refusal(400, "bad-query", f"the query: {said(error)}") from None
    if nothing := next((name for name in given if getattr(found, name) is None), None):
        raise Refusal(400, "bad-query", f'the query: "{nothing}" is given and has no value; leave it out')
    return found


def shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]}…"


def said(error: msgspec.ValidationError) -> str:
    """What msgspec found: the kind of thing that was wanted, and where; it never repeats a value."""
    return str(error).replace("`$.", "`").replace("Object contains", "it has")


# --- body ------------------------------------------------------------------------------------------------------------


async def read_body(operation: Operation, request: Request) -> tuple[bytes, Any]:
    """The body as it came, and as the Struct that the operation declares."""
    if not operation.takes_body:
        return b"", None
    media = media_of(request)
    if media not in operation.body_media:
        wanted = " or ".join(operation.body_media)
        raise Refusal(415, "wrong-media-type", f"Content-Type must be {wanted}")
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Refusal(415, "compressed", "a body may not be compressed: send it without Content-Encoding")
    data = await whole_body(operation, request)
    return data, decoded(operation, data) if media == JSON else None


def media_of(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def whole_body(operation: Operation, request: Request) -> bytes:
    """All of it, unless it is too large or too slow."""
    most = operation.body_bytes_max
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > 18 or int(declared) > most):
        raise too_large(most)
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS_MAX):
            async for piece in request.stream():
                data += piece
                if len(data) > most:
                    raise too_large(most)
    except TimeoutError:
        raise Refusal(408, "too-slow", f"a body must arrive within {BODY_SECONDS_MAX:.0f} s") from None
    except ClientDisconnect:
        raise Refusal(400, "cut-short", "the connection ended before the body did") from None
    return bytes(data)


def too_large(most: int) -> Refusal:
    # What is left of the body is not read: the connection is of no use after this.
    return Refusal(413, "too-large", f"a body may have {most} bytes here", {"Connection": "close"})


def decoded(operation: Operation, data: bytes) -> Any:
    if operation.body is None:
        return None
    if is_deeper_than(data, DEPTH_MAX):
        raise Refusal(400, "bad-body", f"JSON may be nested {DEPTH_MAX} levels deep here")
    try:
        found = msgspec.json.decode(data or b"{}", type=operation.body)
    except msgspec.ValidationError as error:
        raise Refusal(400, "bad-body", f"the body: {said(error)}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise Refusal(400, "bad-body", "the body is not JSON") from None
    if has_large_number(msgspec.to_builtins(found)):
        raise Refusal(400, "bad-body", "a whole number must fit into 64 bits; send a larger one as text")
    return found


def has_large_number(value: Any) -> bool:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
        elif type(one) is int and not INT_MIN <= one <= INT_MAX:
            return True
    return False
