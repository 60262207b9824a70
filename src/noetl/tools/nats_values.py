"""Values of a playbook ↔ bytes on NATS.

Out: text goes as it is, `{base64: …}` as those bytes, anything else as JSON. In: JSON comes back as data, other text
as text, other bytes as `{base64: …}`. NATS keeps no types: a text that is JSON, such as `42`, comes back as a number.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from noetl.tools.json_data import Unfit, is_suspect, refuse
from noetl.tools.refused import Refused

BASE64 = "base64"
HEADERS_MAX = 100
HEADER_NAME = re.compile(r"[!-9;-~]+")


def as_bytes(value: Any) -> bytes:
    """A value as it travels. Raises Refused."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, Mapping) and set(value) == {BASE64}:
        try:
            return base64.b64decode(value[BASE64], validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise Refused("type", "value has the one key base64, but what stands there is not base64") from None
    try:
        return msgspec.json.encode(value)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise Refused("type", f"value cannot be written as JSON: {error}") from None


def as_data(payload: bytes) -> Any:
    """What arrived, as data."""
    try:
        value = msgspec.json.decode(payload)
        if is_suspect(value, payload):
            refuse(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, Unfit):
        return as_text(payload)
    return value


def as_text(payload: bytes) -> Any:
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return {BASE64: base64.b64encode(payload).decode("ascii")}


def headers_of(given: object) -> dict[str, str]:
    """Headers of a message. Raises Refused: a line break would begin a header that nobody wrote."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or len(given) > HEADERS_MAX:
        raise Refused("type", f"headers must be a mapping of at most {HEADERS_MAX} names to values")
    headers = {
        str(name): value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for name, value in given.items()
    }
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name) or "\r" in value or "\n" in value:
            raise Refused("type", f'the header "{name[:40]}" has a line break, or a name that cannot be one')
    return headers
