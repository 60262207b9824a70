"""Scripted tools: kinds that check as the real ones do, and whose tools do what the playbook's script says.

`python` and `http` are scripted; `noop` and `resolve` are the real ones; every other kind can be checked and not be
run. Each scripted invocation is written to the ledger before anything else happens. The world may have its say around
one (`ToolFaults`): kill its worker, let it hang, or give an answer of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Protocol
from zlib import crc32

import msgspec

from noetl.clock import Clock
from noetl.embedded import Kinds
from noetl.engine.output import Output, failure
from noetl.secret import MASK
from noetl.testing.simulator.ledger import FAILED_BY_WORLD, FINISHED, Invocation, Ledger
from noetl.testing.simulator.playbooks.plans import HTTP, NOOP, RESOLVE, SCRIPTED
from noetl.testing.simulator.playbooks.scripts import (
    ERROR_STATUSES,
    PASSING,
    RETRY_AFTER_SECONDS,
    Circumstances,
    Outcome,
    Script,
    outcome,
    seen,
)
from noetl.tools.contract import Call, Hands, Tool

HANG, CRASH = "hang", "crash"


class ToolFaults(Protocol):
    """What the world does to invocations."""

    def before(self, call: Call) -> str | Output | None:
        """Nothing; `hang`; `crash`, when it has killed the worker; or an answer in place of the script's."""
        ...

    def after(self, call: Call) -> str | None:
        """The tool has had its effect, and nobody knows yet: nothing, or `crash`."""
        ...


class NoFaults:
    """A world that leaves tools alone."""

    def before(self, call: Call) -> str | Output | None:
        return None

    def after(self, call: Call) -> str | None:
        return None


class ScriptedKinds(Kinds):
    """The kinds of one simulated process."""

    def __init__(self, ledger: Ledger, node: str, faults: ToolFaults | None = None) -> None:
        super().__init__()
        self.ledger = ledger
        self.node = node
        self.faults: ToolFaults = faults or NoFaults()

    def make_tool(self, name: str, hands: Hands) -> Tool:
        if name in SCRIPTED:
            return ScriptedTool(self, name, hands.clock)
        if name in (NOOP, RESOLVE):
            return super().make_tool(name, hands)
        raise AssertionError(f"generated playbooks run no kind: {name}")


class ScriptedTool:
    """See above."""

    def __init__(self, kinds: ScriptedKinds, kind: str, clock: Clock) -> None:
        self.kinds = kinds
        self.kind = kind
        self.clock = clock

    def run(self, call: Call) -> Output | Awaitable[Output]:
        """At once where the script takes no time: that is another way through the worker."""
        circumstances = circumstances_of(call)
        script = msgspec.convert(call.given["plays"], Script)
        line = self._begun(call, circumstances)
        fault = self.kinds.faults.before(call)
        if isinstance(fault, Output):
            line.state, line.ended_seconds = FAILED_BY_WORLD, _now()
            return fault
        if fault is not None:
            line.state = FAILED_BY_WORLD if fault == HANG else line.state
            return _for_ever()
        come = outcome(script, circumstances)
        return self._after(call, line, come, come.seconds) if come.seconds else self._ended(call, line, come)

    async def close(self) -> None:
        """Nothing was opened."""

    def _begun(self, call: Call, circumstances: Circumstances) -> Invocation:
        return self.kinds.ledger.begin(
            seconds=_now(),
            node=self.kinds.node,
            execution_id=call.execution_id,
            key=call.key,
            task=call.task,
            attempt=call.attempt,
            input_digest=crc32(msgspec.json.encode(call.input)),
            saw=seen(circumstances.previous),
        )

    async def _after(self, call: Call, line: Invocation, come: Outcome, seconds: float) -> Output:
        await self.clock.sleep(seconds)
        ended = self._ended(call, line, come)
        return ended if isinstance(ended, Output) else await ended

    def _ended(self, call: Call, line: Invocation, come: Outcome) -> Output | Awaitable[Output]:
        line.state, line.ended_seconds = FINISHED, _now()
        line.gave = seen(come.data)
        return self.answer(come) if self.kinds.faults.after(call) is None else _for_ever()

    def answer(self, come: Outcome) -> Output:
        """An outcome as its kind says it."""
        helpers = self._helpers(come)
        if not come.error_kind:
            return Output(data=come.data, helpers=helpers, logs=come.logs)
        return failure(
            come.error_kind,
            come.message,
            logs=come.logs,
            retryable=come.error_kind in PASSING,
            helpers=helpers,
            is_definite=come.error_kind != "connection",
            retry_after_seconds=RETRY_AFTER_SECONDS if come.error_kind == "rate_limit" else None,
        )

    def _helpers(self, come: Outcome) -> dict[str, Any]:
        if self.kind != HTTP:
            return {}
        status = ERROR_STATUSES.get(come.error_kind) if come.error_kind else 200
        return {} if status is None else {"http": {"status": status}}


def circumstances_of(call: Call) -> Circumstances:
    """Which execution of its task a call is, by what the worker says of it."""
    given = call.input
    *_, label, visit = call.key.rpartition(".")[0].split(":")  # of the caller, where it is a task of the workbook
    return Circumstances(
        label=label,
        indexes=tuple(given.get("of", ())),
        visit=int(visit),
        attempt=call.attempt,
        value=given.get("x"),
        previous=given.get("previous"),
        secret=given.get("secret", MASK),
    )


async def _for_ever() -> Output:
    """Until somebody cancels it: its time-out, a revoked lease, or nobody, if the worker is dead."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError("nothing ends that future")


def _now() -> float:
    return asyncio.get_running_loop().time()
