"""References: what stands in an event, in ctx or in a template for a payload kept elsewhere (RS-02).

A reference is data: a mapping with `type`, `locator`, `auth_reference` and `meta {content_type, bytes, sha256, ttl}`.
The older shape `{store, key, range, checksum, size, schema_hint}` is read too. Nothing here opens what it stands for.
"""

from __future__ import annotations

from typing import Any

import msgspec

TYPES = ("relational", "nats", "object_store", "blob")
JSON = "application/json"
LINES = "application/x-ndjson"
SECONDS_MAX = 1e12  # of a ttl: more than anybody keeps anything


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """Where a payload is, and what it must be like when it is read."""

    type: str
    locator: str
    auth_reference: str | None = None
    content_type: str = JSON
    bytes: int | None = None
    sha256: str | None = None
    ttl: float | None = None

    def as_data(self) -> dict[str, Any]:
        """As templates, events and people see it."""
        meta = {"content_type": self.content_type, "bytes": self.bytes, "sha256": self.sha256, "ttl": self.ttl}
        return {"type": self.type, "locator": self.locator, "auth_reference": self.auth_reference, "meta": meta}


def is_reference(value: object) -> bool:
    """Whether a value has the shape of a reference, in either spelling."""
    if type(value) is not dict:
        return False
    if value.get("type") in TYPES and isinstance(value.get("locator"), str):
        return "meta" in value
    return isinstance(value.get("store"), str) and isinstance(value.get("key"), str) and "checksum" in value


def reference_of(value: object) -> Reference | None:
    """A mapping of reference shape as a Reference; None for anything else."""
    if not is_reference(value) or not isinstance(value, dict):
        return None
    if "locator" in value:
        meta = value["meta"] if isinstance(value["meta"], dict) else {}
        return Reference(
            type=value["type"],
            locator=value["locator"],
            auth_reference=_text(value.get("auth_reference")),
            content_type=str(meta.get("content_type") or JSON),
            bytes=_whole(meta.get("bytes")),
            sha256=_text(meta.get("sha256")),
            ttl=_seconds(meta.get("ttl")),
        )
    checksum = _text(value.get("checksum"))
    if value.get("range") is not None:
        return None  # a part of a payload, which no store can be asked for: rather nothing than the whole of it
    return Reference(
        type=value["store"] if value["store"] in TYPES else "blob",
        locator=value["key"],
        bytes=_whole(value.get("size")),
        sha256=checksum.removeprefix("sha256:") if checksum else None,
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _seconds(value: object) -> float | None:
    """A length of time; what is none says nothing, so that nobody else's data shortens or breaks anything."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= SECONDS_MAX else None  # type: ignore[arg-type, operator]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
