"""kind: python — level inline: code in the worker itself, where an operator allowed it, and what that costs."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from noetl.engine.output import Output
from noetl.testing.hands import call, hands, run
from noetl.testing.tool_suite import until
from noetl.tools import python
from noetl.tools.contract import Tool, ToolSettings
from tests.tools.python_parts import KIND, error_of, one_slot_tool, value


@pytest_asyncio.fixture
async def inline_tool() -> AsyncIterator[Tool]:
    made = python.make(hands(settings=ToolSettings(process_slots=2, is_inline_allowed=True)))
    try:
        yield made
    finally:
        await made.close()


INLINE = {"isolation": "inline"}


async def test_inline_is_refused_unless_an_operator_allowed_it():
    async with one_slot_tool() as tool:
        output = await run(tool, call(KIND, code="result = 1", spec=INLINE))

    assert error_of(output)[0] == "exception"
    assert "NOETL_PYTHON_INLINE" in error_of(output)[1]


async def test_inline_code_runs_in_the_worker_and_its_value_is_that_of_any_level(inline_tool):
    assert await value(inline_tool, "import os; result = (os.getpid(), {2, 1})", spec=INLINE) == [os.getpid(), [1, 2]]
    assert await value(inline_tool, "async def main(a): return a + 1", a=1, spec=INLINE) == 2
    assert await value(inline_tool, "return a", a=[1], spec=INLINE) == [1]


async def test_inline_code_cannot_change_what_the_engine_holds(inline_tool):
    rows = [{"id": 1}]

    await value(inline_tool, "rows[0]['id'] = 2", rows=rows, spec=INLINE)

    assert rows == [{"id": 1}]


async def test_inline_code_prints_and_fails_as_elsewhere(inline_tool, capsys):
    output = await run(inline_tool, call(KIND, code="print('so far')\nimport sys\nsys.exit(3)", spec=INLINE))

    assert output.logs == ("so far",)
    assert output.error.details["traceback"] == ["line 3: sys.exit(3)"]
    assert capsys.readouterr().out == ""


@pytest.mark.spec("KC-05")
async def test_what_inline_code_writes_by_itself_is_kept_and_the_worker_writes_as_before(inline_tool, capsys):
    code = "import sys\nsys.stdout.write('out\\n')\nsys.stderr.write('err\\n')\nresult = sys.stdout.isatty()"

    output = await run(inline_tool, call(KIND, code=code, spec=INLINE))
    print("the worker's own")

    assert (output.logs, output.data) == (("out", "err"), False)
    assert capsys.readouterr() == ("the worker's own\n", "")


async def test_inline_code_over_its_time_is_abandoned_and_when_it_holds_all_slots_others_fail_at_once(
    inline_tool, tmp_path
):
    wait = "import time, pathlib\nwhile not pathlib.Path(gate).exists(): time.sleep(0.01)\nresult = 1"
    gate = tmp_path / "gate"
    late = [await run(inline_tool, call(KIND, code=wait, gate=str(gate), spec=INLINE, total_seconds=0.1)) for _ in "12"]
    refused = await run(inline_tool, call(KIND, code="result = 1", spec=INLINE))
    gate.touch()
    await until(lambda: inline_tool.runners.inline._abandoned_count == 0, "the abandoned code does not end")
    after = await run(inline_tool, call(KIND, code="result = 1", spec=INLINE))

    assert {error_of(output)[0] for output in late} == {"timeout"}
    assert "cannot be stopped" in error_of(late[0])[1]
    assert error_of(refused)[0] == "limit"
    assert after.data == 1


async def waited_for(tool: Tool, code: str) -> Output:
    return await tool.run(call(KIND, code=code, spec=INLINE))


async def test_inline_code_that_is_cancelled_when_it_has_just_ended_holds_no_slot(inline_tool, monkeypatch):
    inline = inline_tool.runners.inline
    asked = asyncio.ensure_future(waited_for(inline_tool, "result = 1"))
    hand_over = inline._hand_over

    def hand_over_and_cancel():
        hand_over()
        asked.cancel()

    monkeypatch.setattr(inline, "_hand_over", hand_over_and_cancel)
    await asyncio.wait([asked])

    assert asked.cancelled()
    assert inline._abandoned_count == 0


WORKER = """
import asyncio
from noetl.testing.hands import call, hands, run
from noetl.tools import python
from noetl.tools.contract import ToolSettings

tool = python.make(hands(settings=ToolSettings(is_inline_allowed=True)))
spec = {"isolation": "inline"}
code = call(python.KIND, code="while True: pass", spec=spec, total_seconds=0.1)
print(asyncio.run(run(tool, code)).error.kind)
"""


async def test_abandoned_code_does_not_keep_a_worker_from_ending():
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", WORKER], capture_output=True, text=True, timeout=30
    )

    assert (done.stdout.strip(), done.returncode) == ("timeout", 0), done.stderr
