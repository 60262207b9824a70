"""The people of a world: they start executions, ask again when nobody answers, cancel, send signals, run one again from
some point of its log, register other versions of playbooks that run, and after everything is well again take up what
waits as an incident. At last they read it all.

What a server has acknowledged to them is noted, for it must be in the log ever after (I13).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from noetl.control import reading
from noetl.control.catalog import Text
from noetl.control.desk import Desk, Started
from noetl.control.requests import RerunRequest, RunRequest
from noetl.control.rerun import rerun
from noetl.control.verify import verify
from noetl.engine.events import LoopStarted
from noetl.engine.reopening import BAD_ENDS
from noetl.errors import PASSING, InternalError, NoetlError, UnknownExecution, WrongState
from noetl.testing.simulator.case import Configuration, Violation
from noetl.testing.simulator.playbooks.plans import GATE_KEY
from noetl.testing.simulator.tape import Stream, Tape

AGAIN_SECONDS = 1.0
RERUN_AFTER_SECONDS = 10.0
CANCELLED_IN_TROUBLE = 0.3
GIVEN_UP = 0.2  # the share of incidents that are cancelled
REGISTERED_SECONDS = 1.0
LISTED_MAX = 1000
READ_MAX = 10_000  # events that somebody looks for loops in
Answer = TypeVar("Answer")


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants to run."""

    text: bytes
    name: str
    payload: dict[str, Any]
    waits_for_signal: bool = False  # some of its gates


class Acknowledged(Protocol):
    """Who remembers what was acknowledged."""

    def acknowledged_start(self, request_key: str, execution_id: int) -> None: ...

    def acknowledged_cancel(self, execution_id: int) -> None: ...

    def acknowledged_signal(self, execution_id: int, name: str) -> None: ...

    def answered(self, where: str, answer: bytes) -> None: ...


class Town(Protocol):
    """Where they live."""

    tape: Tape
    configuration: Configuration

    @property
    def checks(self) -> Acknowledged: ...

    def go(self, work: Coroutine[Any, Any, Any]) -> object:
        """Let somebody do this."""
        ...

    def learn(self, text: Text) -> None:
        """There is another playbook."""
        ...

    async def ask(self, do: Callable[[Desk], Awaitable[Answer]]) -> Answer:
        """Ask one of the servers. Raises what it answers, Unreachable if none does."""
        ...


