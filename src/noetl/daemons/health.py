"""Whether a server on this machine answers. Nothing is said to it but "are you well?", so nothing secret can leak."""

from __future__ import annotations

import ssl
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

PATH = "/healthz"
ANSWER_SECONDS_MAX = 3.0
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what a server listens on, as its URL says
OK = 200


def is_answering(url: str) -> bool:
    parts = urlsplit(url)
    host = parts.hostname or ""
    host, port = ANY_ADDRESS.get(host, host), parts.port or 0
    try:
        with closing(_connection(parts.scheme, host, port)) as connection:
            connection.request("GET", PATH)
            return connection.getresponse().status == OK
    except (OSError, HTTPException, ValueError):
        return False


def _connection(scheme: str, host: str, port: int) -> HTTPConnection:
    if scheme != "https":
        return HTTPConnection(host, port, timeout=ANSWER_SECONDS_MAX)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # a certificate names the server as others reach it, and this asks by an address
    context.verify_mode = ssl.CERT_NONE
    return HTTPSConnection(host, port, timeout=ANSWER_SECONDS_MAX, context=context)
