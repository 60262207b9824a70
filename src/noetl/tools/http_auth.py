"""Signing in: the credential that a task names becomes a header of its request.

    bearer    {token}                                       Authorization: Bearer …
    api_key   {key, header}                                 that header, X-API-Key if not given
    basic     {username, password}                          Authorization: Basic …
    oauth2    {token_url, client_id, client_secret, scope}  a token, fetched once and kept until shortly before its end

The keychain knows the name; nothing of its content is ever put into a message. What is made out of it on the way (a
token, a coded password) is told to the keychain if that wants to know, so that it can be redacted as well.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable
from urllib.parse import quote_plus, urlencode

import msgspec

from noetl.tools.contract import Hands
from noetl.tools.http_answer import Answer, NotJson, parsed_json
from noetl.tools.http_client import Client
from noetl.tools.http_guard import Refused, target_of
from noetl.tools.http_request import Request, checked_header

TOKEN_SECONDS = 300.0  # if its maker does not say
TOKEN_MARGIN_SECONDS = 30.0
TOKENS_MAX = 256
TOKEN_BYTES_MAX = 1024 * 1024
API_KEY_HEADER = "X-API-Key"
KINDS_BY_FIELD = (("token_url", "oauth2"), ("token", "bearer"), ("key", "api_key"), ("username", "basic"))
KIND_WORDS = {
    **dict.fromkeys(("bearer", "bearer_token", "token", "secret_manager"), "bearer"),
    **dict.fromkeys(("api_key", "apikey", "header"), "api_key"),
    **dict.fromkeys(("basic", "basic_auth"), "basic"),
    **dict.fromkeys(("oauth2", "oauth2_client_credentials", "client_credentials"), "oauth2"),
}


class AuthFailed(Exception):
    """Nobody could sign in; the message names the credential and nothing that is in it."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


@runtime_checkable
class RemembersSecrets(Protocol):
    """A keychain that redacts, and so wants to know of secrets that were made from its own."""

    def remember(self, secret: str) -> None: ...


class Token(msgspec.Struct, frozen=True, kw_only=True):
    value: str
    ends_at: float  # by the monotonic clock


class Signer:
    """Puts credentials into requests; keeps tokens for the life of the tool."""

    def __init__(self, hands: Hands, client: Client) -> None:
        self._hands = hands
        self._client = client
        self._tokens: dict[bytes, Token] = {}
        self._fetching = asyncio.Lock()

    async def signed(self, request: Request, auth: object) -> Request:
        """The request with the credential in it that `auth` names."""
        if request.target.user is not None:
            request = self._with_header(request, "Authorization", *_basic(_userinfo(request)))
        if auth is None:
            return request
        name, kind = credential_named(auth)
        entry = await self._resolve(name)
        kind = _kind_of(name, entry, kind)
        if kind == "oauth2":
            return self._with_header(request, "Authorization", "Bearer ", await self._token(name, entry))
        header, prefix, secret = _header_of(name, kind, entry)
        return self._with_header(request, header, prefix, secret)

    async def can_renew(self, auth: object, refused: Request) -> bool:
        """Whether signing anew can help a request that was refused: its token, if it had one, is given up."""
        name, kind = credential_named(auth)
        entry = await self._resolve(name)
        if _kind_of(name, entry, kind) != "oauth2":
            return False
        kept = self._tokens.get(_token_key(entry))
        if kept and refused.headers["authorization"].endswith(kept.value):  # else another task was here first
            del self._tokens[_token_key(entry)]
        return True

    async def _resolve(self, name: str) -> Mapping[str, Any]:
        try:
            return await self._hands.credentials.resolve(name)
        except LookupError as unknown:
            reason = str(unknown.args[0]) if unknown.args else "it is not known"
            raise AuthFailed(f'the credential "{name}" could not be resolved: {reason}') from None

    def _with_header(self, request: Request, header: str, prefix: str, secret: str) -> Request:
        if isinstance(self._hands.credentials, RemembersSecrets):
            self._hands.credentials.remember(secret)
        headers = {header.lower(): checked_header(header, prefix + secret)}
        return msgspec.structs.replace(
            request, headers=request.headers | headers, secret_headers=request.secret_headers | {header.lower()}
        )

    async def _token(self, name: str, entry: Mapping[str, Any]) -> str:
        key = _token_key(entry)
        kept = self._kept_token(key)
        if kept:
            return kept.value
        async with self._fetching:  # one request for a token, however many tasks want it
            kept = self._kept_token(key) or await self._fetch_token(name, entry)
            if len(self._tokens) >= TOKENS_MAX:
                self._tokens.clear()
            self._tokens[key] = kept
            return kept.value

    def _kept_token(self, key: bytes) -> Token | None:
        kept = self._tokens.get(key)
        return kept if kept and kept.ends_at > self._hands.clock.monotonic() else None

    async def _fetch_token(self, name: str, entry: Mapping[str, Any]) -> Token:
        """Ask as the standard wants it, with the client in a header; a server that refuses may want it in the form."""
        answer = await self._client.send(_token_request(name, entry, _client_in_header))
        if answer.status in (400, 401):
            answer = await self._client.send(_token_request(name, entry, _client_in_form))
        return self._read_token(name, answer)

    def _read_token(self, name: str, answer: Answer) -> Token:
        where = f'the token endpoint of credential "{name}"'
        if answer.status >= 400:
            is_passing = answer.status == 429 or answer.status >= 500
            raise AuthFailed(f"{where} answered HTTP {answer.status}", retryable=is_passing)
        try:
            data = parsed_json(answer.body)
            value, seconds = data["access_token"], float(data.get("expires_in") or TOKEN_SECONDS)
        except (NotJson, KeyError, TypeError, ValueError, AttributeError):
            raise AuthFailed(f"{where} did not answer with JSON that has access_token") from None
        ends_at = self._hands.clock.monotonic() + max(0.0, seconds - TOKEN_MARGIN_SECONDS)
        return Token(value=str(value), ends_at=ends_at)


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
        raise AuthFailed(f'the credential "{name}" is none for http; wanted is one of: bearer, api_key, basic, oauth2')
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


def _token_key(entry: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(
        [str(entry.get(field)) for field in ("token_url", "client_id", "client_secret", "scope")]
    )


ClientAuth = Callable[[str, str], tuple[dict[str, str], dict[str, str]]]


def _token_request(name: str, entry: Mapping[str, Any], identify: ClientAuth) -> Request:
    headers, form = identify(_field(name, entry, "client_id"), _field(name, entry, "client_secret"))
    form = {"grant_type": "client_credentials", **form}
    form |= {field: str(entry[field]) for field in ("scope", "audience") if entry.get(field)}
    return Request(
        method="POST",
        target=target_of(entry.get("token_url")),
        headers={"content-type": "application/x-www-form-urlencoded", "accept": "application/json", **headers},
        body=urlencode(form).encode(),
        follows_redirects=False,  # the client's secret goes where the keychain says, and nowhere else
        response_bytes_max=TOKEN_BYTES_MAX,
    )


def _client_in_header(client_id: str, client_secret: str) -> tuple[dict[str, str], dict[str, str]]:
    prefix, coded = _basic((quote_plus(client_id), quote_plus(client_secret)))
    return {"authorization": prefix + coded}, {}


def _client_in_form(client_id: str, client_secret: str) -> tuple[dict[str, str], dict[str, str]]:
    return {}, {"client_id": client_id, "client_secret": client_secret}
