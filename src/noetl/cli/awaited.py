"""Which value of ctx an execution waits for: what the gate of the first step that waits has read."""

from __future__ import annotations

from noetl.cli.sides import executions_of
from noetl.config import Settings
from noetl.errors import NoetlError

CTX = "ctx."
VALUE = "VALUE"  # for a person to put in


def awaited(settings: Settings, execution_id: int) -> str | None:
    """`ctx.approved=VALUE`; None: nobody knows."""
    side = executions_of(settings)
    try:
        waiting = side.show(settings, execution_id)["waiting"]
        visits = side.why(settings, execution_id, waiting[0]["step"])["visits"] if waiting else []
    except NoetlError:
        return None  # it only adds to advice
    reads = [read["name"] for visit in visits for verdict in visit["verdicts"] for read in verdict["reads"]]
    return next((f"{name}={VALUE}" for name in reads if name.startswith(CTX) and len(name) > len(CTX)), None)
