"""Which stored results a text of ours names: the eyes of the retention sweep.

A result is named by its sha256, in whichever store it is: 64 hex digits in a locator, a checksum, or a text that an
author put together. Every mention counts, also one that is no reference (`resolve` takes a bare locator): to keep too
much is a matter of space, to keep too little is a loss.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import msgspec

from noetl.references import reference_of

SHA256 = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
SHA256_BYTES = re.compile(SHA256.pattern.encode())
SHA256_CHARACTERS = 64
OF_A_REFERENCE, OF_ITS_META = ("locator", "key", "checksum"), ("sha256",)  # where its own sha256 stands
# What may hold text, and so a reference: JSON of every kind, CSV, pages, and whatever nobody said what it is.
TEXTUAL = re.compile(r"text/.*|.*[/+](json|x-ndjson|xml|yaml|octet-stream)")


class Mention(NamedTuple):
    """A result that is named somewhere."""

    sha: str
    ttl_seconds: float | None = None  # as the reference says; None: it says nothing
    may_name: bool = True  # whether references can stand in the result itself; a picture names nothing


def sha_in(text: str) -> str | None:
    """The sha256 that a locator names; None: it names none."""
    found = SHA256.search(text)
    return found[0] if found else None


def mentions_in(body: bytes) -> Iterator[Mention]:
    """What a piece of JSON names."""
    if SHA256_BYTES.search(body) is None:
        return
    waiting: list[Any] = list(filter(_may_hold, [msgspec.json.decode(body)]))
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield from map(Mention, SHA256.findall(value))
        elif isinstance(value, list):
            waiting += filter(_may_hold, value)
        else:
            named = _named_by(value)
            yield from named
            waiting += filter(_may_hold, _others_in(value) if named else value.values())
            waiting += filter(_may_hold, value)


def _may_hold(value: Any) -> bool:
    """Whether a mention can stand in it: most of an event is small."""
    kind = type(value)
    return (kind is str and len(value) >= SHA256_CHARACTERS) or kind is dict or kind is list


def _named_by(mapping: dict[str, Any]) -> list[Mention]:
    """What a mapping names, if it is a reference: the only mention that comes with a ttl."""
    reference = reference_of(mapping)
    if reference is None:
        return []
    may_name = TEXTUAL.fullmatch(reference.content_type.partition(";")[0].strip().lower()) is not None
    shas = {*SHA256.findall(reference.locator), *SHA256.findall(reference.sha256 or "")}
    return [Mention(sha, reference.ttl, may_name) for sha in sorted(shas)]


def _others_in(reference: dict[str, Any]) -> Iterator[Any]:
    """What stands in a reference besides the result that it names."""
    for name, item in reference.items():
        if name == "meta" and isinstance(item, dict):
            yield from (item[name] for name in item if name not in OF_ITS_META)
        elif name not in OF_A_REFERENCE:
            yield item


async def shas_in(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """What a result of any size names, in bounded memory; some of it more than once."""
    held = b""
    async for piece in pieces:
        text = held + piece
        for sha in dict.fromkeys(SHA256_BYTES.findall(text)):
            yield sha.decode("ascii")
        held = text[-SHA256_CHARACTERS:]
