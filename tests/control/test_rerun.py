"""Rerun: a new execution that keeps what came before a point, and goes on from there with other values or text."""

from pathlib import Path
from typing import Any

import pytest

from noetl.control import reading
from noetl.control.live import folded
from noetl.control.requests import RerunRequest, RunRequest
from noetl.control.rerun import rerun
from noetl.control.verify import verify
from noetl.embedded import Embedded
from noetl.engine.events import timestamp
from noetl.engine.state import State
from noetl.errors import RequestError, WrongState
from tests.control.parts import begin, log_of, names_of, opened, run, text_of

CHAIN = """
workload: {factor: 2}
workflow:
  - step: first
    tool: {kind: noop, input: {value: 1}}
    set: {ctx.first: 1}
    next: {arcs: [{step: second}]}
  - step: second
    tool:
      kind: python
      code: "return input['x'] * input['factor']"
      input: {x: "{{ ctx.first }}", factor: "{{ workload.factor }}"}
    set: {ctx.second: "{{ output.data }}"}
"""


async def again(parts: Embedded, execution_id: int, **wanted: Any) -> State:
    started = await rerun(parts.desk, parts.access.read_by, RerunRequest(execution_id=execution_id, **wanted))
    await parts.until_quiet(started.execution_id)
    return await folded(parts.store, started.execution_id)


@pytest.mark.spec("EV-05")
async def test_steps_before_the_point_are_kept_and_not_run_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as parts:
        source = await run(parts, CHAIN)

        forked = await again(parts, source, from_step="second", set={"factor": 10, "ctx.first": 5})

        names = await names_of(parts, forked.execution_id)
        assert (forked.status, forked.ctx) == ("success", {"first": 5, "second": 50})
        assert forked.forked_from == source
        assert names.count("execution.forked") == 1
        assert [event.task for event in await log_of(parts, forked.execution_id)].count("first") <= 2
        assert (await verify(parts.store, forked.execution_id))["is_equal"]
        assert (await folded(parts.store, source)).ctx == {"first": 1, "second": 2}


async def test_a_fork_began_when_it_was_asked_for_and_took_its_own_time(tmp_path: Path) -> None:
    async with opened(tmp_path) as parts:
        source = await run(parts, CHAIN)

        forked = await again(parts, source, from_step="second")

        shown = await reading.show(parts.store, forked.execution_id)
        told = await reading.summary(parts.store, forked.execution_id, [])
        own_ms = round((forked.ended_at - forked.created_at) * 1000)
        assert shown["created_at"] == timestamp(forked.created_at)
        assert (shown["duration_ms"], told["duration_ms"]) == (own_ms, own_ms)


async def test_the_same_request_key_again_is_the_same_fork(tmp_path: Path) -> None:
    async with opened(tmp_path) as parts:
        source = await run(parts, CHAIN)

        forks = [await again(parts, source, from_step="second", request_key="once") for _ in range(2)]

        assert len({fork.execution_id for fork in forks}) == 1
        with pytest.raises(RequestError, match="use another key"):
            await again(parts, source, from_step="second", request_key="once", data=text_of(CHAIN, "other"))


async def test_without_a_point_it_begins_anew_with_changed_values(tmp_path: Path) -> None:
    async with opened(tmp_path) as parts:
        source = await run(parts, CHAIN, factor=3)

        anew = await again(parts, source, set={"factor": 7})

        shown = await reading.show(parts.store, anew.execution_id)
        assert (anew.ctx, anew.forked_from) == ({"first": 1, "second": 7}, 0)
        assert shown["forked_from"] == {"execution_id": str(source), "seq": 0}


async def test_a_failed_step_goes_on_with_a_mended_playbook(tmp_path: Path) -> None:
    broken = CHAIN.replace("return input['x']", "return 1 / 0 + input['x']")
    async with opened(tmp_path) as parts:
        source = await run(parts, broken)
        assert (await folded(parts.store, source)).status == "failed"

        mended = await again(parts, source, from_step="second", data=text_of(CHAIN), name="mended.yaml")

        assert (mended.status, mended.ctx["second"]) == ("success", 2)


async def test_a_child_is_called_anew_by_a_fork(tmp_path: Path) -> None:
    body = """
    workflow:
      - step: call
        tool: {kind: playbook, path: stored/child}
        set: {ctx.child: "{{ output.data }}"}
    """
    child = "workflow: [{step: only, tool: {kind: python, code: return 7}}]"
    async with opened(tmp_path) as parts:
        await parts.desk.register(RunRequest(data=text_of(child, "stored/child"), name="child.yaml"))
        source = await run(parts, body)
        waiting = (await names_of(parts, source)).index("task.waiting") + 1

        forked = await again(parts, source, at=waiting)

        children = await parts.store.children(forked.execution_id)
        assert (forked.ctx, len(children)) == ({"child": 7}, 1)


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"from_step": "nowhere"}, "did not run"),
        ({"from_step": "first", "at": 4}, "name one of them"),
        ({"at": 1}, "is from 3 to"),
        ({"at": 100_000}, "is from 3 to"),
        ({"set": {"ctx.a": 1}}, "name a step"),
        ({"from_step": "second", "set": {"ctx": {"first": 1}}}, r"name a value of it: ctx\.NAME"),
        (
            {"from_step": "second", "data": text_of("workflow: [{step: other, tool: {kind: noop}}]")},
            "lacks: second; keep its name, or go on from an earlier step",
        ),
    ],
)
async def test_what_cannot_be_continued_is_refused_with_the_reason(
    tmp_path: Path, wanted: dict[str, Any], why: str
) -> None:
    async with opened(tmp_path) as parts:
        source = await run(parts, CHAIN)

        with pytest.raises(RequestError, match=why):
            await rerun(parts.desk, parts.access.read_by, RerunRequest(execution_id=source, **wanted))


