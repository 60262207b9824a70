"""The contract of tools/contract.py as checks that every kind passes, ours and a plugin's.

Describe your tool in a `Specimen`, made by an async context manager that gets an empty folder, so that it can start a
server or write files first. List it as an `Entry` and let pytest run each check over it:

    LAB = {"lab": {"token": PLANTED_SECRET}}

    @asynccontextmanager
    async def quantum(folder: Path) -> AsyncIterator[Specimen]:
        async with simulator() as address:
            yield Specimen(
                kind=KIND,
                make=make,
                hands=hands(),
                good=call(KIND, circuit="h 0", backend=address),
                expected={"0": 512, "1": 512},
                final=call(KIND, circuit="no such gate", backend=address),
                retryable=call(KIND, circuit="h 0", backend="http://127.0.0.1:1"),
                late=call(KIND, circuit="wait", backend=address, total_seconds=0.2),
                endless=call(KIND, circuit="wait", backend=address),
                with_secret=(call(KIND, circuit="h 0", backend=address, auth="lab", credentials=LAB),),
                left_over=lambda: open_connections(address),
            )

    @pytest.mark.parametrize(("entry", "check"), pairs([Entry(name="quantum", open=quantum)]), ids=pair_name)
    async def test_a_tool_keeps_the_contract(entry, check, tmp_path):
        async with entry.open(tmp_path) as specimen:
            await check(specimen)

A call that the kind cannot have (a noop does not fail) is left out, and named in the entry's `without`.
"""
# ruff: noqa: S101 - a check asserts

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from noetl.dsl.kinds import Kind
from noetl.engine.output import ERROR_KINDS, Output
from noetl.testing.hands import run
from noetl.tools.contract import Call, Hands, Make, Tool

PLANTED_SECRET = "planted-Secret-7f3a91"  # noqa: S105 - it is there to be looked for
PLANTED_VARIABLE = "NOETL_PLANTED_TOKEN"
STOP_SECONDS_MAX = 10.0  # a slow machine's; what a tool stops is gone in milliseconds
POLL_SECONDS = 0.01
AT_ONCE = 20


def nothing() -> Collection[object]:
    return ()


def at_once() -> bool:
    return True


