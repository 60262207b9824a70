"""The keychain that the settings describe, put together when the first entry is asked for: most playbooks need none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from noetl.clock import Clock
from noetl.config import Settings
from noetl.keychain.chain import Parts, ResolvingKeychain
from noetl.keychain.known import KnownSecrets

if TYPE_CHECKING:
    from noetl.keychain.sources import KeepingSource
    from noetl.keychain.stored import StoredCredentials


def open_keychain(
    settings: Settings,
    environment: Mapping[str, str],
    clock: Clock,
    *,
    is_embedded: bool = True,
    stored: StoredCredentials | None = None,
    asked: KeepingSource | None = None,
) -> ResolvingKeychain:
    """Variables first, then what is stored (None: in the home), then providers.

    `asked`: a worker has no stored credentials and no keys to them, and asks a server instead. Token endpoints may be
    where http tasks may reach.
    """
    known = KnownSecrets()

    def parts() -> Parts:
        is_loopback_allowed = is_embedded if settings.http_loopback is None else settings.http_loopback
        return make_parts(
            settings,
            environment,
            clock,
            known,
            is_loopback_allowed=is_loopback_allowed,
            credentials=stored,
            asked=asked,
        )

    return ResolvingKeychain(parts, known)


def make_parts(
    settings: Settings,
    environment: Mapping[str, str],
    clock: Clock,
    known: KnownSecrets,
    *,
    is_loopback_allowed: bool,
    credentials: StoredCredentials | None = None,
    asked: KeepingSource | None = None,
) -> Parts:
    from noetl.keychain.endpoint import Endpoint, OperatorsHosts
    from noetl.keychain.environment import EnvironmentSource
    from noetl.keychain.key_variable import VARIABLE as KEYS_VARIABLE
    from noetl.keychain.oauth2 import Tokens
    from noetl.keychain.providers.contract import Means
    from noetl.keychain.providers.source import ProviderSource
    from noetl.web.guard import Guard

    for key in environment.get(KEYS_VARIABLE, "").split(","):
        known.remember(key.strip())
    ca_file = str(settings.keychain_ca_file) if settings.keychain_ca_file else None
    means = Means(
        settings=settings,
        environment=environment,
        clock=clock,
        remember=known.remember,
        endpoint=lambda *hosts: Endpoint(OperatorsHosts(hosts), ca_file=ca_file),
    )
    public = Guard(settings.http_allow, is_loopback_allowed=is_loopback_allowed)
    return Parts(
        variables=EnvironmentSource(environment),
        stored=asked or _stored_here(settings, environment, clock, credentials),
        providers=ProviderSource(means),
        tokens=Tokens(Endpoint(public), clock),
    )


def _stored_here(
    settings: Settings, environment: Mapping[str, str], clock: Clock, credentials: StoredCredentials | None
) -> KeepingSource:
    from noetl.keychain.kept_source import KeptSource
    from noetl.keychain.local import stored_credentials
    from noetl.keychain.stored_source import StoredSource

    stored = credentials or stored_credentials(settings, environment, clock)
    return KeptSource(StoredSource(stored, environment), clock)
