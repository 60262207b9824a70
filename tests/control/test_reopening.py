"""A loop that failed goes on in a rerun: through store, pump and worker, and what is shown of it."""

from pathlib import Path
from typing import Any

import pytest

from noetl.control import reading
from noetl.control.requests import RerunRequest
from noetl.control.rerun import rerun
from noetl.control.verify import verify
from noetl.embedded import Embedded
from noetl.engine.events import TaskStarted
from noetl.errors import RequestError
from tests.control.parts import log_of, names_of, opened, run, text_of
from tests.control.test_rerun import again

LOOP = """
workload: {bad: [3], reach: 5}
workflow:
  - step: load
    spec: {policy: {failure: {mode: fail_fast}}}
    loop:
      in: "{{ range(workload.reach) }}"
      iterator: n
      spec: {mode: parallel, max_in_flight: 2, policy: {reducers: {ctx.all: append}}}
    tool:
      - {name: first, kind: noop, input: {n: "{{ n }}"}}
      - name: put
        kind: noop
        input: {n: "{{ n }}"}
        set: {ctx.all: "{{ n }}"}
        spec: {policy: {rules: [{when: "{{ n in workload.bad }}", then: {do: fail}}, {else: {then: {do: continue}}}]}}
    next: {arcs: [{step: after}]}
  - step: after
    tool: {kind: noop}
    set: {ctx.data: "{{ load.data | length }}"}
"""
ALL = [0, 1, 2, 3, 4]


async def own_tasks(parts: Embedded, execution_id: int) -> list[int]:
    """The iterations whose first task began after the fork."""
    log = await log_of(parts, execution_id)
    start = (await names_of(parts, execution_id)).index("execution.forked")
    return [one.iter for one in log[start:] if isinstance(one, TaskStarted) and one.task == "first"]


@pytest.mark.spec("EV-05")
@pytest.mark.parametrize("point", [{"from_step": "load"}, {"is_from_failed": True}])
async def test_only_what_failed_or_had_not_begun_is_run(tmp_path: Path, point: dict[str, Any]) -> None:
    async with opened(tmp_path) as parts:
        source = await run(parts, LOOP)

        forked = await again(parts, source, set={"bad": []}, **point)

        assert (forked.status, forked.ctx) == ("success", {"all": ALL, "data": 5})
        assert set(await own_tasks(parts, forked.execution_id)) <= {3, 4}
        assert (await verify(parts.store, forked.execution_id))["is_equal"]
        shown = await reading.show(parts.store, forked.execution_id)
        assert shown["forked_from"]["execution_id"] == str(source)
        assert shown["runs"][0]["loop"] == {"total": 5, "done": 5, "failed": 0, "in_flight": 0}


async def test_all_of_it_is_run_where_all_of_it_is_asked_for(tmp_path: Path) -> None:
    async with opened(tmp_path) as parts:
        source = await run(parts, LOOP)

        forked = await again(parts, source, is_from_failed=True, is_whole=True, set={"bad": [], "reach": 2})

        assert (forked.status, forked.ctx) == ("success", {"all": [0, 1], "data": 2})


async def test_a_loop_that_ended_with_failed_iterations_does_those_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as parts:
        source = await run(parts, LOOP.replace("fail_fast", "best_effort"), bad=[1, 3])

        forked = await again(parts, source, from_step="load", set={"bad": []})

        assert (forked.status, forked.ctx["all"]) == ("success", ALL)
        assert await own_tasks(parts, forked.execution_id) == [1, 3]


async def test_a_rerun_that_fails_again_is_gone_on_with_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as parts:
        source = await run(parts, LOOP)
        second = await again(parts, source, is_from_failed=True)
        assert second.status == "failed"

        third = await again(parts, second.execution_id, is_from_failed=True, set={"bad": []})

        assert (third.status, third.ctx["all"]) == ("success", ALL)
        assert third.forked_from == second.execution_id
        assert (await verify(parts.store, third.execution_id))["is_equal"]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("iterator: n", "iterator: other", 'calls its element "other", not "n"'),
        ("mode: parallel, max_in_flight: 2, ", "mode: sequential, ", "another mode"),
        ("{reducers: {ctx.all: append}}", "{reducers: {ctx.all: union}}", "another reducers"),
    ],
)
async def test_a_text_that_cannot_go_on_with_the_loop_is_refused(
    tmp_path: Path, before: str, after: str, why: str
) -> None:
    async with opened(tmp_path) as parts:
        source = await run(parts, LOOP)
        other = text_of(LOOP.replace(before, after).replace("{{ n", "{{ other" if "other" in after else "{{ n"))

        with pytest.raises(RequestError, match=why):
            await rerun(
                parts.desk,
                parts.access.read_by,
                RerunRequest(execution_id=source, is_from_failed=True, data=other, name="other.yaml"),
            )


async def test_a_text_without_the_loop_or_with_a_nest_is_refused(tmp_path: Path) -> None:
    nested = LOOP.replace('in: "{{ range(workload.reach) }}"', "in: [1, 2]\n      loop: {in: [1], iterator: inner}")
    bare = "workflow: [{step: load, tool: {kind: noop}}]"
    async with opened(tmp_path) as parts:
        source = await run(parts, LOOP)

        for text, why in ((nested, "nests its loops deeper"), (bare, "has no loop there")):
            with pytest.raises(RequestError, match=why):
                await again(parts, source, is_from_failed=True, data=text_of(text), name="other.yaml")
