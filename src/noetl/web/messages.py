"""What is sent and what came back: `Request` and `Answer`, with nothing of any kind of task in them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable

import msgspec

from noetl.web.guard import Refused, Target
from noetl.web.tls import Identity

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
RESPONSE_BYTES_MAX = 64 * 1024 * 1024

_HEADER_FAULTS = re.compile(r"[\x00\r\n]")


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """A body too large to hold: opened anew for each redirect and each attempt."""

    open: Callable[[], AsyncIterator[bytes]]
    length: int | None = None  # None: sent in chunks, which not every server takes


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request, ready to be signed and sent."""

    method: str
    target: Target
    headers: dict[str, str]  # lower-case names
    body: bytes | Upload | None = None
    secret_headers: frozenset[str] = frozenset()  # those that stay behind when a redirect leaves the origin
    follows_redirects: bool = True
    verify: bool | str = True
    identity: Identity | None = None  # what to show the other side; stays behind when a redirect leaves the origin
    response_bytes_max: int = RESPONSE_BYTES_MAX
    connect_seconds: float = CONNECT_SECONDS
    read_seconds: float = READ_SECONDS


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back, its body decoded from compression and not yet from anything else."""

    status: int
    headers: dict[str, str]  # lower-case names
    url: str
    host: str
    body: bytes = b""
    content_type: str = ""
    charset: str | None = None


def checked_header(name: str, value: str) -> str:
    """A header's value, unless it would end the header and begin another."""
    if _HEADER_FAULTS.search(value):
        raise Refused(f'the header "{name}" has a line break in its value')
    return value
