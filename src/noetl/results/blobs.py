"""Payloads named by their content: what every store of them shares, from locator to check.

A locator is the prefix of the store's place (`sha256:` for files) and 64 hex digits, and nothing else is ever taken for
one: it becomes part of a path or of a key, and references come from strangers (security 10, 16).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterable, AsyncIterator, Iterable

import msgspec

from noetl.errors import ReferenceCorrupt, ReferenceMissing, ResultTooLarge
from noetl.references import Reference

SHA256 = re.compile(r"[0-9a-f]{64}")
LOCATOR_CHARACTERS_SHOWN_MAX = 100
CHUNK_BYTES = 1024 * 1024


def sha_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def each(chunks: AsyncIterable[bytes] | Iterable[bytes]) -> AsyncIterator[bytes]:
    """The pieces of a payload, however they come."""
    if isinstance(chunks, AsyncIterable):
        async for chunk in chunks:
            yield chunk
    else:
        for chunk in chunks:
            yield chunk


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a store keeps its payloads, as its references tell it: a locator is the prefix and a sha256."""

    type: str
    prefix: str
    auth_reference: str | None = None  # the credential that opens it, where a playbook chose the place

    def reference_to(self, sha: str, size: int, content_type: str) -> Reference:
        """The reference to a payload that is stored."""
        return Reference(
            type=self.type,
            locator=self.prefix + sha,
            auth_reference=self.auth_reference,
            content_type=content_type,
            bytes=size,
            sha256=sha,
        )

    def sha_named_by(self, reference: Reference) -> str:
        """The sha256 that a reference asks for."""
        sha = self.sha_in(reference.locator)
        if sha is None:
            raise ReferenceMissing(reference.locator[:LOCATOR_CHARACTERS_SHOWN_MAX])
        if reference.sha256 not in (None, sha):
            raise ReferenceCorrupt(reference.locator, "the reference gives another sha256 than its locator")
        return sha

    def sha_in(self, locator: str) -> str | None:
        """The sha256 of a locator of this place; None for any other text."""
        sha = locator.removeprefix(self.prefix)
        return sha if locator == self.prefix + sha and SHA256.fullmatch(sha) else None


BLOB = Place(type="blob", prefix="sha256:")


def check_size(reference: Reference, found_bytes: int, bytes_max: int | None = None) -> None:
    """Compare what is there with what the reference says and the reader takes, before anything is read."""
    if reference.bytes not in (None, found_bytes):
        raise ReferenceCorrupt(reference.locator, f"it should have {reference.bytes} bytes, but has {found_bytes}")
    if bytes_max is not None and found_bytes > bytes_max:
        raise ResultTooLarge(found_bytes, bytes_max)


def check_sha(reference: Reference, wanted: str, found: str) -> None:
    if wanted != found:
        raise ReferenceCorrupt(reference.locator, "its content does not have the sha256 it was stored under")
