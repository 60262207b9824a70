"""The keychain that the settings describe, put together when the first entry is asked for: most playbooks need none."""

from __future__ import annotations

from collections.abc import Mapping

from noetl.clock import Clock
from noetl.config import Settings
from noetl.keychain.chain import Parts, ResolvingKeychain
from noetl.keychain.known import KnownSecrets


def open_keychain(
    settings: Settings, environment: Mapping[str, str], clock: Clock, *, is_embedded: bool = True
) -> ResolvingKeychain:
    """Variables first, then what is stored, then providers. Token endpoints may be where http tasks may reach."""
    known = KnownSecrets()

    def parts() -> Parts:
        is_loopback_allowed = is_embedded if settings.http_loopback is None else settings.http_loopback
        return make_parts(settings, environment, clock, known, is_loopback_allowed=is_loopback_allowed)

    return ResolvingKeychain(parts, known)


def make_parts(
    settings: Settings,
    environment: Mapping[str, str],
    clock: Clock,
    known: KnownSecrets,
    *,
    is_loopback_allowed: bool,
) -> Parts:
    from noetl.keychain.endpoint import Endpoint, OperatorsHosts
    from noetl.keychain.environment import EnvironmentSource
    from noetl.keychain.kept_source import KeptSource
    from noetl.keychain.key_variable import VARIABLE as KEYS_VARIABLE
    from noetl.keychain.local import stored_credentials
    from noetl.keychain.oauth2 import Tokens
    from noetl.keychain.providers.contract import Means
    from noetl.keychain.providers.source import ProviderSource
    from noetl.keychain.stored_source import StoredSource
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
    stored = StoredSource(stored_credentials(settings, environment, clock), environment)
    public = Guard(settings.http_allow, is_loopback_allowed=is_loopback_allowed)
    return Parts(
        variables=EnvironmentSource(environment),
        stored=KeptSource(stored, clock),
        providers=ProviderSource(means),
        tokens=Tokens(Endpoint(public), clock),
    )