async def test_the_end_of_a_log_is_no_point_to_go_on_from(tmp_path: Path) -> None:
    async with opened(tmp_path) as parts:
        source = await run(parts, CHAIN)
        head = len(await log_of(parts, source))

        with pytest.raises(WrongState, match="had ended"):
            await rerun(parts.desk, parts.access.read_by, RerunRequest(execution_id=source, at=head))


async def test_of_a_log_that_is_too_long_an_early_point_can_be_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noetl.control.rerun.EVENTS_MAX", 8)
    async with opened(tmp_path) as parts:
        source = await run(parts, CHAIN)

        forked = await again(parts, source, at=8)

        assert forked.status == "success"
        for point, why in (({"from_step": "second"}, r"keeps up to 8; name an earlier event"), ({"at": 9}, "up to 8$")):
            with pytest.raises(RequestError, match=why):
                await again(parts, source, **point)


async def test_every_point_of_a_log_leads_to_the_same_end(tmp_path: Path) -> None:
    loop = """
    workflow:
      - step: each
        loop: {in: "{{ [1, 2, 3] }}", iterator: n, spec: {mode: parallel}}
        tool: {kind: noop}
        set: {ctx.last: 1}
        next: {arcs: [{step: after}]}
      - step: after
        tool: {kind: noop}
        set: {ctx.total: "{{ each.loop.done }}"}
    """
    async with opened(tmp_path) as parts:
        source = await run(parts, loop)
        finished = (await names_of(parts, source)).index("workflow.finished") + 1

        totals = [(await again(parts, source, at=at)).ctx for at in range(3, finished)]

        assert totals == [{"last": 1, "total": 3}] * len(totals)
        assert await begin(parts, loop) > source


NEST = """
workload: {}
workflow:
  - step: start
    loop: {in: [1, 2], iterator: outer, loop: {in: [1], iterator: inner}}
    tool: {kind: noop}
"""
UNHANDLED = """
workload: {}
workflow:
  - step: start
    tool: {kind: python, code: "raise ValueError('no')"}
"""


@pytest.mark.spec("EV-05")
@pytest.mark.parametrize(
    ("body", "status", "seam"),
    [
        (NEST, "success", ("loop.done", "loop.iteration.done")),
        (UNHANDLED, "failed", ("next.evaluated", "workflow.failing")),
    ],
    ids=["an inner loop and its iteration", "a failure and its consequence"],
)
async def test_a_point_between_two_events_that_belong_together_is_the_one_after_them(
    tmp_path: Path, body: str, status: str, seam: tuple[str, str]
) -> None:
    async with opened(tmp_path) as parts:
        source = await run(parts, body)
        names = await names_of(parts, source)
        at = next(seq for seq in range(1, len(names)) if tuple(names[seq - 1 : seq + 1]) == seam)

        forked = await again(parts, source, at=at)

        assert forked.status == status
        assert (await names_of(parts, forked.execution_id))[: at + 2] == [*names[: at + 1], "execution.forked"]


GATED = """
workflow:
  - step: start
    tool: {kind: noop}
    next: {spec: {mode: inclusive}, arcs: [{step: opens}, {step: gated}]}
  - step: opens
    tool: {kind: noop}
    set: {ctx.is_open: true}
  - step: gated
    spec:
      policy:
        admit: {rules: [{when: "{{ ctx.is_open is defined }}", then: {allow: true}}, {else: {then: {allow: false}}}]}
    tool: {kind: noop}
    set: {ctx.passed: true}
"""


@pytest.mark.spec("ST-05")
async def test_a_gate_that_was_opened_opens_from_every_point(tmp_path: Path) -> None:
    async with opened(tmp_path) as parts:
        source = await run(parts, GATED)
        names = await names_of(parts, source)
        assert "step.waiting" in names

        ends = [(await again(parts, source, at=at)).ctx for at in range(3, names.index("workflow.finished") + 1)]
        ends.append((await again(parts, source, from_step="gated")).ctx)

        assert ends == [{"is_open": True, "passed": True}] * len(ends)


async def test_a_gate_that_waits_for_a_signal_in_the_new_text_waits(tmp_path: Path) -> None:
    closed = GATED.replace("{ctx.is_open: true}", "{ctx.other: true}")
    async with opened(tmp_path) as parts:
        source = await run(parts, closed)
        at = (await names_of(parts, source)).index("step.waiting") + 1
        patient = text_of(closed.replace("admit: {rules", "admit: {on_deny: wait, rules"))

        forked = await again(parts, source, at=at, data=patient, name="patient.yaml")

        assert [token.is_for_signal for token in forked.tokens.values()] == [True]


