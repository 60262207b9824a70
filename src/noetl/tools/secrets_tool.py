"""Kind secrets at work: the name of a keychain entry in, what an author may know of it out.

Nothing is written to a keychain (KC-06): to renew is to give up what was made or kept of an entry (a token, what a
provider gave) and to get it anew. The value never becomes output.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from noetl.engine.output import Output, failure
from noetl.secret import CredentialUnavailable, revealed
from noetl.tools.contract import Call, Hands
from noetl.tools.secrets import ACTIONS, GET, REFRESH, ROTATE

NEAR_SECONDS = 60.0  # an end that is nearer than this is one to renew before


class SecretsTool:
    """Asks the keychain; keeps nothing."""

    times_itself = True  # so that a time-out says of which credential

    def __init__(self, hands: Hands) -> None:
        self._clock = hands.clock

    async def run(self, call: Call) -> Output:
        given = call.input
        name = name_in(given.get("auth"))
        if not name:
            return failure("client_error", '"auth" must be the name of a keychain entry, or {name: …}')
        action = str(given.get("action") or REFRESH)
        if action not in ACTIONS:
            return failure("client_error", f'"action" must be one of: {", ".join(ACTIONS)}')
        try:
            async with asyncio.timeout(call.total_seconds):
                return await self._act(call, name, action, is_forced=bool(given.get("force")))
        except TimeoutError:
            message = f'the credential "{name}" could not be had within {call.total_seconds:g} s (timeout.total)'
            return failure("timeout", message, retryable=True, is_definite=False)
        except LookupError as error:
            is_passing = isinstance(error, CredentialUnavailable) and error.retryable
            message = f'the credential "{name}" could not be resolved: {error}'
            return failure("auth", message, retryable=is_passing)

    async def _act(self, call: Call, name: str, action: str, *, is_forced: bool) -> Output:
        credentials = call.credentials
        before = await credentials.resolve(name)
        if action == GET or (action == REFRESH and not is_forced and not self._is_due(before)):
            return shown(name, before, is_renewed=False)
        if not await credentials.renew(name):
            return unrotatable(name) if action == ROTATE else shown(name, before, is_renewed=False)
        after = await credentials.resolve(name)
        if action == ROTATE and substance(after) == substance(before):
            return unrotated(name)
        return shown(name, after, is_renewed=True)

    def _is_due(self, entry: Mapping[str, Any]) -> bool:
        """Whether the end is near; what has none is looked up again, for nobody knows whether it has changed."""
        said = revealed(entry.get("expires_at"))
        return said is None or datetime.fromisoformat(str(said)).timestamp() - self._clock.now() < NEAR_SECONDS

    async def close(self) -> None:
        """There is nothing to give back."""


def name_in(auth: object) -> str:
    """The name in `auth: name` or `auth: {name: …}`."""
    found = auth.get("name") or auth.get("credential") if isinstance(auth, Mapping) else auth
    return found if isinstance(found, str) else ""


def shown(name: str, entry: Mapping[str, Any], *, is_renewed: bool) -> Output:
    """What may be known of an entry."""
    public = {field: revealed(entry.get(field)) for field in ("kind", "version", "expires_at")}
    return Output(data={"name": name, **public, "renewed": is_renewed})


def substance(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What makes an entry another one: its end alone does not."""
    return {field: value for field, value in entry.items() if field != "expires_at"}


def unrotatable(name: str) -> Output:
    return failure(
        "client_error",
        f'the credential "{name}" cannot be rotated from here: it is a fixed value in a variable or in the keychain. '
        f"Change it there (noetl keychain set {name}); oauth2 entries and those of a provider can be rotated",
    )


def unrotated(name: str) -> Output:
    message = f'the credential "{name}" was looked up again and is still the same; has its provider rotated it?'
    return failure("auth", message, retryable=True)