class Specimen(msgspec.Struct, frozen=True, kw_only=True):
    """A tool, and calls that show each side of it."""

    kind: Kind
    make: Make
    hands: Hands
    good: Call
    expected: Any  # output.data of `good`
    final: Call | None = None  # fails, and would fail again
    retryable: Call | None = None  # fails, and may succeed another time
    late: Call | None = None  # overruns a time-out of its own
    endless: Call | None = None  # goes on until it is cancelled
    is_under_way: Callable[[], bool] = at_once  # whether `endless` has started what a cancel must stop
    with_secret: tuple[Call, ...] = ()  # handle PLANTED_SECRET, which no output may show
    left_over: Callable[[], Collection[object]] = nothing  # what runs, or is open, because of the tool


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table of specimens."""

    name: str
    open: Callable[[Path], AbstractAsyncContextManager[Specimen]]
    without: frozenset[str] = frozenset()  # of final, retryable, late, endless, with_secret


Check = Callable[[Specimen], Awaitable[None]]


async def check_success(specimen: Specimen) -> None:
    """A call that can succeed gives its data, and the helper fields that the kind declares."""
    async with made(specimen) as tool:
        output = await run(tool, specimen.good)

        assert output.error is None, output.error
        assert output.data == specimen.expected
        if specimen.kind.helper:
            assert set(output.helpers) == {specimen.kind.helper}
            assert set(output.helpers[specimen.kind.helper]) == set(specimen.kind.helper_fields)


async def check_final_failure(specimen: Specimen) -> None:
    """A call that cannot succeed gives an error of a documented kind that asks for no retry."""
    async with made(specimen) as tool:
        output = await run(tool, needed(specimen.final))

        assert_failed(specimen.kind, output, retryable=False)


async def check_retryable_failure(specimen: Specimen) -> None:
    """A call that failed for a passing reason says that it may be tried again."""
    async with made(specimen) as tool:
        output = await run(tool, needed(specimen.retryable))

        assert_failed(specimen.kind, output, retryable=True)


async def check_time_out(specimen: Specimen) -> None:
    """TK-18: a call over its time is stopped: error.kind timeout, retryable, and nobody knows whether it happened."""
    async with made(specimen) as tool:
        before = await kept_warm(specimen, tool)
        output = await run(tool, needed(specimen.late), seconds_max=STOP_SECONDS_MAX)

        assert_failed(specimen.kind, output, retryable=True)
        assert output.error is not None
        assert output.error.kind == "timeout"
        assert not output.is_definite
        await until(lambda: is_nothing_new(specimen, before), "what was over its time goes on")


async def check_cancel(specimen: Specimen) -> None:
    """A cancelled call stops what it started before it ends, and the tool can be used as before."""
    async with made(specimen) as tool:
        before = await kept_warm(specimen, tool)
        running = begun(tool, needed(specimen.endless))
        await until(lambda: specimen.is_under_way() or running.done(), "the endless call does not start")
        assert not running.done(), f"the endless call ended: {running.result()}"
        specimen.left_over()  # a probe that must have seen a thing to know it again
        running.cancel()
        await asyncio.wait({running}, timeout=STOP_SECONDS_MAX)

        assert running.cancelled(), "a cancelled call must end with CancelledError"
        await until(lambda: is_nothing_new(specimen, before), "what was cancelled goes on")
        assert (await run(tool, specimen.good)).data == specimen.expected


async def check_many_at_once(specimen: Specimen) -> None:
    """Calls that run at the same time get an Output each, and their own."""
    async with made(specimen) as tool:
        outputs = await asyncio.gather(*(run(tool, specimen.good) for _ in range(AT_ONCE)))

        others = [output for output in outputs if output.data != specimen.expected]
        assert not others, f"{len(others)} of {AT_ONCE} got other data, such as {others[0]!r:.500}"


async def check_close(specimen: Specimen) -> None:
    """A closed tool leaves neither process nor connection, whether or not it was used."""
    before = specimen.left_over()
    async with made(specimen):
        pass
    async with made(specimen) as tool:
        await run(tool, specimen.good)
        specimen.left_over()

    await until(lambda: is_nothing_new(specimen, before), "a closed tool leaves something behind")


async def check_secret(specimen: Specimen) -> None:
    """A secret that a call handles, or that the worker has in its environment, is in no output."""
    assert specimen.with_secret, "no call with a secret: name with_secret in the entry's `without`"
    with planted_variable():
        async with made(specimen) as tool:
            for call in specimen.with_secret:
                output = await run(tool, call)

                assert PLANTED_SECRET not in repr(msgspec.to_builtins(output)), f"in the output of {call.task}"


CHECKS: tuple[tuple[Check, str], ...] = (
    (check_success, "good"),
    (check_final_failure, "final"),
    (check_retryable_failure, "retryable"),
    (check_time_out, "late"),
    (check_cancel, "endless"),
    (check_many_at_once, "good"),
    (check_close, "good"),
    (check_secret, "with_secret"),
)


def pairs(entries: Sequence[Entry]) -> list[tuple[Entry, Check]]:
    """Each entry with each check that is about it."""
    return [(entry, check) for entry in entries for check, needs in CHECKS if needs not in entry.without]


def pair_name(part: Any) -> str:
    """How pytest calls half a pair."""
    return part.name if isinstance(part, Entry) else str(part.__name__).removeprefix("check_")


@asynccontextmanager
async def made(specimen: Specimen) -> AsyncIterator[Tool]:
    tool = specimen.make(specimen.hands)
    try:
        yield tool
    finally:
        await asyncio.wait_for(tool.close(), STOP_SECONDS_MAX)


@contextmanager
def planted_variable() -> Iterator[None]:
    os.environ[PLANTED_VARIABLE] = PLANTED_SECRET
    try:
        yield
    finally:
        del os.environ[PLANTED_VARIABLE]


def needed(call: Call | None) -> Call:
    assert call is not None, "the specimen has no such call: name it in the entry's `without`"
    return call


def assert_failed(kind: Kind, output: Output, *, retryable: bool) -> None:
    """TK-19: a documented kind of error, or one that the tool declares as its own."""
    error = output.error
    assert error is not None, f"it succeeded with {output.data!r:.200}"
    assert error.kind in ERROR_KINDS or error.kind in kind.error_kinds, f"{error.kind} is not in KIND.error_kinds"
    assert error.retryable is retryable, error
    assert error.message, "an error says what went wrong"


def begun(tool: Tool, call: Call) -> asyncio.Future[Output]:
    """A call under way, with nothing around it that would answer a cancel in the tool's place."""
    answer = tool.run(call)
    assert not isinstance(answer, Output), "the endless call ended at once"
    return asyncio.ensure_future(answer)


async def kept_warm(specimen: Specimen, tool: Tool) -> Collection[object]:
    """What a tool keeps for its next call, such as a pool: it may have as much after any other call, and no more."""
    await run(tool, specimen.good)
    return specimen.left_over()


def is_nothing_new(specimen: Specimen, before: Collection[object]) -> bool:
    return set(specimen.left_over()) <= set(before)


async def until(is_so: Callable[[], bool], otherwise: str) -> None:
    """Wait for something outside this process, which can only be looked at again and again."""
    deadline = asyncio.get_running_loop().time() + STOP_SECONDS_MAX
    while not is_so():
        assert asyncio.get_running_loop().time() < deadline, otherwise
        await asyncio.sleep(POLL_SECONDS)