class Users:
    """See above."""

    def __init__(self, town: Town, wishes: Sequence[Wish]) -> None:
        self.town = town
        self.wishes = wishes
        self.stream: Stream = town.tape.stream("users")
        self.started: dict[str, int] = {}  # request key → execution
        self.cancelled: set[int] = set()
        self.registered: dict[str, str] = {}  # sha of what was acknowledged → its path
        self._settling: set[int] = set()
        self._settled: set[int] = set()  # incidents that somebody has seen to
        self.waiting = len(wishes)  # users that are not through yet

    def plans(self) -> list[Coroutine[Any, Any, None]]:
        """What each of them does; drawn now, so that nothing they meet changes it."""
        found = []
        configuration, stream = self.town.configuration, self.stream
        for number, wish in enumerate(self.wishes):
            begin_at = stream.between(0.0, configuration.trouble_seconds / 2)
            cancel_after = stream.between(0.0, 10.0) if stream.chance(configuration.users_cancel) else None
            signal_after = stream.between(0.0, 6.0) if stream.chance(configuration.users_signal) else None
            rerun_at = stream.random() if stream.chance(configuration.users_rerun) else None
            found.append(self._user(number, wish, begin_at, cancel_after, signal_after, rerun_at))
            if wish.waits_for_signal:
                found.append(self._opener(f"wish-{number}", stream.between(begin_at, 2 * begin_at)))
        return found

    async def _user(
        self,
        number: int,
        wish: Wish,
        begin_at: float,
        cancel_after: float | None,
        signal_after: float | None,
        rerun_at: float | None,
    ) -> None:
        await asyncio.sleep(begin_at)
        execution_id = await self._start(f"wish-{number}", wish)
        if signal_after is not None:
            await asyncio.sleep(signal_after)
            await self._signal(execution_id, f"told_{number}", number)
        if cancel_after is not None:
            await asyncio.sleep(cancel_after)
            await self._cancel(execution_id)
        if rerun_at is not None:
            await asyncio.sleep(RERUN_AFTER_SECONDS * rerun_at)
            await self._rerun(execution_id, number, rerun_at)
        self.waiting -= 1

    async def _start(self, key: str, wish: Wish) -> int:
        request = RunRequest(data=wish.text, name=wish.name, payload=wish.payload, request_key=key)
        asked = [self._insist(lambda desk: desk.start(request))]
        rates = self.town.configuration.rates
        if self.town.tape.fires("users", rates.get("user.doubled", 0.0), "user.doubled"):
            asked.append(self._insist(lambda desk: desk.start(request)))
        found = [started.execution_id for started in await asyncio.gather(*asked)]
        for execution_id in found:
            self.town.checks.acknowledged_start(key, execution_id)
        self.started[key] = found[-1]
        return found[-1]

    async def _cancel(self, execution_id: int) -> None:
        try:
            await self._insist(lambda desk: desk.cancel(execution_id, "a user's wish"))
        except (WrongState, UnknownExecution):
            return  # it had ended, or the history it was in is no more
        self.cancelled.add(execution_id)
        self.town.checks.acknowledged_cancel(execution_id)

    async def _opener(self, key: str, seconds: float) -> None:
        """Somebody else, who lets go on what waits for a signal, if it was started by then; else see `open_gates`."""
        await asyncio.sleep(seconds)
        if key in self.started:
            await self.open_gates(self.started[key])

    async def open_gates(self, execution_id: int) -> None:
        await self._signal(execution_id, GATE_KEY, 1)

    async def _signal(self, execution_id: int, name: str, value: int) -> None:
        try:
            await self._insist(lambda desk: desk.signal(execution_id, {f"ctx.{name}": value}))
        except (WrongState, UnknownExecution):
            return
        self.town.checks.acknowledged_signal(execution_id, name)

    async def _rerun(self, execution_id: int, number: int, rerun_at: float) -> None:
        """Go on from some point of its log, as another execution."""

        async def point(desk: Desk) -> dict[str, Any]:
            row = await reading.row_of(desk.store, execution_id)
            step = await self._loop(desk, execution_id, is_any=number % 2 == 1)
            return {"from_step": step} if step else {"at": 1 + int(rerun_at * row.head)}

        await self._forked(execution_id, f"again-{number}", point)

    async def _mend(self, execution_id: int) -> None:
        """Go on with a loop that failed."""
        await asyncio.sleep(RERUN_AFTER_SECONDS)

        async def point(desk: Desk) -> dict[str, Any]:
            return {"from_step": await self._loop(desk, execution_id, is_any=False) or "none"}

        await self._forked(execution_id, f"mended-{execution_id}", point)
        self.waiting -= 1

    async def _forked(self, execution_id: int, key: str, point: Callable[[Desk], Awaitable[dict[str, Any]]]) -> None:
        async def again(desk: Desk) -> Started:
            request = RerunRequest(execution_id=execution_id, request_key=key, **await point(desk))
            return await rerun(desk, nothing_to_read, request)

        try:
            started = await self._insist(again)
        except NoetlError:
            return  # from there it cannot be gone on
        self.town.checks.acknowledged_start(key, started.execution_id)

    @staticmethod
    async def _loop(desk: Desk, execution_id: int, *, is_any: bool) -> str:
        """A step whose loop had an iteration end badly; else, if any will do, the last that looped."""
        events = [event for _, event in await desk.store.events(execution_id, 0, READ_MAX)]
        steps = {event.run: event.step for event in events if isinstance(event, LoopStarted)}
        bad = [steps[event.run] for event in events if isinstance(event, BAD_ENDS)]
        return bad[-1] if bad else [*steps.values()][-1] if is_any and steps else ""

    async def register(self, texts: Mapping[str, bytes]) -> None:
        """Now and then somebody registers another version of a playbook, which means the same: what runs keeps its own,
        what is called from then on is the new one. Not where a failover may lose a text, but not what began with it:
        see `World.register_all`."""
        tape, rates = self.town.tape, self.town.configuration.rates
        rate = 0.0 if rates.get("store.rewind") else rates.get("user.registers", 0.0)
        number = 0
        while not tape.is_calm:
            await asyncio.sleep(REGISTERED_SECONDS)
            hard = tape.strike("registering", rate, "user.registers")
            if hard is not None:
                path = list(texts)[int(hard * len(texts)) % len(texts)]
                number += 1
                self.town.go(self._register(path, texts[path] + b"# version %d\n" % number))

    async def _register(self, path: str, data: bytes) -> None:
        text = Text(data=data, name=f"{path}.yaml")
        self.town.learn(text)
        entry = await self._insist(lambda desk: desk.catalog.register(text))
        self.registered[entry.sha] = entry.path

    async def _insist(self, do: Callable[[Desk], Awaitable[Answer]]) -> Answer:
        """Ask until somebody answers."""
        while True:
            try:
                return await self.town.ask(do)
            except (*PASSING, InternalError):  # as by an answer of 503 or 500
                await asyncio.sleep(AGAIN_SECONDS)

    def hear_of_trouble(self, execution_id: int) -> None:
        """An execution is about to fail: now and then somebody cancels it just then."""
        if self.stream.chance(CANCELLED_IN_TROUBLE):
            self.town.go(self._cancel(execution_id))
        elif self.town.configuration.users_rerun and execution_id % 2:
            self.waiting += 1
            self.town.go(self._mend(execution_id))

    async def settle(self, execution_id: int) -> None:
        """Somebody on call goes on with an incident, or gives it up; nobody else does meanwhile. Whoever sees it again
        goes on with it: that must be enough."""
        if execution_id in self._settling:
            return
        self._settling.add(execution_id)
        try:
            if self.stream.chance(GIVEN_UP) and execution_id not in self._settled:
                await self._cancel(execution_id)
            else:
                await self._insist(lambda desk: desk.resume(execution_id))
        except NoetlError:
            return
        finally:
            self._settling.discard(execution_id)
            self._settled.add(execution_id)

    # --- when all is over --------------------------------------------------------------------------------------------

    async def read_all(self, execution_ids: Iterable[int]) -> None:
        """What people are shown has no secret, and the product's own audit of each log finds nothing."""
        listed = await self._insist(lambda desk: reading.listed(desk.store, LISTED_MAX))
        self.town.checks.answered("a list", msgspec.json.encode(listed))
        for sha, path in list(self.registered.items()):
            if await self._insist(lambda desk, sha=sha: desk.store.entry_by_sha(sha)) is None:  # type: ignore[misc]
                raise Violation("I13", f"a version of {path} was acknowledged that is not there")
        for execution_id in execution_ids:
            await self._read(execution_id)

    async def _read(self, execution_id: int) -> None:
        async def documents(desk: Desk) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
            shown = await reading.show(desk.store, execution_id)
            audit = await verify(desk.store, execution_id)
            return shown, audit, [one async for one in reading.envelopes(desk.store, execution_id, 0)]

        found = await self._insist(documents)
        self.town.checks.answered(f"what is shown of execution {execution_id}", msgspec.json.encode(found))
        for check in found[1]["checks"]:
            if not check["ok"]:
                invariant = check["name"].partition(" ")[0]
                raise Violation(invariant, f"the audit of execution {execution_id}: {check['detail']}", execution_id)


async def nothing_to_read(_execution_id: int, _reference: object) -> Any:
    raise AssertionError("what is gone on from a point of a log has its payload there")
