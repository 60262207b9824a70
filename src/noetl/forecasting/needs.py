"""What a playbook needs besides itself: credentials, pools, kinds, places for results. Names only: none is opened."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.dsl.kinds import Kinds
from noetl.dsl.model import Credential, Playbook
from noetl.engine.forecast.steps import tasks_of
from noetl.errors import NoetlError, RequestError, UnknownResultStore
from noetl.forecasting.calls import Foreseen
from noetl.results.choices import choice_of

FOUND, MISSING, NOT_ASKED = "found", "missing", "not asked"


def needs_of(settings: Settings, planned: Sequence[Foreseen], kinds: Kinds) -> dict[str, Any]:
    playbooks = [one.forecast.playbook for one in planned]
    return {
        "credentials": credentials(settings, playbooks),
        "pools": sorted({step.pool for one in playbooks for step in one.steps.values() if step.pool}),
        "kinds": kinds_used(playbooks),
        "missing_kinds": missing_kinds(playbooks, kinds),
        "result_stores": result_stores(playbooks),
    }


def kinds_used(playbooks: Sequence[Playbook]) -> list[str]:
    return sorted({task.kind for one in playbooks for task in tasks_of(one)})


def missing_kinds(playbooks: Sequence[Playbook], kinds: Kinds) -> list[dict[str, str]]:
    """Kinds whose library is not on this machine, and how to get it."""
    found = [kinds[name] for name in kinds_used(playbooks) if name in kinds]
    return [{"kind": one.name, "fix": f'pip install "noetl[{one.extra}]"'} for one in found if one.is_missing]


def result_stores(playbooks: Sequence[Playbook]) -> list[str]:
    """The places that tasks choose for their results; a task that says nothing uses the operator's."""
    found = set()
    for task in (task for one in playbooks for task in tasks_of(one)):
        written = task.spec.get("result")
        try:
            choice = choice_of(written.get("store")) if isinstance(written, dict) else None
        except UnknownResultStore:  # the task says so when it runs
            continue
        if choice is not None:
            found.add(str(choice.spot) if choice.name or choice.auth else choice.kind)
    return sorted(found)


def declared_in(playbooks: Sequence[Playbook]) -> dict[tuple[str, str], Credential]:
    """Every credential once, by name and kind."""
    return {(one.name, one.kind): one for playbook in playbooks for one in playbook.credentials.values()}


def credentials(settings: Settings, playbooks: Sequence[Playbook]) -> list[dict[str, Any]]:
    """Whether each credential is to be had here; no provider and no service is asked."""
    wanted = declared_in(playbooks)
    if not wanted:
        return []
    if settings.server_url:
        return [row_of(one, NOT_ASKED, f"kept on {settings.server_url}") for one in wanted.values()]

    async def looked() -> list[dict[str, Any]]:
        from noetl.safekeeping import opened

        async with opened(settings) as stored:
            return [await looked_up(settings, one, stored) for one in wanted.values()]

    return asyncio.run(looked())


async def looked_up(settings: Settings, credential: Credential, stored: Any) -> dict[str, Any]:
    from noetl.proving import proved

    try:
        proof = await proved(settings, credential.name, credential.kind, False, SystemClock(), stored)
    except RequestError as fault:
        if credential.settings:
            return row_of(credential, NOT_ASKED, "a provider has it, which is asked in the run or with --connect")
        return row_of(credential, MISSING, str(fault))
    except NoetlError as fault:
        return row_of(credential, MISSING, str(fault))
    return row_of(credential, MISSING, proof.error) if proof.error else row_of(credential, FOUND, proof.origin)


def row_of(credential: Credential, state: str, says: str) -> dict[str, Any]:
    return {"name": credential.name, "kind": credential.kind, "state": state, "says": says}
