"""Provider azure: Azure Key Vault over HTTP.

The operator says which vault (`keychain.azure_url`, such as https://team.vault.azure.net) and who asks: an application,
by AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET (AZURE_AUTHORITY_HOST for another cloud). Its token is kept
until shortly before its end. The declaration says `secret` and `version` (the current one if not given). No SDK.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from noetl.keychain.endpoint import mapping_in, refused_by
from noetl.keychain.kept import Fresh, Kept
from noetl.keychain.oauth2 import Token, client_in_form, read_token, token_request
from noetl.keychain.providers.contract import Fetched, Means, wanted
from noetl.secret import Declared
from noetl.web.guard import Refused, target_of
from noetl.web.messages import Request

AUTHORITY = "https://login.microsoftonline.com"
SCOPE = "https://vault.azure.net/.default"
API_VERSION = "7.4"
KEY = b"application"
OK, UNAUTHORIZED, NOT_FOUND = 200, 401, 404


class AzureProvider:
    def __init__(self, means: Means) -> None:
        self._means = means
        self._url = means.settings.keychain_azure_url
        if not self._url:
            raise LookupError(
                "provider azure needs keychain.azure_url (NOETL_KEYCHAIN_AZURE_URL), such as "
                "https://team.vault.azure.net, which is not set"
            )
        self._endpoint = means.endpoint(target_of(self._url).host)
        self._tokens: Kept[Token] = Kept(means.clock)

    async def fetch(self, declared: Declared) -> Fetched:
        name, version = wanted(declared, "secret", "path"), wanted(declared, "version", default="")
        self._means.check_allowed("azure", name)
        what = f'Azure Key Vault (asked for "{name}")'
        path = "/".join(quote(word, safe="") for word in (name, version) if word)
        url = f"{self._url.rstrip('/')}/secrets/{path}?api-version={API_VERSION}"
        token = await self._tokens.get(KEY, self._fetch_token)
        self._means.remember(token.value)
        request = Request(
            method="GET",
            target=target_of(url),
            headers={"authorization": f"Bearer {token.value}", "accept": "application/json"},
        )
        answer = await self._endpoint.ask(request, what)
        if answer.status == UNAUTHORIZED:
            self._tokens.drop(KEY)
        if answer.status == NOT_FOUND:
            raise LookupError(f"{what} has no such secret, or not that version")
        if answer.status != OK:
            raise refused_by(what, answer)
        return fetched(what, mapping_in(what, answer))

    async def _fetch_token(self) -> Fresh[Token]:
        means = self._means
        tenant, client_id, secret = (
            means.variable(name, "azure") for name in ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET")
        )
        means.remember(secret)
        authority = means.environment.get("AZURE_AUTHORITY_HOST") or AUTHORITY
        what = f"the token endpoint of the Azure application {client_id}"
        _, form = client_in_form(client_id, secret)
        url = f"{authority.rstrip('/')}/{quote(tenant, safe='')}/oauth2/v2.0/token"
        try:
            request = token_request(url, {"grant_type": "client_credentials", "scope": SCOPE, **form})
        except Refused:
            raise LookupError(f"{what}: AZURE_AUTHORITY_HOST is no URL") from None
        endpoint = means.endpoint(request.target.host)
        try:
            return read_token(what, await endpoint.ask(request, what), means.clock.now())
        finally:
            await endpoint.close()

    async def close(self) -> None:
        await self._tokens.close()
        await self._endpoint.close()


def fetched(what: str, body: Mapping[str, Any]) -> Fetched:
    text = body.get("value")
    if not isinstance(text, str):
        raise LookupError(f"{what} has no text under that name")
    return Fetched(text=text, version=str(body.get("id") or "").rpartition("/")[2])