PLANS = """
workflow:
  - step: plans
    spec: {policy: {plan: true}}
    tool: {kind: python, code: "return [{'step': 'added', 'tool': {'kind': 'noop'}, 'set': {'ctx.added': 1}}]"}
"""


async def test_steps_that_were_planned_run_from_every_point(tmp_path: Path) -> None:
    async with opened(tmp_path) as parts:
        source = await run(parts, PLANS)
        finished = (await names_of(parts, source)).index("workflow.finished") + 1

        ends = [(await again(parts, source, at=at)).ctx for at in range(3, finished)]

        assert ends == [{"added": 1}] * len(ends)


async def test_planned_steps_that_do_not_go_with_a_text_are_a_reason(tmp_path: Path) -> None:
    other = text_of(
        PLANS.replace("tool:", "next: {arcs: [{step: added}]}\n    tool:") + "  - {step: added, tool: {kind: noop}}"
    )
    async with opened(tmp_path) as parts:
        source = await run(parts, PLANS)

        with pytest.raises(RequestError, match=r"planned that do not go with this playbook: .* exist already: added"):
            await again(parts, source, from_step="added", data=other, name="other.yaml")


async def test_a_gate_that_failed_is_asked_again(tmp_path: Path) -> None:
    broken = GATED.replace("{{ ctx.is_open is defined }}", "{{ 1 / workload.divisor }}")
    async with opened(tmp_path) as parts:
        source = await run(parts, broken, divisor=0)
        assert (await folded(parts.store, source)).status == "failed"

        mended = await again(parts, source, is_from_failed=True, set={"divisor": 1})

        assert (mended.status, mended.ctx["passed"]) == ("success", True)


# --- texts that cannot go on -----------------------------------------------------------------------------------------

FLAT = """
workflow:
  - step: first
    tool: [{name: one, kind: noop}, {name: two, kind: noop}]
    next: {arcs: [{step: last}]}
  - step: last
    tool: {kind: noop}
"""
LOOPED = FLAT.replace("tool: [", "loop: {in: [1], iterator: n}\n    tool: [")
BARE = FLAT.replace("    tool: [{name: one, kind: noop}, {name: two, kind: noop}]\n", "")
SAGA = """
workload: {city: Atlantis}
workflow:
  - step: book
    spec: {policy: {compensation: {tool: {name: unbook, kind: noop}}}}
    tool: {kind: noop}
    next: {arcs: [{step: ship}]}
  - step: ship
    tool: {kind: python, input: {city: "{{ workload.city }}"}, code: "assert input['city'] != 'Atlantis'"}
"""
SHIPS_ONLY = """
workload: {city: Atlantis}
workflow:
  - step: ship
    tool: {kind: noop}
"""


@pytest.mark.parametrize(
    ("before", "after", "point", "why"),
    [
        (LOOPED, FLAT, ("step.scheduled", 0), 'step "first" is under way, and this playbook has no loop there; go on'),
        (LOOPED, FLAT, ("step.started", 0), 'step "first" is under way, and this playbook has no loop there'),
        (FLAT, LOOPED, ("step.scheduled", 0), 'step "first" is under way, and this playbook has a loop there'),
        (FLAT, BARE, ("task.started", 0), '"first" is at one, which this playbook lacks'),
        (SAGA, SHIPS_ONLY, ("task.started", 1), "are to be undone if it fails: book; keep its name"),
        (SAGA, SAGA.replace("unbook", "give_back"), ("task.started", 2), '"book" is at unbook, which this playbook'),
    ],
    ids=["a loop to begin", "a loop without its list", "a loop now", "no tasks", "to be undone", "being undone"],
)
async def test_a_text_that_lacks_what_is_under_way_is_refused(
    tmp_path: Path, before: str, after: str, point: tuple[str, int], why: str
) -> None:
    async with opened(tmp_path) as parts:
        source = await run(parts, before)
        places = [seq for seq, name in enumerate(await names_of(parts, source), 1) if name == point[0]]

        with pytest.raises(RequestError, match=why):
            await again(parts, source, at=places[point[1]], data=text_of(after), name="after.yaml")


@pytest.mark.spec("ST-12")
async def test_what_was_undone_is_not_taken_for_done(tmp_path: Path) -> None:
    async with opened(tmp_path) as parts:
        source = await run(parts, SAGA)
        before = (await names_of(parts, source)).index("workflow.failing") - 6

        for point in ({"is_from_failed": True}, {"from_step": "ship"}):
            with pytest.raises(WrongState, match=r"has undone .*: book; go on from the first of them \(--from book\)"):
                await again(parts, source, set={"city": "Oslo"}, **point)

        ends = [
            await again(parts, source, set={"city": "Oslo"}, **to) for to in ({"from_step": "book"}, {"at": before})
        ]
        assert [end.status for end in ends] == ["success", "success"]
