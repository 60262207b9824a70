"""The log: envelopes of every event, names and order, replay, and what a duplicate does (EV-01 … EV-06)."""

import json
import re

import msgspec
import pytest

from noetl.engine import commands as ops
from noetl.engine import events as facts
from noetl.engine.apply import replay
from noetl.engine.commands import Report
from noetl.engine.events import ENTITIES, EVENTS, NAMES, WORKER_EVENTS, decode, encode
from noetl.engine.output import Output, failure
from noetl.engine.patches import patched
from noetl.engine.pipeline import Pipeline
from noetl.engine.state import canonical
from noetl.errors import BrokenInvariant
from noetl.projections.envelopes import Envelopes, envelope
from noetl.testing.engine import answered
from noetl.testing.samples import sample
from tests.engine.books import engine, ran

STATUSES = {"in_progress", "success", "error", "skipped"}
RICH = """
    workload: {n: 2}
    workflow:
      - step: start
        tool: [{name: give, kind: noop}]
        set: {ctx.seen: "{{ output.data }}"}
        next: {spec: {mode: inclusive}, arcs: [{step: each, set: {ctx.arc: 1}}, {step: gated}]}
      - step: each
        loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel, policy: {reducers: {ctx.total: sum}}}}
        tool:
          - name: work
            kind: noop
            set: {ctx.total: "{{ iter.n }}", iter.mine: 1}
            spec:
              policy:
                rules:
                  - {when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 3, delay: 0}}
                  - {else: {then: {do: continue}}}
        next: {arcs: [{step: end}]}
      - step: gated
        spec:
          policy:
            admit: {rules: [{when: "{{ ctx.total == 6 }}", then: {allow: true}}, {else: {then: {allow: false}}}]}
        tool: {kind: noop}
        next: {arcs: [{step: end}]}
      - step: end
        spec: {policy: {admit: {join: all}}}
        tool: [{name: last, kind: noop}]
"""


def rich():
    return ran(RICH, {"work": [failure("server_error", "no"), 5]})


def envelopes(made):
    made_envelopes = Envelopes(1)
    return [made_envelopes.envelope(seq, event) for seq, event in enumerate(made.log, 1)]


# --- envelopes -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("EV-01")
@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: NAMES[kind])
def test_every_event_has_the_whole_envelope(kind):
    found = envelope(7, 12, sample(kind), {41: "some"})

    assert (found["event_id"], found["execution_id"]) == ("7-12", "7")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found["timestamp"])
    assert found["source"] == "worker"  # a sample has a lease
    assert found["entity_type"] in ENTITIES.values()
    assert isinstance(found["entity_id"], str)
    assert found["status"] in STATUSES
    assert isinstance(found["payload"], dict)
    assert found["name"]
    json.dumps(found)


@pytest.mark.spec("EV-02")
@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: NAMES[kind])
def test_every_event_has_the_ids_that_apply(kind):
    found = envelope(7, 12, sample(kind), {})

    assert found["step_run_id"] == "7:41"
    assert found["iteration_id"] == "7:41:41"
    assert found["task_run_id"] == "7:41:41:añ🜁\n:41"
    assert (found["task_label"], found["attempt"]) == ("añ🜁\n", 41)


@pytest.mark.spec("EV-02")
def test_ids_stand_only_where_they_apply():
    by_name = {found["name"]: set(found) for found in envelopes(rich())}

    ids = {"step_run_id", "iteration_id", "task_run_id", "task_label", "attempt"}
    assert by_name["workflow.started"] & ids == set()
    assert by_name["step.done"] & ids == {"step_run_id"}
    assert by_name["loop.iteration.done"] & ids == {"step_run_id", "iteration_id"}
    assert by_name["task.done"] >= ids - {"iteration_id"}


@pytest.mark.spec("EV-02")
def test_ids_are_stable_from_the_start_of_a_thing_to_its_end():
    found = envelopes(rich())

    started = [one["task_run_id"] for one in found if one["name"] == "task.started"]
    done = [one["task_run_id"] for one in found if one["name"] == "task.done"]
    assert started == done
    scheduled = {one["step_run_id"] for one in found if one["name"] == "step.scheduled"}
    ended = {one["step_run_id"] for one in found if one["name"] in ("step.done", "loop.done")}
    assert scheduled == ended


@pytest.mark.spec("EV-01", "RO-02")
def test_the_source_is_who_did_it():
    found = envelopes(rich())

    sources = {(one["name"], one["source"]) for one in found}
    of_workers = {name for name, source in sources if source == "worker"}
    assert of_workers <= {NAMES[kind] for kind in WORKER_EVENTS}
    assert {"task.started", "task.done", "step.done", "loop.iteration.done"} <= of_workers


