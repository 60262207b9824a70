"""How an execution ends: failure, best effort, cancel, time, compensation (RT-05, ST-07, ST-12)."""

import pytest

from noetl.engine.commands import Expire, JobAdded, TimerSet
from noetl.engine.output import failure
from tests.engine.books import engine, ran

BROKEN = failure("server_error", "no")
FORK = """
    executor: {executor}
    workflow:
      - step: start
        tool: {{kind: noop}}
        next: {{spec: {{mode: inclusive}}, arcs: [{{step: bad}}, {{step: good}}]}}
      - {{step: bad, tool: [{{name: break_it, kind: noop}}]}}
      - {{step: good, tool: [{{name: do_it, kind: noop}}], next: {{arcs: [{{step: after}}]}}}}
      - {{step: after, tool: [{{name: last, kind: noop}}]}}
"""
BEST_EFFORT = "{spec: {policy: {failure: {mode: best_effort}}}}"


def steps_of(made, name):
    return [event.step for event in made.events(name)]


def labels(made):
    return [invocation.task.label for invocation in made.invocations]


# --- failure ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RT-05", "ST-07")
def test_a_failure_that_no_arc_handles_cancels_what_runs():
    made = ran(FORK.format(executor="{}"), {"break_it": BROKEN})

    assert made.status == "failed"
    assert (steps_of(made, "step.cancelled"), labels(made)[1:]) == (["good"], ["break_it"])
    assert made.state.counts["good"].status == "cancelled"


@pytest.mark.spec("RT-05", "ST-07")
def test_under_best_effort_running_branches_finish_and_the_workflow_fails_all_the_same():
    made = ran(FORK.format(executor=BEST_EFFORT), {"break_it": BROKEN})

    assert (made.status, steps_of(made, "step.cancelled")) == ("failed", [])
    assert labels(made)[1:] == ["break_it", "do_it", "last"]
    assert made.state.error["kind"] == "server_error"


@pytest.mark.spec("RT-05")
def test_under_best_effort_the_first_failure_is_the_one_that_is_told():
    made = ran(
        FORK.format(executor=BEST_EFFORT),
        {"break_it": failure("server_error", "first"), "do_it": failure("client_error", "second")},
    )

    assert (made.status, made.state.error["message"]) == ("failed", "first")
    assert len(made.events("workflow.failing")) == 1


@pytest.mark.spec("ST-07")
@pytest.mark.parametrize(("mode", "invoked"), [("fail_fast", 1), ("best_effort", 3)])
def test_the_failure_mode_of_a_step_is_that_of_its_loop(mode, invoked):
    made = ran(
        f"""
        workflow:
          - step: start
            spec: {{policy: {{failure: {{mode: {mode}}}}}}}
            loop: {{in: [1, 2, 3], iterator: n}}
            tool: [{{name: each, kind: noop}}]
        """,
        {"each": [BROKEN, "b", "c"]},
    )

    assert len(made.invocations) == invoked
    assert made.status == ("failed" if mode == "fail_fast" else "success")


# --- cancel ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RT-05")
def test_a_cancel_ends_all_that_runs_and_waits_in_one_go():
    made = engine(FORK.format(executor="{}"))
    made.start()
    made.run_job(1, -1)

    made.cancel()

    assert made.status == "cancelled"
    assert steps_of(made, "step.cancelled") == ["bad", "good"]
    assert (made.state.runs, made.state.tokens, made.ready()) == ({}, {}, [])
    assert made.state.error["kind"] == "cancelled"


def test_a_cancel_ends_the_iterations_of_a_loop_in_a_loop():
    made = engine(
        """
        workflow:
          - step: start
            loop:
              in: [1, 2]
              iterator: outer
              spec: {mode: parallel}
              loop: {in: [1, 2, 3], iterator: inner, spec: {mode: parallel}}
            tool: {kind: noop}
        """
    )
    made.start()
    made.run_job(*made.ready()[0])

    made.cancel()

    started, done = (len(made.events(f"loop.iteration.{word}")) for word in ("started", "done"))
    assert len(made.events("loop.iteration.cancelled")) == started - done == 7
    assert (made.status, made.state.runs) == ("cancelled", {})


def test_a_second_cancel_says_nothing_new():
    made = engine(COMPENSATED)
    made.answers = {"make_a": 1}
    made.start()
    made.run_job(1, -1)
    made.cancel()

    made.cancel()

    assert len(made.events("playbook.cancel.requested")) == 1


