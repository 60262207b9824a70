"""A call of kind http as the request to send: one `Call` in, one `Request` out, or `Refused`.

Everything is decided here that does not need the network: the target with its query, the headers, the body as bytes.
A body is bytes from the start, the same ones for every redirect and retry.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec

from noetl import __version__
from noetl.tools.contract import Call
from noetl.tools.http_guard import Refused, Target, target_of

METHODS_WITH_KEY = frozenset(("POST", "PUT", "PATCH", "DELETE"))
CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
RESPONSE_BYTES_MAX = 64 * 1024 * 1024

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_FAULTS = re.compile(r"[\x00\r\n]")
_SCALARS = (str, int, float, bool)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request, ready to be signed and sent."""

    method: str
    target: Target
    headers: dict[str, str]  # lower-case names
    body: bytes | None = None
    secret_headers: frozenset[str] = frozenset()  # those that stay behind when a redirect leaves the origin
    follows_redirects: bool = True
    verify: bool | str = True
    response_bytes_max: int = RESPONSE_BYTES_MAX
    connect_seconds: float = CONNECT_SECONDS
    read_seconds: float = READ_SECONDS


def request_of(call: Call) -> Request:
    """What to send for a call; Refused if its values cannot be sent."""
    _check_version(call.spec.get("version"))
    given = call.input
    method = str(given.get("method") or "GET").upper()
    content_type, body = _body_of(given)
    defaults = {"user-agent": f"noetl/{__version__}", "accept": "*/*"}
    if content_type:
        defaults["content-type"] = content_type
    if call.key and method in METHODS_WITH_KEY:
        defaults["idempotency-key"] = call.key
    return Request(
        method=method,
        target=_with_params(target_of(given.get("url")), given.get("params")),
        headers=defaults | _headers_of(given.get("headers")),
        body=body,
        follows_redirects=call.spec.get("follow_redirects") is not False,
        verify=_verify_of(call),
        response_bytes_max=int(call.spec.get("max_response_bytes") or RESPONSE_BYTES_MAX),
        connect_seconds=call.connect_seconds or CONNECT_SECONDS,
        read_seconds=call.read_seconds or READ_SECONDS,
    )


def _check_version(version: object) -> None:
    if version is not None and str(version) not in ("1", "1.0", "1.1"):
        raise Refused(
            f"spec.version {version} needs noetl[http2], which is not used here; leave it out to send HTTP/1.1"
        )


def _verify_of(call: Call) -> bool | str:
    """Whether to check certificates, or the file of a CA, which may be named from the playbook's folder."""
    verify = call.spec.get("verify", True)
    if isinstance(verify, str):
        return str(call.folder / verify) if call.folder else verify
    return verify is not False


def _with_params(target: Target, params: object) -> Target:
    query = urlencode(list(_pairs("params", params)))
    if not query:
        return target
    joint = "&" if "?" in target.resource else "?"
    return msgspec.structs.replace(target, resource=f"{target.resource}{joint}{query}")


def _pairs(field: str, values: object) -> Iterator[tuple[str, str]]:
    """Each name and text of a query or a form: a list repeats its name, null leaves it out."""
    for name, value in _mapping(field, values).items():
        for item in value if isinstance(value, list | tuple) else (value,):
            if item is not None:
                yield str(name), _text(f"{field}.{name}", item)


def _text(where: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, _SCALARS):
        return str(value)
    raise Refused(f'"{where}" must be text, a number, true, false, null or a list of them')


def _mapping(field: str, value: object) -> Mapping[Any, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise Refused(f'"{field}" must be a mapping')
    return value


def _headers_of(given: object) -> dict[str, str]:
    headers = {}
    for name, value in _mapping("headers", given).items():
        if value is None:
            continue
        if not _HEADER_NAME.fullmatch(str(name)):
            raise Refused(f'"headers" has the name {str(name)[:40]!r}, which no header can have')
        headers[str(name).lower()] = checked_header(str(name), _text(f"headers.{name}", value))
    return headers


def checked_header(name: str, value: str) -> str:
    """A header's value, unless it would end the header and begin another."""
    if _HEADER_FAULTS.search(value):
        raise Refused(f'the header "{name}" has a line break in its value')
    return value


def _body_of(given: Mapping[str, Any]) -> tuple[str | None, bytes | None]:
    """Content type and bytes of the body; at most one way to give it may be used."""
    ways = [name for name in ("json", "body", "files") if given.get(name) is not None]
    if len(ways) > 1 or (given.get("form") is not None and set(ways) & {"json", "body"}):
        raise Refused("a request has one body: give one of json, form, body, or files (with form, if need be)")
    if given.get("files") is not None:
        return _multipart(given["files"], given.get("form"))
    if given.get("form") is not None:
        return "application/x-www-form-urlencoded", urlencode(list(_pairs("form", given["form"]))).encode()
    if given.get("body") is not None:
        return _plain_body(given["body"])
    if "json" in given:
        return "application/json", msgspec.json.encode(given["json"])
    return None, None


def _plain_body(body: object) -> tuple[str, bytes]:
    if isinstance(body, str):
        return "text/plain; charset=utf-8", body.encode()
    if isinstance(body, Mapping) and set(body) == {"base64"}:
        return "application/octet-stream", _bytes_of("body", body)
    raise Refused('"body" must be text; give data as json')


def _multipart(files: object, form: object) -> tuple[str, bytes]:
    """A multipart body; its boundary comes from its content, so that a retry sends the same bytes."""
    parts = [_part(name, {"content": text}) for name, text in _pairs("form", form)]
    parts += [_part(name, part) for name, part in _named_parts(files)]
    boundary = f"noetl-{hashlib.sha256(b''.join(parts)).hexdigest()[:32]}"
    line = f"--{boundary}".encode()
    body = b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + b"--\r\n"
    return f"multipart/form-data; boundary={boundary}", body


def _named_parts(files: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(files, list):
        files = {part.get("name", "file"): part for part in files if isinstance(part, Mapping)}
    for name, part in _mapping("files", files).items():
        if isinstance(part, str):
            yield str(name), {"content": part, "filename": str(name)}
        elif isinstance(part, Mapping) and "content" in part:
            yield str(name), {"filename": str(name), **part}
        else:
            raise Refused(f'"files.{name}" must be text or {{filename, content, content_type}}')


def _part(name: str, part: Mapping[str, Any]) -> bytes:
    head = f'Content-Disposition: form-data; name="{_quoted(name)}"'
    if "filename" in part:
        content_type = part.get("content_type") or "application/octet-stream"
        head += f'; filename="{_quoted(str(part["filename"]))}"\r\nContent-Type: '
        head += checked_header("Content-Type", str(content_type))
    return head.encode() + b"\r\n\r\n" + _bytes_of(f"files.{name}", part["content"])


def _quoted(name: str) -> str:
    """As browsers write a name inside quotes."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _bytes_of(where: str, content: object) -> bytes:
    """Text as UTF-8; {base64: …}, as an answer gives bytes, as those bytes."""
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, Mapping) and isinstance(content.get("base64"), str):
        try:
            return base64.b64decode(content["base64"], validate=True)
        except binascii.Error:
            raise Refused(f'"{where}" has a base64 that is none') from None
    return msgspec.json.encode(content)
