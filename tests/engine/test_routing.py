"""Which arcs of an ended step fire, with what; and what the execution's output is."""

import pytest

from noetl.engine.commands import Report
from noetl.engine.events import StepScheduled
from noetl.engine.output import failure
from noetl.errors import BrokenInvariant
from tests.engine.books import engine, ran

BROKEN = failure("server_error", "no", details={"status": 500})


def routed(arcs, mode="exclusive", answers=None, executor="{}", **payload):
    """A step `start` with these arcs to a, b and c."""
    return ran(
        f"""
        executor: {executor}
        workload: {{n: 1}}
        workflow:
          - step: start
            tool: [{{name: work, kind: noop}}]
            next: {{spec: {{mode: {mode}}}, arcs: {arcs}}}
          - {{step: a, tool: {{kind: noop}}}}
          - {{step: b, tool: {{kind: noop}}}}
          - {{step: c, tool: {{kind: noop}}}}
        """,
        answers,
        **payload,
    )


def went_to(made):
    return [event.step for event in made.events("step.scheduled")][1:]


ABC = """[{step: a, when: "{{ workload.n > 1 }}"}, {step: b, when: "{{ workload.n > 0 }}"}, {step: c}]"""


@pytest.mark.spec("RT-02")
@pytest.mark.parametrize(("n", "target"), [(2, "a"), (1, "b"), (0, "c")])
def test_an_exclusive_router_takes_the_first_matching_arc(n, target):
    made = routed(ABC, n=n)

    assert went_to(made) == [target]


@pytest.mark.spec("RT-02")
def test_exclusive_is_the_default_and_arcs_after_the_first_match_are_not_asked():
    arcs = """[{step: a, when: "{{ false }}"}, {step: b, when: "{{ true }}"}, {step: c, when: "{{ nothing.here }}"}]"""
    body = f"""
        workload: {{nothing: null}}
        workflow:
          - {{step: start, tool: {{kind: noop}}, next: {{arcs: {arcs}}}}}
          - {{step: a, tool: {{kind: noop}}}}
          - {{step: b, tool: {{kind: noop}}}}
          - {{step: c, tool: {{kind: noop}}}}
    """

    made = ran(body)

    first = made.events("next.evaluated")[0]
    assert ([one.step for one in first.fired], first.refused) == (["b"], [0])


@pytest.mark.spec("RT-02")
@pytest.mark.parametrize(("n", "targets"), [(2, ["a", "b", "c"]), (1, ["b", "c"]), (0, ["c"])])
def test_an_inclusive_router_takes_all_matching_arcs_in_yaml_order(n, targets):
    made = routed(ABC, mode="inclusive", n=n)

    assert went_to(made) == targets


@pytest.mark.spec("RT-05")
def test_no_matching_arc_ends_the_branch_and_the_workflow():
    made = routed("""[{step: a, when: "{{ false }}"}]""", answers={"work": 5})

    assert (went_to(made), made.status) == ([], "success")
    assert made.events("next.evaluated")[0].ends_branch
    assert made.state.output["data"] == 5


@pytest.mark.spec("RT-05")
def test_the_workflow_ends_when_the_last_branch_has_ended():
    made = engine(
        """
        workflow:
          - {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
          - {step: a, tool: {kind: noop}}
          - {step: b, tool: {kind: noop}}
        """
    )
    made.start()
    made.run_job(1, -1)
    made.run_job(2, -1)
    meanwhile = made.status
    made.run_job(3, -1)

    assert (meanwhile, made.status) == ("running", "success")
    assert made.names()[-2:] == ["workflow.finished", "playbook.processed"]


@pytest.mark.spec("RT-03", "RT-07")
def test_arcs_are_evaluated_by_the_server_right_after_the_boundary():
    made = routed("[{step: a}]")

    names = made.names()
    assert names[names.index("step.done") + 1] == "next.evaluated"
    evaluated = made.events("next.evaluated")[0]
    assert (evaluated.lease, evaluated.boundary) == (0, "step.done")
    assert names[evaluated.boundary_seq - 1] == "step.done"


LOOPED = """
    workflow:
      - step: start
        loop: {in: [1, 2], iterator: n}
        tool: [{name: work, kind: noop, input: {n: "{{ iter.n }}"}}]
        next: {arcs: [{step: a, when: "{{ event.name == 'loop.done' }}"},
                      {step: b, when: "{{ event.name == 'step.failed' }}"}]}
      - {step: a, tool: {kind: noop}}
      - {step: b, tool: {kind: noop}}
"""


