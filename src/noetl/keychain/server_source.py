"""Credentials that a worker asks of a server: by name, for the job at hand (KC-01, security 12).

The server has the stored credentials and the keys to them; the worker gets the fields of one that the job's playbook
declares, and only while it holds the job. They stay in memory for SERVED_SECONDS, so that a loop of a thousand tasks
asks once and a rotated credential is soon in use, and for one playbook only: what another one declares is asked for in
its own name. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from noetl.clock import Clock
from noetl.errors import Forbidden, Unauthenticated, Unreachable
from noetl.keychain.kept import Fresh, Kept
from noetl.secret import CredentialUnavailable, Declared

SERVED_SECONDS = 30.0

Ask = Callable[[tuple[int, int, int], int, str], Awaitable[Mapping[str, Any]]]
Entry = Mapping[str, Any] | None


class ServerSource:
    """See `noetl.keychain.sources.KeepingSource`; `ask` is `credential` of a worker's transport."""

    def __init__(self, ask: Ask, clock: Clock) -> None:
        self._ask = ask
        self._kept: Kept[Entry] = Kept(clock)

    async def entry(self, declared: Declared) -> Entry:
        """The fields; None: no server has it, and a provider that the declaration names may."""
        if declared.errand is None:
            return None
        is_asked = False

        async def fetched() -> Fresh[Entry]:
            nonlocal is_asked
            is_asked = True
            return await self._fetched(declared)

        try:
            return await self._kept.get(key_of(declared), fetched)
        except LookupError:
            if is_asked:
                raise
        return (await self._fetched(declared)).value  # it was asked for a job that may have been taken away since

    async def _fetched(self, declared: Declared) -> Fresh[Entry]:
        errand = declared.errand
        assert errand is not None  # noqa: S101 - asked above
        try:
            fields = await self._ask(errand.key, errand.lease, declared.name)
        except (Unreachable, Unauthenticated) as fault:
            raise CredentialUnavailable(f"no server gives it now: {fault}", retryable=True) from None
        except Forbidden as fault:
            raise LookupError(str(fault)) from None
        except LookupError:
            if not declared.settings.get("provider"):
                raise
            return Fresh(value=None, use_seconds=SERVED_SECONDS)
        return Fresh(value=fields, use_seconds=SERVED_SECONDS)

    def forget(self, declared: Declared) -> bool:
        self._kept.drop(key_of(declared))
        return True  # it may have been rotated since

    async def close(self) -> None:
        await self._kept.close()


def key_of(declared: Declared) -> bytes:
    """The same for all jobs of one playbook that mean the same entry: its settings may be made from the workload."""
    sha = declared.errand.sha if declared.errand else ""
    means = [sha, declared.name, declared.kind, declared.settings]
    return sha256(msgspec.json.encode(means, order="deterministic")).digest()
