"""Which results an execution may read and write, on a server: stores opened with its own playbook's credentials."""

from __future__ import annotations

from noetl.control.live import Executions
from noetl.keychain.contract import Keychain
from noetl.references import Reference
from noetl.results.contract import Readable, Results
from noetl.results.stores import NoCredentials, Stores
from noetl.runner.wallet import Wallet


class Access:
    """See above (security 23)."""

    def __init__(self, results: Stores, keychain: Keychain, executions: Executions) -> None:
        self.results = results
        self.keychain = keychain
        self.executions = executions

    async def read_by(self, execution_id: int, reference: Reference) -> Readable:
        """The store of a reference; a place of a playbook's own is opened as that execution's playbook may."""
        if reference.auth_reference is None:
            return await self.results.for_reading(reference, NoCredentials())
        return await self.results.for_reading(reference, await self._wallet_of(execution_id))

    async def write_by(self, execution_id: int, chosen: object) -> Results:
        """The store that a task of an execution chose."""
        if chosen is None:
            return await self.results.for_writing(None, NoCredentials())
        return await self.results.for_writing(chosen, await self._wallet_of(execution_id))

    async def _wallet_of(self, execution_id: int) -> Wallet:
        live = self.executions.known(execution_id) or await self.executions.rebuilt(execution_id, [])
        return Wallet(self.keychain, live.loaded.playbook, live.state.workload)
