"""`noetl plan`: what a playbook would do, what it needs, and, if asked, whether that can be reached. Nothing is run.

Comes in: a playbook's text or path, and a payload. Goes out: plain data, a document of its own for each playbook that
it calls. The arithmetic is the engine's (`noetl.engine.forecast`); here the playbooks are found, by the same rules as
in a run, and what they need is looked up. Nothing is recorded, and no credential is in what comes out.
"""

from __future__ import annotations

from typing import Any

from noetl.config import Settings
from noetl.dsl.kinds import Kinds
from noetl.engine.forecast.steps import ASSUMPTIONS
from noetl.forecasting.calls import Forecaster, Foreseen, PlanRequest, Show
from noetl.forecasting.needs import needs_of

__all__ = ["PlanRequest", "Show", "plan"]


def plan(settings: Settings, request: PlanRequest, kinds: Kinds, show: Show, *, is_connecting: bool) -> dict[str, Any]:
    """The plan of a playbook. Raises InvalidPlaybook, UnknownPlaybook, RequestError.

    `show`: gives a playbook of the catalog, of this store or of a server, as `noetl catalog show` has it.
    """
    forecaster = Forecaster(kinds, show)
    found = forecaster.foreseen(request)
    all_of_them = [found, *forecaster.called]
    document = {
        "status": "planned",
        **row_of(found),
        "assumptions": list(ASSUMPTIONS),
        "needs": needs_of(settings, all_of_them, kinds),
        "connections": None,
    }
    if is_connecting:
        from noetl.forecasting.connections import connections

        document["connections"] = connections(settings, all_of_them)
    return document


def row_of(found: Foreseen) -> dict[str, Any]:
    return {**found.row, "calls": [_call_row(one) for one in found.calls]}


def _call_row(call: Any) -> dict[str, Any]:
    return {
        "step": call.step,
        "task": call.task,
        "path": call.path,
        "from": call.origin,
        "why_not": call.why_not or None,
        "plan": row_of(call.found) if call.found else None,
    }
