"""A stored payload inside an answer: data where it is JSON, else text, else base64; and its bytes again."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from noetl.references import JSON, Reference

BASE64 = "base64"


def written_payload(data: bytes, reference: Reference) -> Any:
    """The payload in words that YAML and JSON have."""
    try:
        if (reference.content_type or JSON).startswith(JSON):
            return msgspec.json.decode(data)
        return data.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {BASE64: base64.b64encode(data).decode("ascii")}


def payload_bytes(written: Any, content_type: str) -> bytes:
    """The bytes that it stands for."""
    if isinstance(written, dict) and written.keys() == {BASE64}:
        return base64.b64decode(written[BASE64], validate=True)
    return written.encode() if isinstance(written, str) and content_type != JSON else msgspec.json.encode(written)
