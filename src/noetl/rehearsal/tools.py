"""The kinds of a rehearsal: each call gets an answer, or goes to the real tool, or is one that nobody answers.

Real tools run one at a time, in the order in which they were asked, so that which of two is quicker changes nothing.
They are made once and serve all rehearsals of a process: a warm python child is a tenth of a second.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import msgspec

from noetl.config import Settings
from noetl.dsl.kinds import Kind
from noetl.embedded import Kinds
from noetl.engine.output import Output, failure
from noetl.rehearsal.asking import Asked
from noetl.rehearsal.envelopes import DURATION, Answer, output_of
from noetl.rehearsal.loop import VirtualLoop
from noetl.tools.contract import Call, Hands, Tool

HARMLESS = frozenset(("noop", "workbook", "resolve", "python", "playbook"))  # they touch nothing outside
AT_ONCE = frozenset(("noop",))  # real, and nothing to wait for
Turned = Callable[[Asked], Answer | None]  # an answer, or None: it is real; raises Unanswered


class Unanswered(Exception):
    """A call that nobody answers, of a kind that may not run."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        super().__init__(f"nobody answers {asked.name}")


class RealTools:
    """The real tools of a process."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.turn = asyncio.Lock()
        self._tools: dict[str, Tool] = {}

    def tool(self, kinds: Kinds, name: str, hands: Hands) -> Tool:
        if name not in self._tools:
            self._tools[name] = kinds.module(name).make(hands)
        return self._tools[name]

    async def close(self) -> None:
        with self.loop.real():
            for tool in self._tools.values():
                await tool.close()
        self._tools.clear()


class AnsweredKinds(Kinds):
    """Kinds that check as the real ones do, whether their libraries are here or not: an answer needs none."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(lambda: settings.tools_plugins)

    def __getitem__(self, name: str) -> Kind:
        if name not in self.loaded:
            kind = self.module(name).KIND
            self.loaded[name] = msgspec.structs.replace(kind, is_missing=False, is_runnable=True, module="")
        return self.loaded[name]


class RehearsalKinds(AnsweredKinds):
    """The same at work."""

    def __init__(self, settings: Settings, real_tools: RealTools) -> None:
        super().__init__(settings)
        self.real_tools = real_tools
        self.real: frozenset[str] = HARMLESS
        self.ask: Callable[[Call, str], Answer | None] = lambda _call, _kind: None
        self.store: Callable[[Any, Any], dict[str, Any]] = lambda _stored, _ref: {}

    def make_tool(self, name: str, hands: Hands) -> Tool:
        return RehearsedTool(self, name, hands)


class RehearsedTool:
    """One kind."""

    times_itself = True

    def __init__(self, kinds: RehearsalKinds, kind: str, hands: Hands) -> None:
        self.kinds = kinds
        self.kind = kind
        self.hands = hands

    def run(self, call: Call) -> Any:
        try:
            answer = self.kinds.ask(call, self.kind)
        except Unanswered:
            return _for_ever()  # the rehearsal is over
        if answer is None:
            return self._real(call)
        if "stored" in answer:
            answer = {**answer, "ref": self.kinds.store(answer["stored"], answer.get("ref"))}
        output, seconds = output_of(answer, self.kinds[self.kind]), float(answer.get("takes", 0.0))
        seconds = seconds or seconds_over(call, output, answer)
        return self._after(call, output, seconds) if seconds else output

    async def close(self) -> None:
        """The real ones are closed by whoever has them."""

    async def _after(self, call: Call, output: Output, seconds: float) -> Output:
        limit = call.total_seconds
        if limit is not None and seconds > limit:
            await self.hands.clock.sleep(limit)
            return too_late(limit)
        await self.hands.clock.sleep(seconds)
        return output

    def _real(self, call: Call) -> Any:
        tool = self.kinds.real_tools.tool(self.kinds, self.kind, self.hands)
        return tool.run(call) if self.kind in AT_ONCE else self._in_turn(tool, call)

    async def _in_turn(self, tool: Tool, call: Call) -> Output:
        async with self.kinds.real_tools.turn:
            with self.kinds.real_tools.loop.real():
                come = tool.run(call)
                if not inspect.isawaitable(come):
                    return come
                if getattr(tool, "times_itself", False):
                    return await come
                try:
                    async with asyncio.timeout(call.total_seconds):
                        return await come
                except TimeoutError:
                    return too_late(call.total_seconds or 0.0)


def seconds_over(call: Call, output: Output, answer: Answer) -> float:
    """How long a recorded answer took, if that is longer than the call has now; 0: it comes in time."""
    seconds = float((answer.get("meta") or {}).get(DURATION) or 0) / 1000
    is_timeout = output.error is not None and output.error.kind == "timeout"
    is_over = call.total_seconds is not None and seconds > call.total_seconds
    return seconds if is_over and not is_timeout else 0.0


def too_late(seconds: float) -> Output:
    message = f"it took longer than its {seconds:g} s (spec.timeout)"
    return failure("timeout", message, retryable=True, is_definite=False)


async def _for_ever() -> Output:
    await asyncio.get_running_loop().create_future()
    raise AssertionError("nothing ends that future")
