"""What the tests of kind python share."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from noetl.engine.output import Output
from noetl.testing.hands import call, hands, run
from noetl.tools import python
from noetl.tools.contract import Tool, ToolSettings

KIND = python.KIND
CREDENTIALS = {"pg": {"password": "p"}, "api": {"token": "t"}}


@asynccontextmanager
async def one_slot_tool() -> AsyncIterator[Tool]:
    """One slot, so that each call of a test meets the child that the call before it left."""
    async with slots_tool(1) as tool:
        yield tool


@asynccontextmanager
async def slots_tool(slots: int) -> AsyncIterator[Tool]:
    tool = python.make(hands(settings=ToolSettings(process_slots=slots, result_bytes_max=64 * 1024)))
    try:
        yield tool
    finally:
        await tool.close()


async def value(tool: Tool, code: str, **values: Any) -> Any:
    output = await run(tool, call(KIND, code=code, credentials=CREDENTIALS, **values))
    assert output.error is None, output.error
    return output.data


async def failed(tool: Tool, code: str, **values: Any) -> Output:
    output = await run(tool, call(KIND, code=code, credentials=CREDENTIALS, **values))
    assert output.error is not None, output.data
    return output


def error_of(output: Output) -> tuple[str, str]:
    assert output.error is not None, output.data
    return output.error.kind, output.error.message
