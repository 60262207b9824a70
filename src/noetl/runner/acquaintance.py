"""Before the first task of an execution, the secrets that its playbook declares are known to this worker (KC-05).

A task may print what another task left somewhere, and that one may have run on another worker, or before a restart: the
redactor would let pass what it has never seen. So each declared credential is looked up once per execution. One that
cannot be had now is none of this module's business: the task that needs it says so. Nothing is handed out here.
"""

from __future__ import annotations

import asyncio

from noetl.dsl.model import Playbook
from noetl.engine.commands import Work
from noetl.keychain.contract import Keychain
from noetl.runner.wallet import Wallet, wallet_of

EXECUTIONS_MAX = 1_000  # remembered as done; an older one is looked up again
WAIT_SECONDS_MAX = 5.0  # a provider that is down does not hold up tasks that do not need it


class Acquaintance:
    """Which executions' secrets a keychain has seen."""

    def __init__(self, keychain: Keychain) -> None:
        self._keychain = keychain
        self._done: dict[int, None] = {}

    async def make(self, playbook: Playbook, work: Work) -> None:
        """Let the keychain see what this playbook declares."""
        if not playbook.credentials or work.execution_id in self._done:
            return
        wallet = wallet_of(self._keychain, playbook, work)
        found = await asyncio.gather(*(_is_seen(wallet, name) for name in playbook.credentials))
        if all(found):
            self._done[work.execution_id] = None
        if len(self._done) > EXECUTIONS_MAX:
            del self._done[next(iter(self._done))]


async def _is_seen(wallet: Wallet, name: str) -> bool:
    try:
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            await wallet.resolve(name)
    except (LookupError, TimeoutError):
        return False
    return True
