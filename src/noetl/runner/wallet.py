"""The credentials of one call: those its playbook declares, and no others (KC-03, KC-07, security 12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from noetl.dsl.model import Playbook
from noetl.engine.commands import Work
from noetl.engine.declarations import declared
from noetl.engine.values import Fault
from noetl.keychain.contract import Keychain
from noetl.secret import Declared, Errand


class Wallet:
    """Looks names up in the keychain, as a playbook may."""

    __slots__ = ("_keychain", "_playbook", "_work", "_workload")

    def __init__(
        self, keychain: Keychain, playbook: Playbook, workload: dict[str, Any], work: Work | None = None
    ) -> None:
        """`work`: the job it is for; a keychain that asks a server does so in its name."""
        self._keychain = keychain
        self._playbook = playbook
        self._workload = workload
        self._work = work

    async def resolve(self, name: str) -> Mapping[str, Any]:
        return await self._keychain.resolve(self._declared(name))

    async def renew(self, name: str) -> bool:
        return await self._keychain.renew(self._declared(name))

    def remember(self, secret: str) -> None:
        self._keychain.remember(secret)

    def _declared(self, name: str) -> Declared:
        credential = self._playbook.credentials.get(name)
        if credential is None:
            names = ", ".join(self._playbook.credentials) or "none"
            raise LookupError(
                f'this playbook declares no credential "{name[:80]}" under keychain; it declares: {names}'
            )
        try:
            found = declared(credential, self._workload)
        except Fault as fault:
            raise LookupError(str(fault)) from None
        work = self._work
        if work is None:
            return found
        return msgspec.structs.replace(found, errand=Errand(key=work.key, lease=work.lease, sha=work.sha))


def wallet_of(keychain: Keychain, playbook: Playbook, work: Work) -> Wallet:
    """The credentials of a job."""
    return Wallet(keychain, playbook, work.workload, work)