# --- names and order -------------------------------------------------------------------------------------------------


@pytest.mark.spec("EV-03")
def test_the_server_says_what_it_decided_in_this_order():
    made = ran(
        "workflow: [{step: start, tool: {kind: noop}, next: {arcs: [{step: end}]}}, {step: end, tool: {kind: noop}}]"
    )

    of_server = [facts.name_of(event) for event in made.log if not event.lease]
    assert of_server == [
        "playbook.execution.requested",
        "playbook.request.evaluated",
        "workflow.started",
        "step.scheduled",
        "next.evaluated",
        "step.scheduled",
        "next.evaluated",
        "workflow.finished",
        "playbook.processed",
    ]


@pytest.mark.spec("EV-04")
def test_the_worker_says_what_it_did_in_this_order():
    made = ran("workflow: [{step: start, tool: [{name: a, kind: noop}, {name: b, kind: noop}]}]")

    of_worker = [(facts.name_of(event), event.task) for event in made.log if event.lease]
    assert of_worker == [
        ("step.started", ""),
        ("task.started", "a"),
        ("task.done", "a"),
        ("task.started", "b"),
        ("task.done", "b"),
        ("step.done", ""),
    ]


@pytest.mark.spec("EV-04")
def test_each_attempt_of_a_task_starts_once_and_ends_once():
    made = rich()

    attempts = [
        (event.iter, event.attempt, facts.name_of(event))
        for event in made.log
        if event.task == "work" and event.iter == 0
    ]
    assert attempts == [(0, 1, "task.started"), (0, 1, "task.done"), (0, 2, "task.started"), (0, 2, "task.done")]
    assert [event.output["status"] for event in made.events("task.done") if event.iter == 0] == ["error", "ok"]


@pytest.mark.spec("EV-04")
def test_a_failure_is_told_by_step_failed_with_its_output():
    made = ran("workflow: [{step: start, tool: [{name: bad, kind: noop}]}]", {"bad": failure("server_error", "no")})

    [failed] = made.events("step.failed")
    assert (failed.lease, failed.error["kind"], failed.output["status"]) == (1, "server_error", "error")


@pytest.mark.spec("EV-03", "RT-07")
def test_what_ctx_becomes_is_the_fold_of_the_patches_in_the_log():
    made = rich()

    patches = [patch for event in made.log for patch in getattr(event, "patches", [])]
    assert made.state.ctx == patched({}, patches, "ctx") == {"seen": None, "arc": 1, "total": 6}


# --- replay ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("EV-05")
def test_the_log_alone_gives_the_state_at_every_event():
    made = rich()
    as_written = [decode(encode(event)) for event in made.log]

    states = [canonical(replay(1, as_written[:end])) for end in range(len(as_written) + 1)]

    assert states[-1] == canonical(made.state)
    assert len(set(states)) == len(states)


@pytest.mark.spec("EV-05")
def test_replay_gives_the_same_whoever_asks_and_how_often():
    log = rich().log

    assert canonical(replay(1, log)) == canonical(replay(1, list(log)))
    assert canonical(replay(2, log)) != canonical(replay(1, log))


@pytest.mark.spec("EV-05")
def test_an_event_with_fields_of_a_later_version_is_still_read():
    body = msgspec.json.decode(encode(facts.StepStarted(ts=1.0, run=1, step="a")))

    read = decode(msgspec.json.encode({**body, "colour": "red"}))

    assert read == facts.StepStarted(ts=1.0, run=1, step="a")


@pytest.mark.spec("EV-05")
def test_going_on_from_any_event_gives_the_same_ctx_and_output():
    undisturbed = rich()

    for tasks in range(7):
        made = engine(RICH, {"work": [failure("server_error", "no"), 5]})
        made.start()
        for _ in range(tasks):
            made.run_job(*made.ready()[-1], tasks=1)
        made.crash()
        made.run()

        assert (made.status, made.state.ctx) == ("success", undisturbed.state.ctx)
        assert made.state.output["data"] == undisturbed.state.output["data"]


# --- duplicates ------------------------------------------------------------------------------------------------------


def whole_report(made, run):
    """All that a worker says of a step with one task."""
    work = made.work(run, -1)
    pipeline = Pipeline(made.playbook, work)
    events = list(pipeline.begin(made.now))
    opened, invocation = pipeline.enter(made.now)
    events += [*opened, pipeline.close(invocation, answered(Output(data=1), 1), made.now), pipeline.finish(made.now)]
    return Report(execution_id=1, run=run, iter=-1, lease=work.lease, n=1, events=events)


@pytest.mark.spec("EV-06")
def test_the_engine_refuses_to_record_an_end_twice():
    made = engine(CALLER.replace("kind: playbook, path: other", "kind: noop"))
    made.start()
    report = whole_report(made, 1)
    made.do(report)
    before = len(made.log)

    with pytest.raises((BrokenInvariant, KeyError)):
        made.do(report)

    assert len(made.log) == before


