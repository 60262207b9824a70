"""The tool suite finds the tools that break the contract: each of these does, in one way."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from typing import ClassVar

import pytest
import pytest_asyncio

from noetl.dsl.kinds import Field, Kind
from noetl.engine.output import Output, failure
from noetl.testing import tool_suite
from noetl.testing.hands import call, hands
from noetl.testing.processes import Processes
from noetl.testing.tool_suite import PLANTED_SECRET, Entry, Specimen, pairs
from noetl.tools.contract import Call, Hands

KIND = Kind(
    name="quantum",
    summary="For this test.",
    fields=(Field(name="does"),),
    error_kinds={"quantum.decohered": "it was looked at"},
)


class Quantum:
    """Does what a call asks for; this one keeps the contract."""

    def __init__(self, hands: Hands) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []

    async def run(self, call: Call) -> Output:
        does = call.input["does"]
        if does == "wait":
            return await self.wait(call.total_seconds)
        return {
            "succeed": Output(data=1),
            "fail": failure("quantum.decohered", "it was looked at"),
            "fail for now": failure("connection", "the lab does not answer", retryable=True),
            "log in": Output(data="in"),
        }[does]

    async def wait(self, seconds: float | None) -> Output:
        process = subprocess.Popen(["sleep", "1000"])
        self.processes.append(process)
        try:
            await asyncio.wait_for(asyncio.Event().wait(), seconds)
            raise AssertionError("nobody sets it")
        except TimeoutError:
            return failure("timeout", "it took too long", retryable=True, is_definite=False)
        finally:
            self.stop(process)

    def stop(self, process: "subprocess.Popen[bytes]") -> None:
        process.kill()
        process.wait()

    async def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


class Leaving(Quantum):
    def stop(self, process: "subprocess.Popen[bytes]") -> None:
        """Leaves it for close."""


class NeverCancelled(Quantum):
    async def wait(self, seconds: float | None) -> Output:
        try:
            return await super().wait(seconds)
        except asyncio.CancelledError:
            return failure("cancelled", "it was cancelled")


class Unknown(Quantum):
    async def run(self, call: Call) -> Output:
        return failure("sadness", "it did not feel like it", retryable=call.input["does"] == "fail for now")


class Telling(Quantum):
    async def run(self, call: Call) -> Output:
        return failure("auth", f"the token {PLANTED_SECRET} is wrong")


class Unclosed(Quantum):
    left: ClassVar["list[subprocess.Popen[bytes]]"] = []

    async def run(self, call: Call) -> Output:
        self.left.append(subprocess.Popen(["sleep", "1000"]))
        return await super().run(call)


def specimen(make: type[Quantum]) -> Specimen:
    probe = Processes()
    return Specimen(
        kind=KIND,
        make=make,
        hands=hands(),
        good=call(KIND, does="succeed"),
        expected=1,
        final=call(KIND, does="fail"),
        retryable=call(KIND, does="fail for now"),
        late=call(KIND, does="wait", total_seconds=0.05),
        endless=call(KIND, does="wait"),
        is_under_way=lambda: bool(probe()),
        with_secret=(call(KIND, does="log in"),),
        left_over=probe,
    )


CHECKS = [check for check, _ in tool_suite.CHECKS]


@pytest.mark.spec("TL-02")
@pytest.mark.parametrize("check", CHECKS, ids=tool_suite.pair_name)
async def test_a_tool_that_keeps_the_contract_passes(check):
    await check(specimen(Quantum))


@pytest_asyncio.fixture
async def impatient(monkeypatch) -> AsyncIterator[None]:
    """A check that waits for what never comes need not wait long here."""
    monkeypatch.setattr(tool_suite, "STOP_SECONDS_MAX", 0.3)
    yield
    for process in Unclosed.left:
        process.kill()
        process.wait()
    Unclosed.left.clear()


@pytest.mark.parametrize(
    ("check", "make", "said"),
    [
        (tool_suite.check_success, Unknown, "sadness"),
        (tool_suite.check_final_failure, Unknown, "sadness"),
        (tool_suite.check_retryable_failure, Unknown, "sadness"),
        (tool_suite.check_many_at_once, Unknown, "other data"),
        (tool_suite.check_time_out, Leaving, "what was over its time goes on"),
        (tool_suite.check_cancel, Leaving, "what was cancelled goes on"),
        (tool_suite.check_cancel, NeverCancelled, "must end with CancelledError"),
        (tool_suite.check_secret, Telling, "in the output of"),
        (tool_suite.check_close, Unclosed, "a closed tool leaves something behind"),
    ],
)
async def test_a_tool_that_breaks_the_contract_fails(impatient, check, make, said):
    with pytest.raises(AssertionError, match=said):
        await check(specimen(make))


def test_a_check_that_an_entry_cannot_meet_is_left_out():
    entry = Entry(name="quantum", open=lambda folder: None, without=frozenset(("late", "endless")))

    left_out = set(CHECKS) - {check for _, check in pairs([entry])}

    assert left_out == {tool_suite.check_time_out, tool_suite.check_cancel}
