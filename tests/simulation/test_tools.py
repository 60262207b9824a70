"""Scripted tools: what a script says is done, the ledger keeps it, and a world may have its say."""

import asyncio

import pytest

from noetl.engine.output import failure
from noetl.testing.clocks import ClockByHand
from noetl.testing.hands import call as called
from noetl.testing.hands import hands, run
from noetl.testing.simulator.ledger import Ledger
from noetl.testing.simulator.playbooks.drawing import generated
from noetl.testing.simulator.playbooks.scripts import Circumstances, Script, disguised, outcome
from noetl.testing.simulator.tape import Stream
from noetl.testing.simulator.tools import CRASH, HANG, ScriptedKinds
from noetl.tools.noop import Noop
from tests.simulation.household import Household


class Given:
    """A world that does what a test says."""

    def __init__(self, before=None, after=None):
        self.said = (before, after)

    def before(self, call):
        return self.said[0]

    def after(self, call):
        return self.said[1]


def tool(kind="python", faults=None):
    kinds = ScriptedKinds(Ledger(), "worker.1", faults)
    return kinds, kinds.make_tool(kind, hands(clock=ClockByHand()))


def call_of(kinds, kind="python", plays=None, key="1:2:-1:task:3.0", **values):
    return called(kinds[kind], idempotency_key=key, plays={"salt": 7, **(plays or {})}, **values)


async def test_the_same_attempt_gives_the_same_and_another_one_something_else():
    kinds, made = tool()
    first = await run(made, call_of(kinds, x=1))
    again = await run(made, call_of(kinds, x=1))
    other = await run(made, call_of(kinds, x=2))

    assert first == again
    assert first.data["by"] == "task::3:1"
    assert first.data["n"] != other.data["n"]


async def test_a_tool_says_whose_result_it_was_given():
    kinds, made = tool()
    first = await run(made, call_of(kinds))

    second = await run(made, call_of(kinds, previous=first.data))

    assert second.data["saw"] == first.data["by"]
    assert [(line.saw, line.gave) for line in kinds.ledger] == [(None, "task::3:1"), ("task::3:1", "task::3:1")]


@pytest.mark.parametrize(
    ("error_kind", "status", "is_retryable", "is_definite", "retry_after_seconds"),
    [
        ("server_error", 503, True, True, None),
        ("rate_limit", 429, True, True, 2.0),
        ("not_found", 404, False, True, None),
        ("connection", None, True, False, None),
    ],
)
async def test_an_error_is_told_as_its_kind_would(error_kind, status, is_retryable, is_definite, retry_after_seconds):
    kinds, made = tool("http")

    output = await run(made, call_of(kinds, "http", {"fails_always": error_kind}))

    assert (output.error.kind, output.error.retryable, output.is_definite) == (error_kind, is_retryable, is_definite)
    assert output.helpers.get("http", {}).get("status") == status
    assert output.retry_after_seconds == retry_after_seconds


def test_a_script_fails_the_attempts_and_iterations_it_names():
    script = Script(salt=1, fails=["server_error"], only=[1])

    kinds = [
        outcome(script, Circumstances(label="a", indexes=(index,), attempt=attempt)).error_kind
        for index in (0, 1)
        for attempt in (1, 2)
    ]

    assert kinds == ["", "", "server_error", ""]


async def test_time_and_size_are_what_the_script_says():
    kinds, made = tool()

    output = await run(made, call_of(kinds, plays={"seconds": 2.5, "pad_bytes": 300}))

    assert made.clock.now() == ClockByHand().now() + 2.5
    assert len(output.data["pad"]) == 300


@pytest.mark.spec("KC-05")
async def test_a_tool_tells_its_secret_where_its_script_says_so():
    kinds, made = tool()
    plays = {"tells": ["plain", "long", "base64", "error", "log"]}

    output = await run(made, call_of(kinds, plays=plays, secret="canary-1"))
    refused = await run(made, call_of(kinds, plays={**plays, "fails_always": "not_found"}, secret="canary-1"))

    assert output.data["told"] == {
        "plain": "canary-1",
        "long": "Bearer canary-1, as it was given",
        "base64": "Y2FuYXJ5LTE=",
    }
    assert output.logs == refused.logs == ("logged in with canary-1",)
    assert "canary-1" in refused.error.message


async def test_a_planner_gives_the_steps_of_its_script_with_their_templates():
    kinds, made = tool()
    steps = [{"step": "new", "tool": [{"kind": "noop", "input": {"x": "{{ ctx.a }}"}}]}]

    output = await run(made, call_of(kinds, plays={"plan": disguised(steps)}))

    assert "{{" not in disguised(steps)
    assert output.data["steps"] == steps


async def test_a_tool_that_hangs_ends_by_its_time_out_and_one_whose_worker_died_never_does():
    for said in (Given(before=HANG), Given(before=CRASH), Given(after=CRASH)):
        kinds, made = tool(faults=said)

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await run(made, call_of(kinds))

        assert len(kinds.ledger) == 1


async def test_the_ledger_knows_what_was_done_whatever_became_of_it():
    lines = []
    for said in (Given(), Given(before=HANG), Given(before=CRASH), Given(after=CRASH)):
        kinds, made = tool(faults=said)
        waiting = asyncio.ensure_future(run(made, call_of(kinds)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        (line,) = kinds.ledger
        lines.append((line.is_finished, kinds.ledger.is_disturbed(line.execution_id)))

    assert lines == [(True, False), (False, True), (False, False), (True, False)]


async def test_the_world_may_answer_in_place_of_a_tool():
    answer = failure("connection", "the world's")
    kinds, made = tool(faults=Given(before=answer))

    assert await run(made, call_of(kinds)) is answer
    assert kinds.ledger.is_disturbed(1)


def test_no_kind_runs_that_reaches_out_of_the_world():
    kinds, _ = tool()

    assert isinstance(kinds.make_tool("noop", hands()), Noop)
    with pytest.raises(AssertionError, match="no kind: postgres"):
        kinds.make_tool("postgres", hands())


def test_a_run_leaves_a_line_for_every_attempt_with_its_key():
    household = Household(generated(Stream(5, "playbook"), 6))

    execution_id = household.run()

    lines = household.ledger.of(execution_id)
    done = {(event.task, event.visit, event.attempt) for event in household.logs[execution_id] if hasattr(event, "do")}
    assert lines
    assert {(line.task, int(line.task_run_id.rpartition(":")[2]), line.attempt) for line in lines} <= done
    assert all(household.ledger.runs(execution_id, line.task_run_id, line.attempt) == 1 for line in lines)