CALLER = """
    workflow:
      - {step: start, tool: {kind: playbook, path: other}, next: {arcs: [{step: end}]}}
      - {step: end, tool: {kind: noop}}
"""
ENDED = ops.ChildEnded(
    execution_id=1, run=1, iter=-1, task="task_1", key="1:1:-1:task_1:1.0", child_execution_id=2, result="success"
)


@pytest.mark.spec("EV-06", "TL-04")
def test_the_end_of_a_child_is_recorded_once():
    made = engine(CALLER)
    made.start()
    made.run_job(1, -1)
    [(_, _, child)] = made.waiting_children()

    first, second = (made.do(msgspec.structs.replace(ENDED, key=child["key"])) for _ in range(2))

    assert [facts.name_of(event) for event in first] == ["child.done"]
    assert second == []


@pytest.mark.spec("EV-06", "TL-04")
def test_the_end_of_a_child_that_nobody_waits_for_is_not_recorded():
    made = engine(CALLER)
    made.start()
    made.run_job(1, -1)

    events = made.do(msgspec.structs.replace(ENDED, key="1:1:-1:other:1.0"))

    assert events == []


@pytest.mark.spec("RO-03", "TL-04")
@pytest.mark.parametrize(
    "key", ["2:1:-1:task_1:1.0", "1:2:-1:task_1:1.0", "1:1:0:task_1:1.0", "11:1:-1:task_1:1.0", ""]
)
def test_a_worker_cannot_wait_for_the_child_of_another_job(key):
    made = engine(CALLER)
    made.start()
    work = made.work(1, -1)
    place = {"ts": 1.0, "run": 1, "iter": -1, "lease": work.lease}
    events = [
        facts.StepStarted(**place, step="start"),
        facts.TaskStarted(**place, task="task_1", visit=1, attempt=1, kind="playbook"),
        facts.TaskWaiting(**place, task="task_1", child={"path": "other", "payload": {}, "key": key}),
    ]

    with pytest.raises(BrokenInvariant, match="child of another job"):
        made.do(Report(execution_id=1, run=1, iter=-1, lease=work.lease, n=1, events=events))

    assert made.waiting_children() == []


@pytest.mark.spec("EV-06")
def test_a_cancel_that_comes_twice_is_recorded_once():
    made = engine(CALLER.replace("tool: {kind: playbook, path: other}", "tool: {kind: noop}, " + UNDO))
    made.start()
    made.run_job(1, -1)

    first, second = (made.do(ops.Cancel(execution_id=1)) for _ in range(2))

    assert "playbook.cancel.requested" in [facts.name_of(event) for event in first]
    assert second == []


UNDO = "spec: {policy: {compensation: {tool: {kind: noop}}}}"


# --- reports that cannot be ------------------------------------------------------------------------------------------

PLACE = {"ts": 1.0, "run": 1, "iter": -1, "lease": 1}
BEGUN = facts.TaskStarted(**PLACE, task="a", visit=1, attempt=1, kind="noop")
DONE = facts.TaskDone(**PLACE, task="a", visit=1, attempt=1, do="continue", to="b")


@pytest.mark.spec("EV-04", "RO-03")
@pytest.mark.parametrize(
    "events",
    [
        [DONE],
        [BEGUN, BEGUN],
        [BEGUN, DONE, DONE],
        [BEGUN, msgspec.structs.replace(DONE, task="b")],
        [BEGUN, msgspec.structs.replace(DONE, attempt=2)],
        [BEGUN, msgspec.structs.replace(DONE, visit=2)],
        [msgspec.structs.replace(BEGUN, attempt=2)],
        [msgspec.structs.replace(BEGUN, visit=2)],
        [BEGUN, DONE, BEGUN],
        [BEGUN, DONE, facts.TaskWaiting(**PLACE, task="a", until=9.0)],
    ],
    ids=[
        "an end without a start",
        "two starts",
        "two ends",
        "the end of another task",
        "the end of another attempt",
        "the end of another visit",
        "a second attempt without a first",
        "a second visit without a first",
        "a task that was over",
        "waiting at a task that was over",
    ],
)
def test_what_cannot_have_happened_next_in_a_pipeline_is_not_recorded(events):
    made = engine("workflow: [{step: start, tool: [{name: a, kind: noop}, {name: b, kind: noop}]}]")
    made.start()
    started = facts.StepStarted(**PLACE, step="start")

    with pytest.raises(BrokenInvariant, match="I3"):
        made.do(Report(execution_id=1, run=1, iter=-1, lease=1, n=1, events=[started, *events]))