@pytest.mark.spec("ST-06")
def test_a_cancel_ends_what_waits_for_a_signal():
    made = ran(
        """
        workflow:
          - step: start
            spec: {policy: {admit: {on_deny: wait, rules: [{else: {then: {allow: false}}}]}}}
            tool: {kind: noop}
        """
    )
    before = made.status

    made.cancel()

    assert (before, made.status) == ("waiting", "cancelled")
    assert steps_of(made, "step.skipped") == ["start"]


# --- time ------------------------------------------------------------------------------------------------------------

TIMED = """
    workflow:
      - step: start
        spec: {policy: {lifecycle: {timeout_s: 5, deadline_s: 20}}}
        tool: [{name: slow, kind: noop}, {name: more, kind: noop}]
        next: {arcs: [{step: end}, {step: mend, when: "{{ event.name == 'step.failed' }}"}]}
      - {step: end, tool: {kind: noop}}
      - {step: mend, tool: [{name: mended, kind: noop, input: {error: "{{ output.error }}"}}]}
"""


def timers(made):
    return {timer.message.split()[0]: timer.at for timer in made.changes if isinstance(timer, TimerSet)}


@pytest.mark.spec("ST-07")
def test_deadline_counts_from_the_scheduling_and_timeout_from_the_start():
    made = engine(TIMED)
    made.start()
    scheduled_at = made.events("step.scheduled")[0].ts
    of_schedule = timers(made)
    made.now += 7
    made.run_job(1, -1, tasks=1)
    started_at = made.events("step.started")[0].ts

    assert of_schedule == {"lifecycle.deadline_s": scheduled_at + 20}
    assert timers(made)["lifecycle.timeout_s"] == started_at + 5
    assert started_at - scheduled_at >= 7


@pytest.mark.spec("ST-07")
def test_a_step_over_its_time_fails_with_a_timeout_that_arcs_can_handle():
    made = engine(TIMED)
    made.start()
    made.run_job(1, -1, tasks=1)

    made.do(Expire(execution_id=1, run=1, kind="timeout", message="lifecycle.timeout_s has passed"))
    made.run()

    error = made.invocations[-1].input["error"]
    assert (error["kind"], error["step"], error["retryable"]) == ("timeout", "start", True)
    assert "timeout_s" in error["message"]
    assert (made.status, steps_of(made, "step.scheduled")) == ("success", ["start", "mend"])


@pytest.mark.spec("ST-07")
def test_a_deadline_may_pass_while_the_step_is_still_in_the_queue():
    made = engine(
        "workflow: [{step: start, spec: {policy: {lifecycle: {deadline_s: 20}}}, tool: {kind: noop}}]",
    )
    made.start()

    made.do(Expire(execution_id=1, run=1, kind="timeout", message="lifecycle.deadline_s has passed"))

    assert (made.status, made.state.error["kind"]) == ("failed", "timeout")


@pytest.mark.spec("ST-07")
def test_a_deadline_ends_the_iterations_of_a_loop():
    made = engine(
        """
        workflow:
          - step: start
            spec: {policy: {lifecycle: {deadline_s: 20}}}
            loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel}}
            tool: {kind: noop}
        """
    )
    made.start()
    made.run_job(1, 0)

    made.do(Expire(execution_id=1, run=1, kind="timeout", message="lifecycle.deadline_s has passed"))

    assert len(made.events("loop.iteration.cancelled")) == 2
    assert made.names("loop.done", "step.failed") == ["step.failed"]
    assert made.status == "failed"


@pytest.mark.spec("ST-07")
def test_a_timer_of_a_step_that_has_ended_does_nothing():
    made = ran(TIMED)
    before = len(made.log)
    again = engine(TIMED)
    again.start()
    again.run_job(1, -1)

    events = again.do(Expire(execution_id=1, run=1, kind="timeout", message="late"))

    assert (made.status, before) == ("success", len(made.log))
    assert events == []


def test_a_job_lost_too_often_fails_its_step():
    made = engine("workflow: [{step: start, tool: {kind: noop}}]")
    made.start()

    made.do(Expire(execution_id=1, run=1, kind="worker_lost", message="its worker was lost 5 times in a row"))

    assert (made.status, made.state.error["kind"]) == ("failed", "worker_lost")


