"""Signing in: the credential that a task names becomes a header of its request, or a certificate to show.

    bearer         {token}                                Authorization: Bearer …
    api_key        {key, header} or {key, param}          that header, X-API-Key if not given; or that query parameter
    basic          {username, password}                   Authorization: Basic …
    oauth2         {token, …}                             Authorization: Bearer …, with the keychain's token for it
    any other      {certificate, private_key, authority}  a TLS client certificate, and perhaps the CA of the server
    any other      {value}                                Authorization: Bearer …

The keychain knows the name; nothing of its content is ever put into a message. What is made out of it on the way (a
coded password) is told to the keychain, so that it can be redacted as well. A request that was refused is signed once
more if the keychain has something newer by then, such as another token.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec

from noetl.secret import CredentialUnavailable, revealed
from noetl.tools.contract import Call
from noetl.web.guard import Refused
from noetl.web.messages import Request, checked_header
from noetl.web.tls import Identity

API_KEY_HEADER = "X-API-Key"
KINDS_BY_FIELD = (
    *(("token_url", "oauth2"), ("token", "bearer"), ("key", "api_key"), ("username", "basic")),
    ("certificate", "certificate"),
)
KIND_WORDS = {
    **dict.fromkeys(("bearer", "bearer_token", "token"), "bearer"),
    **dict.fromkeys(("api_key", "apikey", "header"), "api_key"),
    **dict.fromkeys(("basic", "basic_auth"), "basic"),
    **dict.fromkeys(("oauth2", "oauth2_client_credentials", "client_credentials"), "oauth2"),
}


class AuthFailed(Exception):
    """Nobody could sign in; the message names the credential and nothing that is in it."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


async def signed(request: Request, call: Call, auth: object) -> Request:
    """The request with the credential in it that `auth` names."""
    if request.target.user is not None:
        request = _with_header(request, call, "Authorization", *_basic(_userinfo(request)))
    if auth is None:
        return request
    name, kind = credential_named(auth)
    entry = await _resolved(call, name)
    kind = _kind_of(name, entry, kind)
    if kind == "certificate":
        return msgspec.structs.replace(request, identity=_identity_of(name, entry))
    if kind == "api_key" and entry.get("param"):
        return _with_param(request, call, str(entry["param"]), _field(name, entry, "key", "api_key", "value"))
    return _with_header(request, call, *_header_of(name, kind, entry))


async def signed_anew(request: Request, call: Call, auth: object, refused: Request) -> Request | None:
    """The request with what is newer than the credential it was refused with; None: there is nothing newer."""
    again = await signed(request, call, auth)
    if again == refused:  # else another task was here first, and has renewed it
        if auth is None or not await _renewed(call, credential_named(auth)[0]):
            return None
        again = await signed(request, call, auth)
    return None if again == refused else again


async def _resolved(call: Call, name: str) -> dict[str, Any]:
    try:
        return dict(revealed(dict(await call.credentials.resolve(name))))
    except LookupError as unknown:
        raise _failed(name, unknown) from None


async def _renewed(call: Call, name: str) -> bool:
    try:
        return await call.credentials.renew(name)
    except LookupError as unknown:
        raise _failed(name, unknown) from None


def _failed(name: str, unknown: LookupError) -> AuthFailed:
    reason = str(unknown.args[0]) if unknown.args else "it is not known"
    is_passing = isinstance(unknown, CredentialUnavailable) and unknown.retryable
    return AuthFailed(f'the credential "{name}" could not be resolved: {reason}', retryable=is_passing)


def _with_header(request: Request, call: Call, header: str, prefix: str, secret: str) -> Request:
    call.credentials.remember(secret)
    headers = {header.lower(): checked_header(header, prefix + secret)}
    return msgspec.structs.replace(
        request, headers=request.headers | headers, secret_headers=request.secret_headers | {header.lower()}
    )


def _with_param(request: Request, call: Call, name: str, secret: str) -> Request:
    """A query parameter is the worse place, for servers log it; some want it there all the same."""
    call.credentials.remember(secret)
    target = request.target
    joint = "&" if "?" in target.resource else "?"
    resource = f"{target.resource}{joint}{urlencode({name: secret})}"
    return msgspec.structs.replace(request, target=msgspec.structs.replace(target, resource=resource))


def identity_of(name: str, said: str | None, entry: Mapping[str, Any]) -> Identity | None:
    """The certificate that a credential has to show; None: it signs in otherwise. Raises AuthFailed."""
    return _identity_of(name, entry) if _kind_of(name, entry, said) == "certificate" else None


def _identity_of(name: str, entry: Mapping[str, Any]) -> Identity:
    authority = entry.get("authority")
    return Identity(
        certificate=_field(name, entry, "certificate"),
        private_key=_field(name, entry, "private_key"),
        authority=None if authority is None else str(authority),
    )


def credential_named(auth: object) -> tuple[str, str | None]:
    """The name, and the kind if it is said, of `auth: name`, `{name: …}`, `{credential: …}` or `{alias: {…}}`."""
    if isinstance(auth, str) and auth:
        return auth, None
    if isinstance(auth, Mapping):
        name = auth.get("name") or auth.get("credential")
        if isinstance(name, str):
            return name, auth.get("type") or auth.get("kind")
        inner = next((value for value in auth.values() if isinstance(value, Mapping)), None)
        if inner is not None and len(auth) == 1:
            return credential_named(inner)
    raise Refused('"auth" must be the name of a keychain entry, or {name: …}')


def _kind_of(name: str, entry: Mapping[str, Any], said: str | None) -> str:
    word = said or entry.get("kind") or entry.get("type")
    kind = KIND_WORDS.get(str(word).lower()) if word else None
    if kind is None:
        kind = next((kind for field, kind in KINDS_BY_FIELD if field in entry), "bearer" if "value" in entry else None)
    if kind is None:
        raise AuthFailed(
            f'the credential "{name}" is none for http; wanted is one of: bearer, api_key, basic, oauth2, '
            "or one with the fields certificate and private_key"
        )
    return kind


def _header_of(name: str, kind: str, entry: Mapping[str, Any]) -> tuple[str, str, str]:
    """Header, what comes before the secret, the secret."""
    if kind == "basic":
        return "Authorization", *_basic((_field(name, entry, "username", "user"), _field(name, entry, "password")))
    if kind == "api_key":
        return str(entry.get("header") or API_KEY_HEADER), "", _field(name, entry, "key", "api_key", "value")
    return "Authorization", "Bearer ", _field(name, entry, "token", "access_token", "value")


def _field(name: str, entry: Mapping[str, Any], *fields: str) -> str:
    found = next((entry[field] for field in fields if entry.get(field) is not None), None)
    if found is None:
        raise AuthFailed(f'the credential "{name}" has no field "{fields[0]}"')
    return str(found)


def _userinfo(request: Request) -> tuple[str, str]:
    return request.target.user or "", request.target.password or ""


def _basic(user_and_password: tuple[str, str]) -> tuple[str, str]:
    return "Basic ", base64.b64encode(":".join(user_and_password).encode()).decode("ascii")
