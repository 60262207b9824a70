"""Cursors of pages: opaque to clients, so that what is in them may change. They hold a place and open nothing."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from typing import Annotated

import msgspec
from msgspec import Meta

from noetl.api.problems import Refusal

CURSOR_CHARACTERS_MAX = 1024
PAGE_MAX = 1000
Limit = Annotated[int, Meta(ge=1, le=PAGE_MAX, description="at most so many")]
Cursor = Annotated[str, Meta(max_length=CURSOR_CHARACTERS_MAX, description="`next` of the page before")]


def cursor_to(kind: str, place: int | list[str | int]) -> str:
    return urlsafe_b64encode(msgspec.json.encode([kind, place])).decode().rstrip("=")


def place_in(kind: str, cursor: str) -> int | list[str | int]:
    """Where a page begins; raises Refusal for what is no cursor of this kind of page."""
    try:
        data = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        found, place = msgspec.json.decode(data, type=tuple[str, int | list[str | int]])
    except (ValueError, Error, msgspec.MsgspecError, RecursionError):
        found, place = "", 0
    if found != kind:
        raise Refusal(400, "bad-cursor", "this is no cursor of these pages: take `next` of a page as it is")
    return place
