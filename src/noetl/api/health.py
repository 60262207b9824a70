"""Whether a server is alive, for anybody and nothing else said; and whether its parts work, for those who may look."""

from __future__ import annotations

from typing import Any

import msgspec

from noetl import __version__
from noetl.api.documents import Alive, Health
from noetl.api.operations import PUBLIC, Call, Operation
from noetl.engine.events import timestamp
from noetl.identity.roles import VIEWER

TAG = "health"


async def is_alive(_: Call) -> dict[str, Any]:
    return {"status": "ok"}


async def show_health(call: Call) -> dict[str, Any]:
    checks = await call.parts.health()
    is_ok = all(check.is_ok for check in checks)
    now = timestamp(call.parts.clock.now())
    return {"is_ok": is_ok, "version": __version__, "now": now, "checks": msgspec.to_builtins(checks)}


OPERATIONS = (
    Operation(
        method="GET",
        path="/healthz",
        role=PUBLIC,
        summary="Say that the server answers",
        handler=is_alive,
        tag=TAG,
        answers={200: Alive},
    ),
    Operation(
        method="GET",
        path="/api/v1/health",
        role=VIEWER,
        summary="Show whether store, queue and the other parts work, and the version",
        handler=show_health,
        tag=TAG,
        answers={200: Health},
    ),
)