@pytest.mark.spec("RT-03")
def test_a_loop_ends_with_loop_done_and_never_with_step_done():
    made = ran(LOOPED)

    of_the_loop = [event for event in made.log if event.run == 1]
    names = [type(event).__name__ for event in of_the_loop]
    assert (names.count("LoopDone"), names.count("StepDone"), names.count("StepFailed")) == (1, 0, 0)
    assert went_to(made) == ["a"]


@pytest.mark.spec("RT-03")
def test_a_loop_that_fails_ends_with_step_failed_and_nothing_else():
    made = ran(LOOPED, {"work": BROKEN})

    names = [type(event).__name__ for event in made.log if event.run == 1]
    assert (names.count("LoopDone"), names.count("StepDone"), names.count("StepFailed")) == (0, 0, 1)
    assert (went_to(made), made.status) == (["b"], "success")


@pytest.mark.spec("ST-01")
def test_a_step_is_gate_then_loop_then_pipeline_then_router():
    made = ran(
        """
        workflow:
          - step: start
            spec: {policy: {admit: {rules: [{when: "{{ true }}", then: {allow: true}}]}}}
            loop: {in: [1, 2], iterator: n}
            tool: [{name: one, kind: noop}, {name: two, kind: noop}]
            next: {arcs: [{step: end}]}
          - {step: end, tool: {kind: noop}}
        """
    )

    iteration = [
        "loop.iteration.started",
        "task.started",
        "task.done",
        "task.started",
        "task.done",
        "loop.iteration.done",
    ]
    assert made.names()[3:19] == [
        "step.scheduled",
        "step.started",
        "loop.started",
        *iteration,
        *iteration,
        "loop.done",
    ]
    assert made.names()[19:21] == ["next.evaluated", "step.scheduled"]
    assert [one.task.label for one in made.invocations[:4]] == ["one", "two", "one", "two"]


# --- args and set ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("RT-04")
def test_args_of_an_arc_lie_over_those_of_the_token():
    made = ran(
        """
        workflow:
          - {step: start, tool: {kind: noop}, next: {arcs: [{step: mid, args: {kept: 1, replaced: 1}}]}}
          - {step: mid, tool: {kind: noop}, next: {arcs: [{step: end, args: {replaced: "{{ input.replaced + 1 }}"}}]}}
          - {step: end, tool: [{name: last, kind: noop, input: {all: "{{ input }}"}}]}
        """
    )

    assert made.invocations[-1].input == {"all": {"kept": 1, "replaced": 2}}


@pytest.mark.spec("RT-04")
def test_the_set_of_an_arc_writes_ctx_only_when_the_arc_is_selected():
    made = routed(
        """[{step: a, when: "{{ false }}", set: {ctx.a: 1}}, {step: b, set: {ctx.b: "{{ output.data }}"}},
            {step: c, set: {ctx.c: 1}}]""",
        answers={"work": "seen"},
    )

    assert made.state.ctx == {"b": "seen"}


@pytest.mark.spec("RT-04")
def test_what_an_arc_sets_is_there_when_its_target_is_scheduled():
    made = ran(
        """
        workflow:
          - {step: start, tool: {kind: noop}, next: {arcs: [{step: end, set: {ctx.n: 4}}]}}
          - {step: end, tool: [{name: last, kind: noop, input: {n: "{{ ctx.n }}"}}]}
        """
    )

    assert made.invocations[-1].input == {"n": 4}


# --- failures --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RT-11")
def test_an_arc_without_a_condition_does_not_take_a_failure():
    made = routed("[{step: a}]", answers={"work": BROKEN})

    assert (went_to(made), made.status) == ([], "failed")


@pytest.mark.spec("RT-11")
@pytest.mark.parametrize(
    "condition",
    ["event.name == 'step.failed'", "output.status == 'error'", "output.error.kind == 'server_error'"],
)
def test_a_failure_is_handled_by_an_arc_that_reads_it(condition):
    made = routed(f"""[{{step: a}}, {{step: b, when: "{{{{ {condition} }}}}"}}]""", answers={"work": BROKEN})

    assert (went_to(made), made.status) == (["b"], "success")
    assert made.events("next.evaluated")[0].handled


@pytest.mark.spec("RT-11")
def test_on_a_failure_arcs_that_do_not_read_it_are_not_evaluated():
    made = routed("""[{step: a, when: "{{ workload.n == 1 }}"}]""", answers={"work": BROKEN})

    evaluated = made.events("next.evaluated")[0]
    assert (evaluated.fired, evaluated.refused, made.status) == ([], [], "failed")


@pytest.mark.spec("RT-11")
def test_unguarded_on_failure_lets_plain_arcs_take_failures():
    executor = "{spec: {policy: {routing: {unguarded_on_failure: true}}}}"

    made = routed("[{step: a}]", answers={"work": BROKEN}, executor=executor)

    assert (went_to(made), made.status) == (["a"], "success")


