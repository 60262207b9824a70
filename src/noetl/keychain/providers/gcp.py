"""Provider gcp: Google Secret Manager over HTTP.

Who asks is a service account, whose key file GOOGLE_APPLICATION_CREDENTIALS names: a statement signed with the key gets
a token, which is kept until shortly before its end. The declaration says `secret`, `project` (that of the account if
not given) and `version` (latest). `keychain.gcp_url` names another endpoint. No SDK.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from noetl.keychain.endpoint import mapping_in, refused_by
from noetl.keychain.kept import Fresh, Kept
from noetl.keychain.oauth2 import Token, read_token, token_request
from noetl.keychain.providers.contract import Fetched, Means, wanted
from noetl.secret import Declared
from noetl.web.guard import Refused, target_of
from noetl.web.messages import Request

URL = "https://secretmanager.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"
STATEMENT_SECONDS = 3600
OK, UNAUTHORIZED, NOT_FOUND = 200, 401, 404


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """What a service account's key file holds."""

    client_email: str
    private_key: str
    private_key_id: str = ""
    project_id: str = ""
    token_uri: str = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address

    def __repr__(self) -> str:
        return f"Account({self.client_email})"


class GcpProvider:
    def __init__(self, means: Means) -> None:
        self._means = means
        self._url = means.settings.keychain_gcp_url or URL
        self._endpoint = means.endpoint(target_of(self._url).host)
        self._tokens: Kept[Token] = Kept(means.clock)

    async def fetch(self, declared: Declared) -> Fetched:
        account = await asyncio.to_thread(read_account, Path(self._means.variable(VARIABLE, "gcp")))
        self._means.remember(account.private_key)
        project = wanted(declared, "project", default=account.project_id)
        name, version = wanted(declared, "secret", "path"), wanted(declared, "version", default="latest")
        self._means.check_allowed("gcp", f"{project}/{name}")
        what = f'Google Secret Manager (asked for "{name}" of project "{project}")'
        names = [quote(word, safe="") for word in (project, name, version)]
        url = "{}/v1/projects/{}/secrets/{}/versions/{}:access".format(self._url.rstrip("/"), *names)
        token = await self._token(account)
        request = Request(
            method="GET",
            target=target_of(url),
            headers={"authorization": f"Bearer {token.value}", "accept": "application/json"},
        )
        answer = await self._endpoint.ask(request, what)
        if answer.status == UNAUTHORIZED:
            self._tokens.drop(key_of(account))
        if answer.status == NOT_FOUND:
            raise LookupError(f"{what} has no such secret, or not that version")
        if answer.status != OK:
            raise refused_by(what, answer)
        body = mapping_in(what, answer)
        return fetched(what, body.get("payload"), str(body.get("name") or ""))

    async def _token(self, account: Account) -> Token:
        token = await self._tokens.get(key_of(account), lambda: self._fetch_token(account))
        self._means.remember(token.value)
        return token

    async def _fetch_token(self, account: Account) -> Fresh[Token]:
        what = f"the token endpoint of the service account {account.client_email}"
        now = self._means.clock.now()
        statement = await asyncio.to_thread(signed_statement, account, now)
        try:
            request = token_request(account.token_uri, {"grant_type": GRANT, "assertion": statement})
        except Refused:
            raise LookupError(f"{what}: token_uri in the key file is no URL") from None
        endpoint = self._means.endpoint(request.target.host)
        try:
            return read_token(what, await endpoint.ask(request, what), now)
        finally:
            await endpoint.close()

    async def close(self) -> None:
        await self._tokens.close()
        await self._endpoint.close()


def read_account(file: Path) -> Account:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Account)
    except (OSError, msgspec.DecodeError):
        raise LookupError(
            f"{VARIABLE} must name the key file of a service account (JSON with client_email, private_key), "
            f"but {file} is none that can be read"
        ) from None


def key_of(account: Account) -> bytes:
    return f"{account.client_email} {account.private_key_id}".encode()


def signed_statement(account: Account, now: float) -> str:
    """Who we are and what we want, signed with the account's key (a JWT, RS256)."""
    from cryptography.hazmat.primitives.asymmetric import padding, rsa
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    head = {"alg": "RS256", "typ": "JWT", "kid": account.private_key_id}
    claims = {
        "iss": account.client_email,
        "scope": SCOPE,
        "aud": account.token_uri,
        "iat": int(now),
        "exp": int(now) + STATEMENT_SECONDS,
    }
    text = b".".join(coded(msgspec.json.encode(part)) for part in (head, claims))
    try:
        key = load_pem_private_key(account.private_key.encode(), None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise LookupError(f"the key file of {account.client_email} holds no RSA private key that can be read")
    return b".".join((text, coded(key.sign(text, padding.PKCS1v15(), SHA256())))).decode("ascii")


def coded(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")


def fetched(what: str, payload: Any, name: str) -> Fetched:
    try:
        text = base64.b64decode(payload["data"], validate=True).decode()
    except (KeyError, TypeError, binascii.Error, UnicodeDecodeError):
        raise LookupError(f"{what} has no text under that name") from None
    return Fetched(text=text, version=name.rpartition("/versions/")[2])
