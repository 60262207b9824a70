"""oauth2 client credentials: an entry's fields in, a token and its end out.

A token is asked for once, kept, and asked for anew before its end, by one request however many tasks want it (kept.py).
The client is named in a header, as the standard wants it; a server that refuses that gets it in the form. Whoever was
refused with a token gives it up, and the next who asks gets another.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import quote_plus, urlencode

import msgspec

from noetl.clock import Clock
from noetl.keychain.endpoint import Endpoint, mapping_in, refused_by
from noetl.keychain.kept import Fresh, Kept
from noetl.secret import CredentialUnavailable
from noetl.web.guard import Refused, target_of
from noetl.web.messages import Answer, Request

TOKEN_SECONDS = 300.0  # if its maker does not say
TOKEN_SECONDS_MAX = 10 * 365 * 86_400.0
MARGIN_SECONDS = 30.0  # so long before its end a token is handed out no more; twice as long before, it is renewed
MARGIN_SHARE = 0.25  # of its life, for one that lives shortly
OUR_PARAMS = frozenset(("grant_type", "client_id", "client_secret"))
BAD_REQUEST, UNAUTHORIZED = 400, 401

ClientAuth = Callable[[str, str], tuple[dict[str, str], dict[str, str]]]  # headers, form


class Token(msgspec.Struct, frozen=True, kw_only=True):
    value: str
    expires_at: str  # ISO 8601, UTC


class Tokens:
    """The tokens of all oauth2 entries."""

    def __init__(self, endpoint: Endpoint, clock: Clock) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._kept: Kept[Token] = Kept(clock)

    async def token(self, name: str, fields: Mapping[str, Any]) -> Token:
        """The token of an entry; raises CredentialUnavailable."""
        return await self._kept.get(key_of(fields), lambda: self._fetch(name, fields))

    def give_up(self, fields: Mapping[str, Any]) -> None:
        """A token that was refused is not handed out again."""
        self._kept.drop(key_of(fields))

    async def _fetch(self, name: str, fields: Mapping[str, Any]) -> Fresh[Token]:
        what = f'the token endpoint of credential "{name}"'
        answer = await self._endpoint.ask(_request(what, fields, client_in_header), what)
        if answer.status in (BAD_REQUEST, UNAUTHORIZED):
            answer = await self._endpoint.ask(_request(what, fields, client_in_form), what)
        return read_token(what, answer, self._clock.now())

    async def close(self) -> None:
        await self._kept.close()
        await self._endpoint.close()


def read_token(what: str, answer: Answer, now: float) -> Fresh[Token]:
    """The token in an answer, and for how long it serves."""
    if answer.status >= BAD_REQUEST:
        raise refused_by(what, answer)
    data = mapping_in(what, answer)
    value, life_seconds = data.get("access_token"), seconds_of(data.get("expires_in"))
    if not isinstance(value, str) or not value:
        raise CredentialUnavailable(f"{what} did not answer with JSON that has access_token")
    margin_seconds = min(MARGIN_SECONDS, life_seconds * MARGIN_SHARE)
    return Fresh(
        value=Token(value=value, expires_at=datetime.fromtimestamp(int(now + life_seconds), UTC).isoformat()),
        use_seconds=life_seconds - margin_seconds,
        renew_seconds=life_seconds - 2 * margin_seconds,
    )


def seconds_of(said: object) -> float:
    """`expires_in`, which some servers write as text and some leave out."""
    try:
        seconds = float(said)  # type: ignore[arg-type]  # what is no number is caught
    except (TypeError, ValueError, OverflowError):
        return TOKEN_SECONDS
    return min(seconds, TOKEN_SECONDS_MAX) if seconds > 0 else TOKEN_SECONDS


def key_of(fields: Mapping[str, Any]) -> bytes:
    """What a token depends on."""
    return sha256(msgspec.json.encode(fields, order="deterministic")).digest()


def token_request(url: object, form: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Request:
    """A form that asks for a token; raises Refused."""
    return Request(
        method="POST",
        target=target_of(url),
        headers={
            "content-type": "application/x-www-form-urlencoded",
            "accept": "application/json",
            **(headers or {}),
        },
        body=urlencode(form).encode(),
    )


def _request(what: str, fields: Mapping[str, Any], identify: ClientAuth) -> Request:
    headers, form = identify(str(fields["client_id"]), str(fields["client_secret"]))
    params = fields.get("params") or {}
    if not isinstance(params, Mapping):
        raise CredentialUnavailable(f"{what} cannot be asked: params must be a mapping")
    more = {str(name): str(value) for name, value in params.items() if name not in OUR_PARAMS}
    more |= {field: str(fields[field]) for field in ("scope", "audience") if fields.get(field)}
    try:
        return token_request(fields["token_url"], {"grant_type": "client_credentials", **form, **more}, headers)
    except Refused as refused:
        words = str(refused).replace('"url"', "token_url")
        raise CredentialUnavailable(f"{what} cannot be asked: {words}") from None


def client_in_header(client_id: str, client_secret: str) -> tuple[dict[str, str], dict[str, str]]:
    pair = f"{quote_plus(client_id)}:{quote_plus(client_secret)}"
    return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode('ascii')}"}, {}


def client_in_form(client_id: str, client_secret: str) -> tuple[dict[str, str], dict[str, str]]:
    return {}, {"client_id": client_id, "client_secret": client_secret}
