"""What simulated worlds found in the product, each as small as it can be said."""

import asyncio

import pytest

from noetl.control import turn
from noetl.control.requests import RerunRequest
from noetl.control.rerun import rerun
from noetl.engine import commands as ops
from noetl.testing.simulator import runs
from noetl.testing.simulator.case import CLUSTER, EMBEDDED, Case
from noetl.testing.simulator.reference.run import has_ballast
from noetl.testing.simulator.users import nothing_to_read
from tests.simulation.scenes import Scene

RETRIED = """\
workflow:
  - step: start
    tool:
      - name: one
        kind: python
        code: scripted
        input: {plays: {salt: 1, fails: [server_error]}}
        spec:
          policy:
            rules:
              - when: "{{ output.status == 'error' }}"
                then: {do: retry, attempts: 2, delay: 100.0}
              - else: {then: {do: continue}}
"""
CALLER = "workflow: [{step: start, tool: {name: call, kind: playbook, path: PATH}}]\n"
TWICE = """\
workflow:
  - step: start
    tool:
      - {name: first, kind: playbook, path: child}
      - {name: second, kind: playbook, path: child}
"""
SLOW = """\
workflow:
  - {step: start, tool: {name: one, kind: python, code: scripted, input: {plays: {salt: 1, seconds: 5.0}}}}
"""


@pytest.mark.parametrize("seed_of_clocks", range(3))
def test_workers_whose_clocks_are_an_hour_apart_wait_as_long_as_the_playbook_says(seed_of_clocks: int):
    scene = Scene({"retried": RETRIED}, clock_offset_seconds_max=3600.0, workers=3 + seed_of_clocks)

    async def play(scene: Scene) -> float:
        execution_id = await scene.start()
        begun = scene.world.loop.time()
        assert await scene.ended(execution_id) == "success"
        assert scene.names(execution_id).count("task.waiting") == 1
        return scene.world.loop.time() - begun

    assert 95.0 < scene.play(play) < 130.0


def test_a_clock_that_is_put_back_an_hour_makes_no_job_of_a_cluster_wait_longer():
    scene = Scene({"retried": RETRIED}, workers=2, servers=2)

    async def play(scene: Scene) -> float:
        execution_id = await scene.start()
        begun = scene.world.loop.time()
        await asyncio.sleep(2.0)
        for process in scene.world.running.values():
            process.clock.offset_seconds -= 3600.0
        assert await scene.ended(execution_id) == "success"
        return scene.world.loop.time() - begun

    assert 95.0 < scene.play(play) < 130.0


def failing_once(monkeypatch: pytest.MonkeyPatch, scene: Scene, path: str, operation: type) -> None:
    """The engine fails on the first such operation of an execution of that playbook."""
    left = [1]
    decide = turn.decide

    def decide_or_fail(playbook, net, state, op, now):
        if left and isinstance(op, operation) and playbook.path == path:
            left.pop()
            scene.world.planted.add(state.execution_id)
            raise RuntimeError("planted")
        return decide(playbook, net, state, op, now)

    monkeypatch.setattr(turn, "decide", decide_or_fail)


def test_taking_up_an_execution_takes_up_the_incidents_of_those_it_called_however_far_below(monkeypatch):
    scene = Scene({"top": CALLER.replace("PATH", "middle"), "middle": CALLER.replace("PATH", "low"), "low": SLOW})
    failing_once(monkeypatch, scene, "low", ops.Report)

    async def play(scene: Scene) -> list[str]:
        execution_id = await scene.start()
        await asyncio.sleep(20.0)
        before = [row.execution.status for row in scene.world.database.tables.executions.values()]
        await scene.ask(lambda desk: desk.resume(execution_id))
        assert await scene.ended(execution_id) == "success"
        return before

    assert scene.play(play) == ["running", "running", "incident"]


def test_a_start_gets_another_id_when_a_failover_lost_that_the_first_was_given():
    scene = Scene({"slow": SLOW}, servers=2)

    async def play(scene: Scene) -> list[int]:
        first = await scene.start()
        scene.world.database.tables.meta["execution_id"] = 0
        second = await scene.start(server=1)
        assert [await scene.ended(one) for one in (first, second)] == ["success", "success"]
        return [first, second]

    first, second = scene.play(play)
    assert first != second


def test_a_child_gets_another_id_when_a_failover_lost_that_its_server_had_reserved_it():
    scene = Scene({"twice": TWICE, "child": SLOW}, servers=2, workers=2)

    async def play(scene: Scene) -> list[str]:
        first = await scene.start()
        await asyncio.sleep(2.0)
        scene.world.database.tables.meta["execution_id"] = 2  # the blocks of ids for children are given anew
        others = [await scene.start(server=1) for _ in range(3)]
        return [await scene.ended(one) for one in (first, *others)]

    assert scene.play(play) == ["success"] * 4


def test_a_fork_under_an_id_that_a_failover_gave_back_has_nothing_of_the_execution_that_had_it_before():
    scene = Scene({"slow": SLOW})

    async def play(scene: Scene) -> object:
        source = await scene.start(key="source", wish="the source's")
        await scene.ended(source)
        scene.world.database.tables.settle()
        for node in scene.world.processes("worker"):
            scene.world.kill(node)  # or what they report would tell the server at once that it is no more
        lost = await scene.start(key="lost", wish="of a history that is no more")
        scene.world.rewind(8)
        request = RerunRequest(execution_id=source, at=4)
        forked = await scene.ask(lambda desk: rerun(desk, nothing_to_read, request))
        assert forked.execution_id == lost
        scene.world.check()
        await scene.ended(lost)
        return scene.log(lost)[0].payload["wish"]

    assert scene.play(play) == "the source's"


@pytest.mark.parametrize(
    ("seed", "shape"),
    [
        pytest.param(160802437301103, EMBEDDED, id="a-pipeline-of-seven-before-a-task-that-kills"),
        pytest.param(160802437302448, EMBEDDED, id="a-list-of-large-items-in-a-join"),
        pytest.param(160802437303815, CLUSTER, id="a-list-of-large-items-in-a-join-of-a-cluster"),
        pytest.param(27804746501118, EMBEDDED, id="an-attempt-ends-by-itself-once-and-hangs-when-it-is-run-again"),
        pytest.param(88800203687, EMBEDDED, id="tries-of-a-called-task-are-not-recorded-one-by-one"),
        pytest.param(77700101777, EMBEDDED, id="somebody-goes-on-with-a-loop-when-all-has-ended"),
        pytest.param(43942294503295, CLUSTER, id="a-called-task-hangs-and-its-rules-go-on"),
        pytest.param(43942294500335, EMBEDDED, id="a-called-task-hangs-and-its-rules-try-again"),
    ],
)
def test_a_check_asks_for_no_more_than_is_promised(seed: int, shape: str):
    verdict = runs.run(Case(seed=seed, shape=shape))

    assert verdict.violation is None


@pytest.mark.spec("TL-04", "RS-01")
@pytest.mark.parametrize(("seed", "shape"), [(77700104688, CLUSTER), (77700105501, EMBEDDED), (77700105536, EMBEDDED)])
def test_a_task_behind_a_child_that_stored_its_result_sees_the_same_on_every_worker(seed: int, shape: str):
    verdict = runs.run(Case(seed=seed, shape=shape))

    assert verdict.violation is None


@pytest.mark.spec("RS-01")
def test_a_list_with_a_large_item_in_it_is_a_reference_for_others():
    assert has_ballast([{"n": 1}, [{"n": 2, "pad": "x"}]])
    assert not has_ballast([{"n": 1}, [{"n": 2}]])
