"""Providers as a source of entries: the declaration's `provider` chooses one, what it gives becomes fields.

A secret that is a JSON mapping is its fields; any other text is {value: text}; `field: name` picks one of the fields as
the value. Kept for PROVIDED_SECONDS, so that a loop of a thousand tasks asks once and a changed secret is soon in use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from noetl.keychain.environment import fields_of
from noetl.keychain.kept import Fresh, Kept
from noetl.keychain.providers.contract import Means, Provider, wanted
from noetl.secret import Declared

PROVIDED_SECONDS = 30.0
FIELDS_SHOWN_MAX = 20


def _env(means: Means) -> Provider:
    from noetl.keychain.providers.env import EnvProvider

    return EnvProvider(means)


def _file(means: Means) -> Provider:
    from noetl.keychain.providers.file import FileProvider

    return FileProvider(means)


def _vault(means: Means) -> Provider:
    from noetl.keychain.providers.vault import VaultProvider

    return VaultProvider(means)


def _aws(means: Means) -> Provider:
    from noetl.keychain.providers.aws import AwsProvider

    return AwsProvider(means)


def _gcp(means: Means) -> Provider:
    from noetl.keychain.providers.gcp import GcpProvider

    return GcpProvider(means)


def _azure(means: Means) -> Provider:
    from noetl.keychain.providers.azure import AzureProvider

    return AzureProvider(means)


# Each is loaded when a playbook names it.
MAKERS: Mapping[str, Callable[[Means], Provider]] = {
    "env": _env,
    "file": _file,
    "vault": _vault,
    "aws": _aws,
    "gcp": _gcp,
    "azure": _azure,
}
SPELLINGS = {
    **dict.fromkeys(("environment", "environ"), "env"),
    **dict.fromkeys(("hashicorp", "hashicorp_vault", "openbao"), "vault"),
    **dict.fromkeys(("aws_secrets_manager", "amazon"), "aws"),
    **dict.fromkeys(("google", "google_secret_manager", "gcp_secret_manager"), "gcp"),
    **dict.fromkeys(("azure_key_vault", "azure_keyvault"), "azure"),
}


class ProviderSource:
    """Entries whose declaration names a provider."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._made: dict[str, Provider] = {}
        self._kept: Kept[dict[str, Any]] = Kept(means.clock)

    async def entry(self, declared: Declared) -> Mapping[str, Any] | None:
        if not declared.settings.get("provider"):
            return None
        provider = self._provider(str(declared.settings["provider"]))
        return await self._kept.get(key_of(declared), lambda: fetched(provider, declared))

    def forget(self, declared: Declared) -> bool:
        self._kept.drop(key_of(declared))
        return bool(declared.settings.get("provider"))

    def _provider(self, said: str) -> Provider:
        name = SPELLINGS.get(said.lower(), said.lower())
        if name not in MAKERS:
            raise LookupError(f'there is no provider "{said[:40]}"; the providers are: {", ".join(MAKERS)}')
        if name not in self._made:
            self._made[name] = MAKERS[name](self._means)
        return self._made[name]

    async def close(self) -> None:
        await self._kept.close()
        for provider in self._made.values():
            await provider.close()


async def fetched(provider: Provider, declared: Declared) -> Fresh[dict[str, Any]]:
    """What a provider gives for a declaration, as fields."""
    given = await provider.fetch(declared)
    fields = dict(given.fields) if given.fields is not None else fields_of(given.text, "the secret")
    if "field" in declared.settings:
        fields = {"value": picked(fields, wanted(declared, "field"))}
    version = {"version": given.version} if given.version else {}
    return Fresh(value={**version, **fields}, use_seconds=PROVIDED_SECONDS)


def picked(fields: Mapping[str, Any], name: str) -> Any:
    if name not in fields:
        shown = ", ".join(sorted(map(str, fields))[:FIELDS_SHOWN_MAX])
        raise LookupError(f'the secret has no field "{name}"; it has: {shown or "none"}')
    return fields[name]


def key_of(declared: Declared) -> bytes:
    return sha256(msgspec.json.encode(declared.settings, order="deterministic")).digest()
