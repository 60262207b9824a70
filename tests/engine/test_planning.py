"""Dynamic mode (RT-08): steps that a planner returns are checked, added to one execution's graph, and replayed."""

import msgspec
import pytest

from noetl.control.catalog import Loaded, Text, playbook_of
from noetl.control.planning import STEPS_MAX, BadPlan, extended, new_steps, steps_of
from noetl.control.verify import Audit, verify
from noetl.engine import commands as ops
from noetl.engine.net import Net
from noetl.tools.registry import declarations
from tests.control.parts import log_of, opened, run, state_of, text_of
from tests.engine.books import engine

BOOK = """
    workload: {{plan: []}}
    workflow:
      - step: think
        {spec}
        tool: [{{name: plan, kind: noop, input: {{steps: "{{{{ workload.plan }}}}"}}}}]
        next: {{arcs: [{{step: end}}]}}
      - step: end
        tool: [{{name: last, kind: noop, input: {{end: true}}}}]
"""
PLANNER = BOOK.format(spec="spec: {policy: {plan: true}}")
UNDOABLE = BOOK.format(
    spec="spec: {policy: {plan: true, compensation: {tool: [{name: undo, kind: noop, input: {undone: true}}]}}}"
)
NEW = {"step": "new", "tool": {"kind": "noop", "input": {"made": "{{ output.data.steps | length }}"}}}
BACK = {**NEW, "next": {"arcs": [{"step": "end"}]}}


def loaded(body=PLANNER):
    text = Text(data=text_of(body), name="t.yaml")
    playbook = playbook_of(text, declarations)
    return Loaded(playbook, Net(playbook), text)


def refused(plan):
    with pytest.raises(BadPlan) as caught:
        new_steps(loaded(), [], steps_of(plan), declarations)
    return str(caught.value)


async def planned(folder, plan, body=PLANNER):
    """The log of a run in which the planner returned this plan."""
    async with opened(folder) as parts:
        execution_id = await run(parts, body, plan=plan)
        assert (await verify(parts.store, execution_id))["is_equal"]
        return await log_of(parts, execution_id), await state_of(parts, execution_id)


def ran_steps(log):
    return [event.step for event in log if type(event).__name__ == "StepScheduled"]


# --- plans -----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RT-08")
@pytest.mark.parametrize("data", [[NEW], {"steps": [NEW]}], ids=["list", "mapping"])
def test_a_plan_is_a_list_of_steps_or_a_mapping_with_steps(data):
    assert steps_of(data) == [NEW]


@pytest.mark.spec("RT-08")
@pytest.mark.parametrize("data", [None, 5, "step: a", {}, {"steps": 1}, [1], [NEW, "x"]])
def test_anything_else_is_refused(data):
    with pytest.raises(BadPlan, match="a planner must return a list of steps"):
        steps_of(data)


@pytest.mark.spec("RT-08")
def test_a_plan_of_too_many_steps_is_refused():
    with pytest.raises(BadPlan, match=str(STEPS_MAX)):
        steps_of([NEW] * (STEPS_MAX + 1))


@pytest.mark.spec("RT-08")
@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"step": "new", "tool": {"kind": "nonsense"}}, "NL303"),
        ({"step": "new", "tool": {"kind": "noop"}, "next": {"arcs": [{"step": "nowhere"}]}}, "nowhere"),
        ({"step": "new", "tool": {"kind": "noop"}, "when": "{{ true }}"}, "when"),
        ({"tool": {"kind": "noop"}}, "NL2"),
        ({"step": "new", "tool": {"kind": "noop", "input": {"x": "{{ 1 +"}}}, "NL601"),
        ({"step": "end", "tool": {"kind": "noop"}}, "exist already: end"),
    ],
    ids=["unknown kind", "unknown target", "removed key", "no name", "bad template", "taken name"],
)
def test_a_plan_is_checked_like_any_playbook(step, message):
    assert message in refused([step])


@pytest.mark.spec("RT-08")
def test_planned_steps_stand_beside_those_of_the_playbook_and_change_none():
    base = loaded()
    found = base.playbook

    made = extended(base, [[BACK], [{**NEW, "step": "newer"}]], declarations)

    assert list(made.playbook.steps) == ["think", "end", "new", "newer"]
    assert [made.playbook.steps[name] is found.steps[name] for name in ("think", "end")] == [True, True]
    assert made.net.sources("end") == {"think", "new"}
    assert list(found.steps) == ["think", "end"]


@pytest.mark.spec("RT-08", "PB-06")
def test_planned_steps_see_the_workbook_and_the_defaults_of_their_playbook():
    base = loaded(
        PLANNER + "    workbook: {greet: {kind: noop, input: {text: hello}}}\n    executor: {spec: {pool: big}}\n"
    )

    made = extended(base, [[{"step": "new", "tool": {"kind": "workbook", "task": "greet"}}]], declarations)

    assert made.playbook.steps["new"].pool == "big"
    assert made.playbook.steps["new"].tasks[0].kind == "workbook"


# --- decisions -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RT-08", "RT-07")
def test_a_planner_asks_the_server_and_routes_nothing_until_its_plan_is_checked():
    made = engine(PLANNER, {"plan": [[NEW]]})
    made.start()
    made.run()

    [wanted] = [change for change in made.changes if isinstance(change, ops.PlanWanted)]
    assert (wanted.run, wanted.data) == (1, [NEW])
    assert made.names("next.evaluated") == []
    assert made.status == "running"


@pytest.mark.spec("RT-08")
def test_a_restart_asks_for_the_check_again():
    made = engine(PLANNER, {"plan": [[]]})
    made.start()
    made.run()

    made.crash()

    assert len([change for change in made.changes if isinstance(change, ops.PlanWanted)]) == 2


