"""The body of a request of kind http: an author's data in, bytes out, or an upload that is read while it is sent.

Bytes are the same ones for every redirect and retry. What an author gives as a reference is never held: it goes from
the result store to the server in pieces, and from the start again for each attempt. A part of a multipart body is made
in http_multipart.py. Raises `Refused`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec

from noetl.references import Reference
from noetl.tools.contract import Results
from noetl.tools.http_multipart import content_of, multipart, referred
from noetl.tools.http_pairs import pairs
from noetl.web.guard import Refused
from noetl.web.messages import Upload

Body = bytes | Upload | None
WAYS = frozenset(("json", "form", "body", "files"))


def body_of(given: Mapping[str, Any], results: Results) -> tuple[str | None, Body]:
    """Content type and body of a request; at most one way to give it may be used."""
    if WAYS.isdisjoint(given):
        return None, None
    ways = [name for name in ("json", "body", "files") if given.get(name) is not None]
    if len(ways) > 1 or (given.get("form") is not None and set(ways) & {"json", "body"}):
        raise Refused("a request has one body: give one of json, form, body, or files (with form, if need be)")
    if given.get("files") is not None:
        return multipart(given["files"], given.get("form"), results)
    if given.get("form") is not None:
        return "application/x-www-form-urlencoded", urlencode(list(pairs("form", given["form"]))).encode()
    if given.get("body") is not None:
        return _plain_body(given["body"], results)
    if "json" in given:
        return "application/json", msgspec.json.encode(given["json"])
    return None, None


def _plain_body(body: object, results: Results) -> tuple[str, Body]:
    if isinstance(body, str):
        return "text/plain; charset=utf-8", body.encode()
    reference = referred(body)
    if reference is not None:
        return reference.content_type, _uploaded(reference, results)
    if isinstance(body, Mapping) and set(body) == {"base64"}:
        return "application/octet-stream", content_of("body", body)
    raise Refused('"body" must be text, {base64: …} or a reference; give data as json')


def _uploaded(reference: Reference, results: Results) -> Upload:
    return Upload(open=lambda: results.stream(reference), length=reference.bytes)
