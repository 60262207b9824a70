"""Provider vault: the HTTP interface of Vault and OpenBao, KV version 2.

The operator says where it is (`keychain.vault_url`) and who asks (NOETL_VAULT_TOKEN, or `keychain.vault_token_file`,
which an agent may rewrite: after a refusal it is read again, and a new token is tried once). The declaration says which
secret: `mount` (secret if not given), `path`, `version`, `namespace`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from noetl.keychain.endpoint import mapping_in, refused_by
from noetl.keychain.providers.contract import Fetched, Means, wanted
from noetl.secret import Declared
from noetl.web.guard import target_of
from noetl.web.messages import Answer, Request

MOUNT = "secret"
TOKEN_VARIABLE = "NOETL_VAULT_TOKEN"  # noqa: S105 - its name
OK, FORBIDDEN, NOT_FOUND = 200, 403, 404


class VaultProvider:
    def __init__(self, means: Means) -> None:
        self._means = means
        self._url = means.settings.keychain_vault_url
        if not self._url:
            raise LookupError("provider vault needs keychain.vault_url (NOETL_KEYCHAIN_VAULT_URL), which is not set")
        self._endpoint = means.endpoint(target_of(self._url).host)
        self._token = ""

    async def fetch(self, declared: Declared) -> Fetched:
        mount, path = (clean_path(declared, *words) for words in (("mount", MOUNT), ("path", None)))
        self._means.check_allowed("vault", f"{mount}/{path}")
        what = f'vault (asked for "{mount}/{path}")'
        answer = await self._ask(what, declared, mount, path)
        if answer.status == NOT_FOUND:
            raise LookupError(f"{what} has no such secret, or not that version")
        if answer.status != OK:
            raise refused_by(what, answer, "its token may not read this" if answer.status == FORBIDDEN else "")
        return fetched(what, mapping_in(what, answer))

    async def _ask(self, what: str, declared: Declared, mount: str, path: str) -> Answer:
        token = self._token or await self._read_token()
        answer = await self._endpoint.ask(self._request(declared, mount, path, token), what)
        if answer.status != FORBIDDEN:
            return answer
        renewed = await self._read_token()
        if renewed == token:
            return answer
        return await self._endpoint.ask(self._request(declared, mount, path, renewed), what)

    def _request(self, declared: Declared, mount: str, path: str, token: str) -> Request:
        version = wanted(declared, "version", default="")
        query = f"?version={quote(version, safe='')}" if version else ""
        namespace = wanted(declared, "namespace", default="")
        headers = {"x-vault-token": token, "x-vault-request": "true", "accept": "application/json"}
        if namespace:
            headers["x-vault-namespace"] = quote(namespace)
        url = f"{self._url.rstrip('/')}/v1/{quote(mount)}/data/{quote(path)}{query}"
        return Request(method="GET", target=target_of(url), headers=headers)

    async def _read_token(self) -> str:
        file = self._means.settings.keychain_vault_token_file
        token = self._means.environment.get(TOKEN_VARIABLE, "").strip()
        if not token and file:
            try:
                token = (await asyncio.to_thread(file.read_text, "utf-8")).strip()
            except (OSError, UnicodeDecodeError):
                raise LookupError(f"keychain.vault_token_file: {file} cannot be read") from None
        if not token or not token.isprintable() or not token.isascii():
            raise LookupError(f"provider vault needs a token: {TOKEN_VARIABLE}, or keychain.vault_token_file")
        self._means.remember(token)
        self._token = token
        return token

    async def close(self) -> None:
        await self._endpoint.close()


def clean_path(declared: Declared, name: str, default: str | None) -> str:
    """A path that leads down and nowhere else."""
    path = wanted(declared, name, default=default).strip("/")
    if not path or any(part in ("", ".", "..") for part in path.split("/")) or not path.isprintable():
        raise LookupError(f"{name} must be names with / between them, without . and ..")
    return path


def fetched(what: str, body: Mapping[str, Any]) -> Fetched:
    inner = body.get("data")
    fields = inner.get("data") if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or not isinstance(fields, dict):
        raise LookupError(f"{what} did not answer as KV version 2 does; is the mount of version 1, or deleted?")
    metadata = inner.get("metadata")
    version = str(metadata.get("version") or "") if isinstance(metadata, dict) else ""
    return Fetched(fields=fields, version=version)
