"""Before a workflow starts: each credential that its playbook declares is to be had (KC-01)."""

from __future__ import annotations

from typing import Any

from noetl.dsl.model import Playbook
from noetl.engine.decide import merged
from noetl.engine.declarations import declared
from noetl.engine.values import Fault
from noetl.errors import MissingCredential, RequestError
from noetl.keychain.contract import Keychain


async def prove(keychain: Keychain, playbook: Playbook, payload: dict[str, Any]) -> None:
    """Resolve every entry and keep nothing of it; RequestError names the first that cannot be had, and why."""
    workload = merged(playbook.workload, payload)
    for name, credential in playbook.credentials.items():
        try:
            await keychain.resolve(declared(credential, workload))
        except Fault as fault:
            raise RequestError(str(fault)) from fault
        except LookupError as error:
            raise MissingCredential(name, credential.place, error) from error