def test_an_iteration_lost_too_often_fails_alone():
    made = engine(
        """
        workflow:
          - step: start
            spec: {policy: {failure: {mode: best_effort}}}
            loop: {in: [1, 2], iterator: n, spec: {mode: parallel}}
            tool: [{name: each, kind: noop}]
        """,
        {"each": "x"},
    )
    made.start()

    made.do(Expire(execution_id=1, run=1, iter=0, kind="worker_lost", message="lost"))
    made.run()

    assert made.status == "success"
    assert made.state.output["data"] == [None, "x"]


# --- compensation ----------------------------------------------------------------------------------------------------

COMPENSATED = """
    workload: {who: me}
    workflow:
      - step: a
        input: {who: "{{ workload.who }}"}
        spec:
          policy:
            compensation:
              tool: [{name: undo_a, kind: noop, input: {id: "{{ output.data }}", who: "{{ input.who }}"}}]
        tool: [{name: make_a, kind: noop}]
        set: {ctx.step_of: a}
        next: {arcs: [{step: b}]}
      - step: b
        input: {parent: "{{ output.data }}", at: "{{ ctx.step_of }}"}
        spec:
          policy:
            compensation:
              tool:
                - name: undo_b
                  kind: noop
                  input: {id: "{{ output.data }}", from: "{{ input.parent }}", at: "{{ input.at }}"}
                - {name: tell_b, kind: noop, input: {was: "{{ _prev }}"}}
        tool: [{name: make_b, kind: noop}]
        set: {ctx.step_of: b}
        next: {arcs: [{step: c}]}
      - step: c
        spec: {policy: {compensation: {tool: [{name: undo_c, kind: noop}]}}}
        tool: [{name: make_c, kind: noop}]
"""
MADE = {"make_a": "A", "make_b": "B", "make_c": BROKEN, "undo_b": "undone"}


@pytest.mark.spec("ST-12")
def test_finished_steps_are_undone_in_reverse_order_of_completion_when_the_workflow_fails():
    made = ran(COMPENSATED, MADE)

    assert labels(made) == ["make_a", "make_b", "make_c", "undo_b", "tell_b", "undo_a"]
    [compensating] = made.events("workflow.compensating")
    assert compensating.runs == [2, 1]
    assert [event.compensates for event in made.events("step.scheduled")][-2:] == [2, 1]
    assert (made.status, made.state.error["kind"]) == ("failed", "server_error")


@pytest.mark.spec("ST-12")
def test_a_compensation_sees_what_its_step_gave_and_the_input_it_had():
    made = ran(COMPENSATED, MADE)

    inputs = {one.task.label: one.input for one in made.invocations}
    assert inputs["undo_a"] == {"id": "A", "who": "me"}
    assert inputs["undo_b"] == {"id": "B", "from": "A", "at": "a"}
    assert inputs["tell_b"] == {"was": "undone"}


@pytest.mark.spec("ST-12")
def test_steps_are_undone_after_a_cancel_too():
    made = engine(COMPENSATED, MADE)
    made.start()
    made.run_job(1, -1)
    made.run_job(2, -1)

    made.cancel()
    meanwhile = made.status
    made.run()

    assert (meanwhile, made.status) == ("running", "cancelled")
    assert labels(made) == ["make_a", "make_b", "undo_b", "tell_b", "undo_a"]
    assert steps_of(made, "step.cancelled") == ["c"]


@pytest.mark.spec("ST-12")
def test_nothing_is_undone_when_the_workflow_succeeds():
    made = ran(COMPENSATED, {**MADE, "make_c": "C"})

    assert (made.status, labels(made)) == ("success", ["make_a", "make_b", "make_c"])


@pytest.mark.spec("ST-12")
def test_a_compensation_that_fails_does_not_stop_the_others():
    made = ran(COMPENSATED, {**MADE, "undo_b": BROKEN})

    assert labels(made)[3:] == ["undo_b", "undo_a"]
    assert (made.status, made.state.error["task"]) == ("failed", "make_c")


@pytest.mark.spec("ST-12")
def test_compensation_goes_on_after_a_restart():
    made = engine(COMPENSATED, MADE)
    made.start()
    for run in (1, 2, 3, 4):
        made.run_job(run, -1)
    made.crash()
    made.run()

    assert labels(made)[3:] == ["undo_b", "tell_b", "undo_a"]
    assert made.status == "failed"