@pytest.mark.spec("RT-11")
def test_an_arc_for_failures_does_not_fire_on_success():
    made = routed("""[{step: a, when: "{{ event.name == 'step.failed' }}"}, {step: b}]""")

    assert went_to(made) == ["b"]


@pytest.mark.spec("RT-11")
@pytest.mark.parametrize("place", ["when", "set", "args"])
def test_a_guard_or_a_value_of_an_arc_that_raises_fails_the_workflow(place):
    bad = "{{ ctx.no.such.thing > 1 }}"
    arc = {"when": f'when: "{bad}"', "set": f'set: {{ctx.x: "{bad}"}}', "args": f'args: {{x: "{bad}"}}'}[place]

    made = routed(f"[{{step: a, {arc}}}]")

    assert (went_to(made), made.status) == ([], "failed")
    assert (made.state.error["kind"], made.state.error["step"]) == ("template", "start")
    assert made.events("next.evaluated")[0].error is not None


@pytest.mark.spec("RT-05")
def test_a_failure_that_nothing_handles_names_step_and_task():
    made = routed("[{step: a}]", answers={"work": BROKEN})

    [finished] = made.events("workflow.finished")
    assert finished.result == "failed"
    assert (finished.error["kind"], finished.error["step"], finished.error["task"]) == ("server_error", "start", "work")


# --- what arcs read --------------------------------------------------------------------------------------------------


@pytest.mark.spec("RT-03")
@pytest.mark.parametrize(
    "condition",
    [
        "output.data.n == 2",
        "event.entity_type == 'step' and event.payload.output.data.n == 2",
        "start.data.n == 2",
        "step.mark == 'm'",
        "input.given == 9",
        "execution_id == '1'",
    ],
)
def test_arcs_read_output_event_step_input_and_steps_that_ran(condition):
    body = f"""
        workflow:
          - step: start
            input: {{given: 9}}
            tool: [{{name: work, kind: noop, set: {{step.mark: m}}}}]
            next: {{arcs: [{{step: a, when: "{{{{ {condition} }}}}"}}]}}
          - {{step: a, tool: {{kind: noop}}}}
    """

    assert went_to(ran(body, {"work": {"n": 2}})) == ["a"]


@pytest.mark.spec("RT-12")
def test_a_token_carries_the_output_of_its_source():
    made = ran(
        """
        workflow:
          - {step: start, tool: [{name: give, kind: noop}], next: {arcs: [{step: loop}]}}
          - step: loop
            input: {seen: "{{ output.data }}"}
            loop: {in: "{{ output.data }}", iterator: n}
            tool:
              - {name: each, kind: noop, input: {n: "{{ iter.n }}", in: "{{ input.seen }}", prev: "{{ output.data }}"}}
        """,
        {"give": [[1, 2]]},
    )

    assert [one.input for one in made.invocations[1:]] == [{"n": n, "in": [1, 2], "prev": [1, 2]} for n in (1, 2)]


@pytest.mark.spec("RT-12")
def test_a_gate_does_not_see_the_output_of_the_sender():
    body = """
        workflow:
          - {step: start, tool: {kind: noop}, next: {arcs: [{step: end}]}}
          - step: end
            spec: {policy: {admit: {rules: [{when: "{{ output.data }}", then: {allow: true}}]}}}
            tool: {kind: noop}
    """

    with pytest.raises(AssertionError, match="NL605"):
        engine(body)


# --- cycles, dedupe, output ------------------------------------------------------------------------------------------


@pytest.mark.spec("RT-14", "ST-01")
def test_a_step_may_run_many_times_over_a_cycle():
    made = ran(
        """
        workflow:
          - {step: start, tool: {kind: noop}, next: {arcs: [{step: again, args: {n: 0}}]}}
          - step: again
            tool: {kind: noop}
            next: {arcs: [{step: again, when: "{{ input.n < 3 }}", args: {n: "{{ input.n + 1 }}"}}, {step: end}]}
          - {step: end, tool: {kind: noop}}
        """
    )

    runs = [event.run for event in made.events("step.scheduled") if event.step == "again"]
    assert runs == [2, 3, 4, 5]
    assert (made.status, made.state.counts["again"].runs) == ("success", 4)


