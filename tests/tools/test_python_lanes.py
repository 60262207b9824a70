"""kind: python — quick code asked by the handful: every call gets its own answer, and none pays for another."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from noetl.engine.output import Output
from noetl.testing.hands import call, run
from noetl.testing.tool_suite import until
from noetl.tools.contract import Tool
from noetl.tools.lane_pool import QUEUE_SECONDS_MAX, UNDER_WAY_MAX, Lanes
from tests.tools.python_parts import KIND, error_of, one_slot_tool, slots_tool

CALLS = 40
WARM_UPS_MAX = 1_000
NOTE = "with open(path, 'a') as file: file.write(f'{n} ')\n"
GIVES_IT_BACK = "result = n"
DIES_AT_FIVE = f"import os\n{NOTE}if n == 5: os._exit(3)\nresult = n"
HANGS_AT_FIVE = f"{NOTE}while n == 5: pass\nresult = n"
HANGS_AT_ONE = f"{NOTE}while n == 1: pass\nresult = n"
WAITS_AT_NOUGHT_AND_ONE = (
    f"import os, time\n{NOTE}while n in (0, 1) and not os.path.exists(gate + str(n)): time.sleep(0.01)\nresult = n"
)
WAITS_AT_NOUGHT = f"import os, time\n{NOTE}while n == 0 and not os.path.exists(gate): time.sleep(0.01)\nresult = n"


@pytest_asyncio.fixture
async def tool() -> AsyncIterator[Tool]:
    async with one_slot_tool() as made:
        yield made


async def warm(tool: Tool, code: str, folder: Path) -> None:
    """Let the pool see that this code is quick."""
    for _ in range(WARM_UPS_MAX):
        await asked(tool, code, -1, folder, name="warm_up")
        if tool.runners.children._paces[code] < QUEUE_SECONDS_MAX / 4:
            return
    pytest.fail("this machine is too busy for quick code")


async def asked(
    tool: Tool, code: str, n: int, folder: Path, *, name: str = "noted", total_seconds: float | None = None
) -> Output:
    given = {"n": n, "path": str(folder / name), "gate": str(folder / "gate")}
    return await run(tool, call(KIND, code=code, total_seconds=total_seconds, **given))


def noted(folder: Path) -> list[int]:
    """Which calls were run, as often as they were."""
    file = folder / "noted"
    return sorted(map(int, file.read_text().split())) if file.exists() else []


def under_way(tool: Tool) -> int:
    children: Lanes = tool.runners.children
    return max((len(lane.under_way) for lane in children.busy), default=0)


async def test_quick_code_goes_by_the_handful_and_every_call_gets_its_own_answer(tool, tmp_path):
    await warm(tool, GIVES_IT_BACK, tmp_path)
    calls = [asyncio.ensure_future(asked(tool, GIVES_IT_BACK, n, tmp_path)) for n in range(CALLS)]
    beside: list[int] = []
    for one in calls:
        one.add_done_callback(lambda _: beside.append(under_way(tool)))

    outputs = await asyncio.gather(*calls)

    assert [output.data for output in outputs] == list(range(CALLS))
    assert max(beside) > 1


async def test_code_that_nobody_knows_has_its_child_for_itself(tool, tmp_path):
    calls = [asyncio.ensure_future(asked(tool, WAITS_AT_NOUGHT, n, tmp_path)) for n in range(3)]
    await until(lambda: noted(tmp_path) == [0], "the code does not run")

    assert under_way(tool) == 1

    (tmp_path / "gate").touch()
    await asyncio.gather(*calls)


@pytest.mark.spec("TK-18")
@pytest.mark.parametrize(
    ("code", "total_seconds", "error"),
    [
        (DIES_AT_FIVE, None, ("exception", "the process of the code ended with exit code 3 before there was a result")),
        (HANGS_AT_FIVE, 2.0, ("timeout", "the code was stopped: it ran longer than 2 s (spec.timeout)")),
    ],
)
async def test_a_call_that_takes_its_child_along_fails_alone_and_the_others_run_once(
    tool, tmp_path, code, total_seconds, error
):
    await warm(tool, code, tmp_path)

    calls = (asked(tool, code, n, tmp_path, total_seconds=total_seconds) for n in range(CALLS))
    outputs = await asyncio.gather(*calls)

    assert [n for n, output in enumerate(outputs) if output.error] == [5]
    assert error_of(outputs[5]) == error
    assert [output.data for output in outputs if not output.error] == [n for n in range(CALLS) if n != 5]
    assert noted(tmp_path) == list(range(CALLS))


async def test_what_is_cancelled_behind_slow_code_is_never_run(tool, tmp_path):
    await warm(tool, WAITS_AT_NOUGHT, tmp_path)
    calls = [asyncio.ensure_future(asked(tool, WAITS_AT_NOUGHT, n, tmp_path)) for n in range(UNDER_WAY_MAX)]
    await until(lambda: noted(tmp_path) == [0] and under_way(tool) > 1, "nothing waits behind the slow call")

    for each in calls[1:-1]:
        each.cancel()
    await asyncio.wait(calls[1:-1])
    (tmp_path / "gate").touch()
    first, last = await asyncio.gather(calls[0], calls[-1])

    assert (first.data, last.data) == (0, UNDER_WAY_MAX - 1)
    assert noted(tmp_path) == [0, UNDER_WAY_MAX - 1]


async def test_what_a_child_gives_back_is_asked_wherever_there_is_a_slot(tmp_path):
    async with slots_tool(2) as tool:
        await warm(tool, WAITS_AT_NOUGHT_AND_ONE, tmp_path)
        beside = asyncio.ensure_future(asked(tool, WAITS_AT_NOUGHT, 0, tmp_path, name="beside"))
        await until((tmp_path / "beside").exists, "the code beside does not run")
        calls = [asyncio.ensure_future(asked(tool, WAITS_AT_NOUGHT_AND_ONE, n, tmp_path)) for n in range(3)]
        await until(lambda: noted(tmp_path) == [0] and under_way(tool) == 3, "nothing waits behind the slow call")
        (tmp_path / "gate").touch()
        await beside

        (tmp_path / "gate0").touch()
        await until(lambda: noted(tmp_path) == [0, 1, 2], "what is given back waits for one child")
        (tmp_path / "gate1").touch()
        outputs = await asyncio.gather(*calls)

    assert [output.data for output in outputs] == [0, 1, 2]


async def test_what_is_withdrawn_behind_quick_code_holds_up_nobody_and_the_others_run_once(tool, tmp_path):
    await warm(tool, HANGS_AT_ONE, tmp_path)
    calls = [asyncio.ensure_future(asked(tool, HANGS_AT_ONE, n, tmp_path)) for n in range(4)]
    while under_way(tool) < len(calls):  # no answer was heard yet, so the first is the oldest
        await asyncio.sleep(0)

    calls[1].cancel()
    async with asyncio.timeout(10):
        outputs = await asyncio.gather(calls[0], *calls[2:])

    assert [output.data for output in outputs] == [0, 2, 3]
    assert [n for n in noted(tmp_path) if n != 1] == [0, 2, 3]


async def test_closing_ends_what_is_under_way_and_what_waits(tmp_path):
    async with one_slot_tool() as tool:
        calls = [asyncio.ensure_future(asked(tool, WAITS_AT_NOUGHT, 0, tmp_path)) for _ in range(3)]
        await until(lambda: noted(tmp_path) == [0], "the code does not run")

    outputs = await asyncio.gather(*calls)

    assert [error_of(output)[0] for output in outputs] == ["exception"] * 3


async def test_closing_ends_what_waits_behind_another_and_says_that_it_did(tmp_path):
    async with one_slot_tool() as tool:
        await warm(tool, WAITS_AT_NOUGHT, tmp_path)
        calls = [asyncio.ensure_future(asked(tool, WAITS_AT_NOUGHT, n, tmp_path)) for n in range(3)]
        await until(lambda: noted(tmp_path) == [0] and under_way(tool) == 3, "nothing waits behind the slow call")

    async with asyncio.timeout(10):
        outputs = await asyncio.gather(*calls)

    ended, *unbegun = (error_of(output)[1] for output in outputs)
    assert "was ended: the worker stops" in ended
    assert all("was not started: the worker stops" in message for message in unbegun)
    assert noted(tmp_path) == [0]


async def test_a_pool_that_is_closed_starts_nothing(tmp_path):
    async with one_slot_tool() as tool:
        pass

    output = await asked(tool, GIVES_IT_BACK, 1, tmp_path)

    assert "was not started: the worker stops" in error_of(output)[1]