@pytest.mark.spec("ST-12")
def test_each_run_of_a_step_is_undone():
    made = ran(
        """
        workflow:
          - step: start
            spec: {policy: {compensation: {tool: [{name: undo, kind: noop, input: {n: "{{ input.n }}"}}]}}}
            tool: [{name: make, kind: noop}]
            input: {n: "{{ ctx.n | default(1) }}"}
            next:
              arcs:
                - {step: start, when: "{{ (ctx.n | default(1)) < 3 }}", set: {ctx.n: "{{ (ctx.n | default(1)) + 1 }}"}}
                - {step: end}
          - {step: end, tool: [{name: broken, kind: noop}]}
        """,
        {"broken": BROKEN},
    )

    assert [one.input["n"] for one in made.invocations if one.task.label == "undo"] == [3, 2, 1]


@pytest.mark.spec("ST-12", "ST-10")
def test_undoing_a_step_is_no_boundary_of_it_for_the_authors_events():
    emit = "emit: {events: [{name: placed, on: step.done}, {name: asked, on: step.scheduled}]}"
    body = COMPENSATED.replace("          policy:\n", f"          policy:\n            {emit}\n", 1)

    made = ran(body, MADE)

    assert (made.names("placed"), made.names("asked")) == (["placed"], ["asked"])


@pytest.mark.spec("ST-12")
def test_a_compensation_routes_nothing_and_counts_as_no_run():
    made = ran(COMPENSATED, MADE)

    assert len(made.events("next.evaluated")) == 3
    assert {name: count.runs for name, count in made.state.counts.items()} == {"a": 1, "b": 1, "c": 1}


@pytest.mark.spec("ST-12", "RT-11")
def test_a_step_whose_own_guard_raised_is_undone():
    body = COMPENSATED.replace("next: {arcs: [{step: c}]}", 'next: {arcs: [{step: c, when: "{{ ctx.no.such > 1 }}"}]}')

    made = ran(body, MADE)

    assert labels(made) == ["make_a", "make_b", "undo_b", "tell_b", "undo_a"]


@pytest.mark.spec("ST-12", "ST-07")
def test_under_best_effort_steps_are_undone_when_all_branches_have_ended():
    body = FORK.format(executor=BEST_EFFORT).replace(
        "{step: good,", "{step: good, spec: {policy: {compensation: {tool: [{name: undo, kind: noop}]}}},"
    )

    made = ran(body, {"break_it": BROKEN})

    assert labels(made)[1:] == ["break_it", "do_it", "last", "undo"]


# --- incidents -------------------------------------------------------------------------------------------------------


def test_five_restarts_in_a_row_without_a_step_forward_are_an_incident():
    made = engine("workflow: [{step: start, tool: {kind: noop}}]")
    made.start()

    for _ in range(5):
        made.crash()

    assert made.status == "incident"
    assert "5 times in a row" in made.state.incident


def test_an_incident_can_be_taken_up_again_and_its_jobs_come_back():
    made = engine("workflow: [{step: start, tool: {kind: noop}}]")
    made.start()
    for _ in range(5):
        made.crash()

    made.crash()
    made.run()

    assert made.status == "success"


def test_an_incident_can_be_cancelled():
    made = engine(COMPENSATED, MADE)
    made.start()
    made.run_job(1, -1)
    for _ in range(5):
        made.crash()

    made.cancel()
    made.run()

    assert made.status == "cancelled"
    assert labels(made) == ["make_a", "undo_a"]


@pytest.mark.spec("ST-12")
def test_an_incident_that_was_being_undone_is_undone_further_when_it_is_cancelled():
    made = engine(COMPENSATED, MADE)
    made.start()
    for run in (1, 2, 3):
        made.run_job(run, -1)
    for _ in range(5):
        made.crash()
    made.changes.clear()

    made.cancel()
    queued = [change.key for change in made.changes if isinstance(change, JobAdded)]
    made.run()

    assert queued == [(1, 4, -1)]
    assert (made.status, labels(made)[3:]) == ("cancelled", ["undo_b", "tell_b", "undo_a"])


def test_a_timer_does_not_move_an_incident():
    made = engine(TIMED)
    made.start()
    for _ in range(5):
        made.crash()

    events = made.do(Expire(execution_id=1, run=1, kind="timeout", message="late"))

    assert (events, made.status) == ([], "incident")