@pytest.mark.spec("RT-09")
def test_a_second_token_with_an_equal_key_to_the_same_step_is_dropped():
    made = ran(
        """
        workflow:
          - step: start
            tool: {kind: noop}
            next:
              spec: {mode: inclusive}
              arcs: [{step: a, args: {k: 1}}, {step: b, args: {k: 1}}, {step: c, args: {k: 2}}]
          - {step: a, tool: {kind: noop}, next: {arcs: [{step: end, spec: {dedupe: "{{ input.k }}"}}]}}
          - {step: b, tool: {kind: noop}, next: {arcs: [{step: end, spec: {dedupe: "{{ input.k }}"}}]}}
          - {step: c, tool: {kind: noop}, next: {arcs: [{step: end, spec: {dedupe: "{{ input.k }}"}}]}}
          - {step: end, tool: {kind: noop}}
        """
    )

    assert made.state.counts["end"].runs == 2
    assert [one.is_duplicate for event in made.events("next.evaluated")[1:4] for one in event.fired] == [
        False,
        True,
        False,
    ]
    assert made.status == "success"


@pytest.mark.spec("RT-13")
def test_the_output_is_that_of_the_last_step_run_that_ended_a_branch():
    made = engine(
        """
        workflow:
          - {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
          - {step: a, tool: [{name: first, kind: noop}]}
          - {step: b, tool: [{name: second, kind: noop}]}
        """,
        {"first": 1, "second": 2},
    )
    made.start()
    made.run_job(1, -1)
    made.run_job(3, -1)
    made.run_job(2, -1)

    assert made.state.output["data"] == 1


@pytest.mark.spec("RT-13")
def test_a_noop_passes_on_what_its_token_carried():
    made = ran(
        """
        workflow:
          - {step: start, tool: [{name: work, kind: noop}], next: {arcs: [{step: end}]}}
          - {step: end, tool: {kind: noop}, next: {arcs: [{step: bare}]}}
          - {step: bare, next: {arcs: [{step: never, when: "{{ false }}"}]}}
          - {step: never, tool: {kind: noop}}
        """,
        {"work": {"n": 1}},
    )

    assert made.state.output["data"] == {"n": 1}


@pytest.mark.spec("RT-13")
def test_executor_spec_output_names_the_step_whose_output_counts():
    made = ran(
        """
        executor: {spec: {output: start}}
        workflow:
          - {step: start, tool: [{name: work, kind: noop}], next: {arcs: [{step: end}]}}
          - {step: end, tool: [{name: last, kind: noop}]}
        """,
        {"work": "this", "last": "not this"},
    )

    [finished] = made.events("workflow.finished")
    assert finished.output["data"] == "this"


@pytest.mark.spec("RT-06")
@pytest.mark.parametrize(
    ("executor", "names", "entry"),
    [
        ("{}", ("other", "start"), "start"),
        ("{}", ("one", "two"), "one"),
        ("{spec: {entry_step: two}}", ("start", "two"), "two"),
    ],
    ids=["start", "the first", "entry_step"],
)
def test_a_workflow_enters_at_start_or_at_the_first_step_or_where_it_is_told(executor, names, entry):
    steps = ", ".join(f"{{step: {name}, tool: {{kind: noop}}}}" for name in names)

    made = ran(f"executor: {executor}\nworkflow: [{steps}]")

    assert [event.step for event in made.events("step.scheduled")] == [entry]


@pytest.mark.spec("RT-07", "RO-02")
def test_a_worker_that_reports_a_servers_event_is_refused():
    made = engine("workflow: [{step: start, tool: {kind: noop}}]")
    made.start()
    forged = StepScheduled(ts=1.0, run=1, step="start", tokens=[])

    with pytest.raises(BrokenInvariant, match=r"may not report step\.scheduled"):
        made.do(Report(execution_id=1, run=1, iter=-1, lease=1, n=1, events=[forged]))


@pytest.mark.spec("ST-10")
def test_events_of_the_authors_own_stand_in_the_log_after_their_boundary():
    made = ran(
        """
        workflow:
          - step: start
            spec:
              policy: {emit: {events: [{name: order.placed, on: step.done}, {name: order.begun, on: step.started}]}}
            tool: {kind: noop}
        """
    )

    names = made.names()
    assert names[names.index("step.done") + 1] == "order.placed"
    assert names[names.index("step.started") + 1] == "order.begun"
    assert made.names("order") == ["order.begun", "order.placed"]


@pytest.mark.spec("ST-10")
def test_a_loop_within_a_loop_is_no_boundary_of_its_step():
    made = ran(
        """
        workflow:
          - step: start
            spec: {policy: {emit: {events: [{name: all.done, on: loop.done}]}}}
            loop: {in: [1, 2], iterator: outer, loop: {in: [1, 2], iterator: inner}}
            tool: {kind: noop}
        """
    )

    assert len(made.events("loop.done")) == 3
    assert len(made.events("all.done")) == 1