@pytest.mark.spec("RT-08", "EV-06")
def test_the_answer_to_a_plan_counts_once():
    made = engine(PLANNER, {"plan": [[]]})
    made.start()
    made.run()

    first, second = (made.do(ops.Planned(execution_id=1, run=1)) for _ in range(2))

    assert first
    assert second == []


@pytest.mark.spec("RT-08", "EV-05")
def test_the_log_of_a_planner_that_is_cancelled_while_its_plan_is_checked_verifies():
    made = engine(PLANNER, {"plan": [[NEW]]})
    made.start()
    made.run()
    made.cancel()

    audit = Audit(1)
    for seq, event in enumerate(made.log, 1):
        audit.read(seq, event)

    assert made.names("step.") == ["step.scheduled", "step.started", "step.done", "step.cancelled"]
    assert audit.faults == {}


# --- whole runs ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RT-08")
async def test_the_token_goes_to_the_first_planned_step_and_may_lead_back(tmp_path):
    log, state = await planned(tmp_path, [BACK])

    assert ran_steps(log) == ["think", "new", "end"]
    [extension] = [event for event in log if type(event).__name__ == "WorkflowExtended"]
    assert extension.steps == [BACK]
    assert state.status == "success"


@pytest.mark.spec("RT-08")
async def test_an_empty_plan_asks_the_planners_own_arcs(tmp_path):
    log, state = await planned(tmp_path, [])

    assert (ran_steps(log), state.status) == (["think", "end"], "success")


@pytest.mark.spec("RT-08")
async def test_a_plan_that_does_not_check_fails_the_workflow_and_says_why(tmp_path):
    log, state = await planned(tmp_path, [{"step": "new", "tool": {"kind": "nonsense"}}])

    assert (ran_steps(log), state.status) == (["think"], "failed")
    assert (state.error["kind"], state.error["step"]) == ("type", "think")
    assert "NL303" in state.error["message"]


@pytest.mark.spec("RT-08", "ST-12")
async def test_a_planner_whose_plan_is_refused_is_undone(tmp_path):
    log, state = await planned(tmp_path, 5, UNDOABLE)

    assert state.status == "failed"
    assert [event.task for event in log if type(event).__name__ == "TaskDone"] == ["plan", "undo"]


@pytest.mark.spec("RT-08")
async def test_a_planned_planner_may_plan_on(tmp_path):
    deeper = {
        "step": "deeper",
        "spec": {"policy": {"plan": True}},
        "tool": {"kind": "noop", "input": {"steps": [{"step": "deepest", "tool": {"kind": "noop"}}]}},
    }

    log, state = await planned(tmp_path, [deeper])

    assert (ran_steps(log), state.status) == (["think", "deeper", "deepest"], "success")


@pytest.mark.spec("RT-08")
async def test_a_plan_belongs_to_one_execution(tmp_path):
    async with opened(tmp_path) as parts:
        first = await run(parts, PLANNER, plan=[BACK])
        second = await run(parts, PLANNER, plan=[])

        assert ran_steps(await log_of(parts, first)) == ["think", "new", "end"]
        assert ran_steps(await log_of(parts, second)) == ["think", "end"]
        assert len(await parts.store.entries()) == 1


TWO_PLANNERS = """
    workload: {plan: []}
    workflow:
      - step: start
        tool: {kind: noop}
        next: {spec: {mode: inclusive}, arcs: [{step: left}, {step: right}]}
      - step: left
        spec: {policy: {plan: true}}
        tool: {kind: noop, input: {steps: "{{ workload.plan }}"}}
      - step: right
        spec: {policy: {plan: true}}
        tool: {kind: noop, input: {steps: "{{ workload.plan }}"}}
"""


@pytest.mark.spec("RT-08")
async def test_of_two_plans_with_the_same_steps_the_second_is_refused_and_no_other_execution_is_harmed(tmp_path):
    async with opened(tmp_path) as parts:
        clash = await run(parts, TWO_PLANNERS, plan=[{"step": "new", "tool": {"kind": "noop"}}])
        after = await run(parts, PLANNER, plan=[])

        state = await state_of(parts, clash)
        assert state.status == "failed"
        assert "exist already: new" in state.error["message"]
        assert (await state_of(parts, after)).status == "success"


@pytest.mark.spec("RT-08", "EV-05")
async def test_a_planned_step_goes_on_in_the_next_process(tmp_path):
    gate = {
        "admit": {
            "on_deny": "wait",
            "rules": [{"when": "{{ ctx.go }}", "then": {"allow": True}}, {"else": {"then": {"allow": False}}}],
        }
    }
    waiting = {**BACK, "spec": {"policy": gate}}
    async with opened(tmp_path) as parts:
        execution_id = await run(parts, PLANNER, plan=[waiting])

    async with opened(tmp_path) as parts:
        await parts.resume(execution_id)
        await parts.desk.signal(execution_id, {"ctx.go": True})
        await parts.until_quiet(execution_id)

        log, state = await log_of(parts, execution_id), await state_of(parts, execution_id)
        assert (ran_steps(log), state.status) == (["think", "new", "end"], "success")
        assert (await verify(parts.store, execution_id))["is_equal"]


@pytest.mark.spec("RT-08")
async def test_a_plan_too_large_for_an_event_says_so(tmp_path):
    large = [{"step": f"s{number}", "desc": "x" * 900, "tool": {"kind": "noop"}} for number in range(100)]

    _, state = await planned(tmp_path, large)

    assert state.status == "failed"
    assert "kept outside the log" in state.error["message"]
    assert len(msgspec.json.encode(large)) > 64 * 1024
