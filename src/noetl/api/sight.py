"""What whoever asks may see: executions and playbooks under the path of their token (security 17).

What is outside it does not exist for them: the same answer as for what was never there.
"""

from __future__ import annotations

import re

from noetl.api.operations import Call
from noetl.control import reading
from noetl.errors import Forbidden, UnknownExecution, UnknownPlaybook, WrongState
from noetl.ids import is_viewing
from noetl.stores.contract import Entry, Execution

EXECUTION_ID = re.compile(r"[1-9][0-9]{0,18}")
ID_MAX = 2**63 - 1
HERE = "this server's store"  # where that is does not concern whoever asks


async def execution_of(call: Call) -> Execution:
    """The execution of the path; raises UnknownExecution."""
    return await visible_execution(call, call.path["execution_id"])


async def visible_execution(call: Call, given: str) -> Execution:
    execution_id = number_of(given)
    if execution_id is None:
        raise UnknownExecution(given[:40], HERE)
    try:
        row = await reading.row_of(call.parts.store, execution_id)
    except UnknownExecution:
        raise UnknownExecution(execution_id, HERE) from None
    if is_viewing(row.id):
        demand_own_viewing(call, row.id)
    elif not call.identity.sees(row.path):
        raise UnknownExecution(execution_id, HERE)
    return row


def demand_own_viewing(call: Call, execution_id: int) -> None:
    """An exported execution is there for who brought it, wherever its playbook stands, and only to be looked at."""
    if not call.parts.viewings.is_of(execution_id, owner_of(call)):
        raise UnknownExecution(execution_id, HERE)
    if call.is_acting:
        raise WrongState(
            f"execution {execution_id} is an exported one, to look at: nothing can be done with it here; "
            "ask the server that it came from"
        )


def owner_of(call: Call) -> str:
    """Whose a viewing is: the token's that brought it."""
    return call.identity.token_id or call.identity.name


def number_of(given: str) -> int | None:
    found = int(given) if EXECUTION_ID.fullmatch(given) else 0
    return found if 0 < found <= ID_MAX else None


async def playbook_of(call: Call, path: str, version: int | None) -> Entry:
    """A version of a playbook, the newest if none is named; raises UnknownPlaybook."""
    if not call.identity.sees(path):
        raise UnknownPlaybook(path, version)
    return await call.parts.catalog.find(path, version)


def demand_sight(call: Call, path: str) -> None:
    """Raises Forbidden where a playbook would be put outside of what the token is for."""
    if not call.identity.sees(path):
        raise Forbidden(f'this token is for playbooks under "{call.identity.path_prefix}", and this one is "{path}"')


def demand_everything(call: Call) -> None:
    """Raises Forbidden for a token of one path: what is asked for belongs to all of them."""
    if call.identity.path_prefix:
        raise Forbidden(
            f'this token is for playbooks under "{call.identity.path_prefix}" only; this is for all of them'
        )


def who(call: Call) -> str:
    """Whoever asks, for the audit log."""
    return f"{call.identity.name} ({call.identity.token_id})"
