"""A credential → the server it names and how to log in there.

Off this machine TLS is demanded: a server that does not offer it gets no password (security 20). The credential may
give that up in so many words, with `tls: false`. Messages name the host and never the URL, which may hold a password.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from noetl.messaging.signing import Proof, UnusableCredential, proof_of_credentials, proof_of_seed

SCHEMES = ("nats", "tls")
PORT = 4222
WANTED = "a NATS server is named as nats://host:4222, or tls://host:4222"


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """Where to connect, and as whom."""

    host: str
    port: int
    needs_tls: bool
    authority: str | None = None  # certificates to trust, PEM; None: those that this machine trusts
    user: str | None = None
    password: str | None = None
    token: str | None = None
    proof: Proof | None = None

    @property
    def place(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"nats://{host}:{self.port}"


def server_of(name: str, fields: Mapping[str, Any]) -> Server:
    """The server of a credential whose secrets are opened. Raises UnusableCredential."""
    url = fields.get("url") or fields.get("value")
    if not isinstance(url, str) or not url:
        raise UnusableCredential(f'credential "{name}" has no url; {WANTED}')
    try:
        parts = urlsplit(url if "://" in url else f"nats://{url}")
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        host, port, parts = None, PORT, urlsplit("")
    if parts.scheme not in SCHEMES or not host or parts.path.strip("/") or parts.query:
        raise UnusableCredential(f'the url of credential "{name}" is none; {WANTED}')
    user, password = text_of(fields, "user"), text_of(fields, "password")
    token = text_of(fields, "token")
    if parts.username and parts.password is None:
        token = token or unquote(parts.username)  # as NATS reads it: a lone name before @ is a token
    elif parts.username:
        user, password = user or unquote(parts.username), password or unquote(parts.password or "")
    return Server(
        host=host,
        port=port,
        needs_tls=is_tls_needed(parts.scheme, host, fields.get("tls")),
        authority=text_of(fields, "ca"),
        user=user,
        password=password,
        token=token,
        proof=proof_of(fields),
    )


def text_of(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return None if value in (None, "") else str(value)


def proof_of(fields: Mapping[str, Any]) -> Proof | None:
    credentials, seed = text_of(fields, "creds"), text_of(fields, "nkey")
    if credentials:
        return proof_of_credentials(credentials)
    return proof_of_seed(seed) if seed else None


def is_tls_needed(scheme: str, host: str, said: object) -> bool:
    if scheme == "tls" or said is True or str(said).lower() == "true":
        return True
    return not is_this_machine(host) and str(said).lower() != "false"


def is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Witness(ssl.SSLContext):
    """A TLS context that knows whether it was used. The library takes a server's word for whether TLS is wanted, so
    whoever stands in between could talk it out of it; what is secret is handed over only when this was used."""

    is_used = False

    def wrap_bio(self, *words: Any, **named: Any) -> ssl.SSLObject:
        self.is_used = True
        return super().wrap_bio(*words, **named)


def tls_context(server: Server) -> Witness:
    """Raises UnusableCredential for a `ca` that holds no certificate."""
    context = Witness(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if server.authority is None:
        context.load_default_certs()
        return context
    try:
        context.load_verify_locations(cadata=server.authority)
    except ssl.SSLError:
        raise UnusableCredential("ca must be certificates in PEM") from None
    return context
