"""Who runs the code of a python task: inline, a warm child, or a child in a sandbox (isolation.py).

All of them take the same question and give the same answer (python_child.py). One number of slots bounds the children
of both kinds. A level that this worker does not give is refused, and the reason says who can change that.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from noetl.tools.children import Children
from noetl.tools.contract import ToolSettings
from noetl.tools.isolation import INLINE, SANDBOX
from noetl.tools.lane_pool import Lanes
from noetl.tools.python_inline import Inline
from noetl.tools.refused import Refused
from noetl.tools.sandbox import HOW_TO, Sandbox

CHILD_MODULE = "noetl.tools.python_child"


class Runner(Protocol):
    async def ask(self, question: bytes, *, pace: str, answer_bytes_max: int, seconds: float | None) -> bytes:
        """One answer; questions of one `pace` take about as long. Raises TimeoutError, ChildDied, AnswerTooLarge or
        Refused."""
        ...


class Runners:
    """One of each level, made at once and started when it is needed."""

    def __init__(self, settings: ToolSettings) -> None:
        self._is_inline_allowed = settings.is_inline_allowed
        slots = asyncio.Semaphore(settings.process_slots)
        self._sandbox = Sandbox([settings.home] if settings.home else [])
        self.children = Lanes(CHILD_MODULE, slots=slots, slots_max=settings.process_slots)
        self.sandboxed = Children(CHILD_MODULE, slots=slots, fence=self._sandbox)
        self.inline = Inline(settings.process_slots)

    def inline_one(self) -> Inline:
        """The runner inside this process; raises Refused unless an operator has allowed it."""
        if not self._is_inline_allowed:
            raise Refused(
                "exception",
                'spec.isolation is "inline", but this worker runs no task\'s code inside its own process. '
                "An operator who trusts all authors can allow it with python.inline (NOETL_PYTHON_INLINE)",
            )
        return self.inline

    async def of(self, level: str) -> Runner:
        """The runner of a level; raises Refused if there is none on this worker."""
        if level == INLINE:
            return self.inline_one()
        if level != SANDBOX:
            return self.children
        fault = await self._sandbox.fault()
        if fault:
            raise Refused(
                "exception",
                f'spec.isolation is "sandbox", but this worker has none: {fault}. A task that asks for a sandbox is '
                f"never run without. {HOW_TO}",
            )
        return self.sandboxed

    async def close(self) -> None:
        await self.children.close()
        await self.sandboxed.close()
        self.inline.close()
