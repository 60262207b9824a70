"""A call of kind http as the request to send: one `Call` in, one `Request` out, or `Refused`.

Everything is decided here that does not need the network: the target with its query, the headers; the body is made in
http_body.py.
"""

from __future__ import annotations

import re
from urllib.parse import urlencode

import msgspec

from noetl import __version__
from noetl.tools.contract import Call
from noetl.tools.http import METHODS
from noetl.tools.http_body import body_of
from noetl.tools.http_pairs import mapping, pairs, text
from noetl.web.guard import Refused, Target, target_of
from noetl.web.messages import CONNECT_SECONDS, READ_SECONDS, RESPONSE_BYTES_MAX, Request, checked_header

VERSIONS = ("1", "1.0", "1.1")
STREAM_BYTES_MAX = 10 * 1024**3
HEADERS_OF_FRAMING = frozenset(("content-length", "transfer-encoding"))  # a wrong one is a request inside a request
HEADERS = {"user-agent": f"noetl/{__version__}", "accept": "*/*"}  # of every request that says nothing else
METHODS_WITH_KEY = frozenset(("POST", "PUT", "PATCH", "DELETE"))

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def request_of(call: Call) -> Request:
    """What to send for a call; Refused if its values cannot be sent."""
    _check_version(call.spec.get("version"))
    given = call.input
    method = _method_of(given.get("method"))
    content_type, body = body_of(given, call.results)
    headers = HEADERS.copy()
    if content_type:
        headers["content-type"] = content_type
    if call.key and method in METHODS_WITH_KEY:
        headers["idempotency-key"] = call.key_abroad
    if place := call.traceparent:
        headers["traceparent"] = place
    if given.get("headers") is not None:
        headers |= _headers_of(given["headers"])
    return Request(
        method=method,
        target=_with_params(target_of(given.get("url")), given.get("params")),
        headers=headers,
        body=body,
        follows_redirects=call.spec.get("follow_redirects") is not False,
        verify=_verify_of(call),
        response_bytes_max=_response_bytes_max(call),
        connect_seconds=call.connect_seconds or CONNECT_SECONDS,
        read_seconds=call.read_seconds or READ_SECONDS,
    )


def _method_of(given: object) -> str:
    if given is None:
        return "GET"
    method = str(given or "GET").upper()
    if method not in METHODS:
        raise Refused(f'"method" must be one of: {", ".join(METHODS)}')
    return method


def stream_bytes_max(call: Call) -> int | None:
    """How large a body may be that goes straight into the result store; None: the body is wanted as data."""
    if call.spec.get("stream") is not True:
        return None
    return int(call.spec.get("max_response_bytes") or STREAM_BYTES_MAX)


def _response_bytes_max(call: Call) -> int:
    """How large a body may be in memory: beside a stream that is the answer of a server that refuses."""
    given = None if call.spec.get("stream") is True else call.spec.get("max_response_bytes")
    return int(given or RESPONSE_BYTES_MAX)


def _check_version(version: object) -> None:
    """HTTP/2 would need a second client, and with it a second guard in front of the network."""
    if version is not None and str(version) not in VERSIONS:
        raise Refused(
            f"spec.version must be 1.1, but is {version}: requests are sent as HTTP/1.1, which servers of HTTP/2 "
            "answer as well. Leave it out"
        )


def _verify_of(call: Call) -> bool | str:
    """Whether to check certificates, or the file of a CA, which may be named from the playbook's folder."""
    verify = call.spec.get("verify", True)
    if isinstance(verify, str):
        return str(call.folder / verify) if call.folder else verify
    return verify is not False


def _with_params(target: Target, params: object) -> Target:
    if params is None:
        return target
    query = urlencode(list(pairs("params", params)))
    if not query:
        return target
    joint = "&" if "?" in target.resource else "?"
    return msgspec.structs.replace(target, resource=f"{target.resource}{joint}{query}")


def _headers_of(given: object) -> dict[str, str]:
    headers = {}
    for name, value in mapping("headers", given).items():
        if value is None:
            continue
        if not _HEADER_NAME.fullmatch(str(name)):
            raise Refused(f'"headers" has the name {str(name)[:40]!r}, which no header can have')
        if str(name).lower() in HEADERS_OF_FRAMING:
            raise Refused(f'"headers" has {name}, which follows from the body and cannot be chosen')
        headers[str(name).lower()] = checked_header(str(name), text(f"headers.{name}", value))
    return headers
