"""Envelopes: the names of EV-01 and the ids of EV-02, on every event."""

import msgspec
import pytest

from noetl.engine.events import (
    EVENTS,
    ChildDone,
    Emitted,
    Fired,
    LoopDone,
    LoopIterationDone,
    LoopStarted,
    NextEvaluated,
    Patch,
    PlaybookProcessed,
    SignalReceived,
    StepDone,
    StepFailed,
    StepScheduled,
    StepSkipped,
    StepStarted,
    TaskDone,
    TaskStarted,
)
from noetl.projections.envelopes import OWN_FIELDS, Envelopes, envelope

LEASE = 77


def scheduled(run=3, step="load", **facts):
    return StepScheduled(ts=1.0, run=run, step=step, tokens=[1], **facts)


@pytest.mark.spec("EV-01", "EV-02")
def test_a_task_event_has_the_envelope_and_all_its_ids():
    envelopes = Envelopes(4097)
    envelopes.remember(scheduled())
    event = TaskDone(ts=1772366400.125, run=3, iter=17, task="fetch", visit=2, attempt=1, lease=LEASE, do="continue")

    found = envelopes.envelope(12, event)

    payload = found.pop("payload")
    assert found == {
        "event_id": "4097-12",
        "execution_id": "4097",
        "timestamp": "2026-03-01T12:00:00.125Z",
        "source": "worker",
        "name": "task.done",
        "entity_type": "task",
        "entity_id": "4097:3:17:fetch:2",
        "status": "success",
        "step": "load",
        "step_run_id": "4097:3",
        "iteration_id": "4097:3:17",
        "task_run_id": "4097:3:17:fetch:2",
        "task_label": "fetch",
        "attempt": 1,
    }
    assert (payload["do"], payload["patches"], payload["output"]) == ("continue", [], None)


@pytest.mark.spec("EV-02")
def test_ids_that_do_not_apply_are_left_out():
    found = envelope(1, 1, PlaybookProcessed(ts=0.0, result="success"), {})

    assert set(found) == {
        "event_id", "execution_id", "timestamp", "source", "name", "entity_type", "entity_id", "status", "payload"
    }  # fmt: skip


@pytest.mark.spec("EV-01")
@pytest.mark.parametrize(
    ("event", "entity", "entity_id"),
    [
        (PlaybookProcessed(ts=0.0, result="success"), "playbook", "9"),
        (SignalReceived(ts=0.0, patches=[]), "workflow", "9"),
        (scheduled(), "step", "9:3"),
        (StepSkipped(ts=0.0, step="load", token=4), "step", "load"),
        (NextEvaluated(ts=0.0, run=3, step="load", boundary="step.done", boundary_seq=5), "next", "9:3"),
        (LoopStarted(ts=0.0, run=3, step="load", count=2), "loop", "9:3"),
        (LoopIterationDone(ts=0.0, run=3, iter=1, output={}), "loop", "9:3:1"),
        (
            ChildDone(ts=0.0, run=3, task="call", visit=1, child_execution_id=8, result="success"),
            "task",
            "9:3:-1:call:1",
        ),
        (Emitted(ts=0.0, run=3, event="orders.loaded", step="load", on="step.done"), "step", "9:3"),
    ],
)
def test_an_event_names_what_it_is_about(event, entity, entity_id):
    found = envelope(9, 1, event, {3: "load"})

    assert (found["entity_type"], found["entity_id"]) == (entity, entity_id)


@pytest.mark.spec("EV-03", "EV-04")
def test_the_source_is_the_worker_for_what_was_reported_under_a_lease():
    by_worker = StepStarted(ts=0.0, run=3, step="load", lease=LEASE)
    by_server = StepFailed(ts=0.0, run=3, step="load", error={"kind": "timeout"})

    assert envelope(9, 1, by_worker, {})["source"] == "worker"
    assert envelope(9, 2, by_server, {})["source"] == "server"


@pytest.mark.spec("ST-10")
def test_an_author_s_event_has_the_author_s_name():
    found = envelope(9, 1, Emitted(ts=0.0, run=3, event="orders.loaded", step="load", on="step.done"), {})

    assert (found["name"], found["step"]) == ("orders.loaded", "load")


@pytest.mark.spec("SC-02")
def test_patches_and_fired_arcs_are_plain_data():
    event = NextEvaluated(
        ts=0.0,
        run=3,
        step="load",
        boundary="step.done",
        boundary_seq=5,
        fired=[Fired(arc=0, step="save", token=2, args={"a": 1})],
        patches=[Patch("ctx.total", 3)],
    )

    payload = envelope(9, 1, event, {})["payload"]

    assert payload["patches"] == [{"path": "ctx.total", "value": 3}]
    assert payload["fired"] == [{"arc": 0, "step": "save", "token": 2, "args": {"a": 1}}]
    assert msgspec.json.decode(msgspec.json.encode(payload)) == payload


def test_no_payload_repeats_the_envelope_or_shows_a_lease():
    common = {"ts", "run", "iter", "task", "visit", "attempt", "lease"}

    assert set(OWN_FIELDS) == set(EVENTS)
    assert not {name for fields in OWN_FIELDS.values() for name in fields} & common


def test_a_task_of_an_inner_loop_has_the_name_of_its_step():
    envelopes = Envelopes(9)
    envelopes.remember(scheduled())
    envelopes.remember(LoopStarted(ts=0.0, run=4, step="load", count=1, parent_run=3, parent_iter=0))

    found = envelopes.envelope(5, TaskStarted(ts=0.0, run=4, iter=0, task="fetch", visit=1, kind="http"))

    assert found["step"] == "load"


@pytest.mark.spec("LP-10")
def test_runs_that_have_ended_are_forgotten():
    envelopes = Envelopes(9)
    for event in (
        scheduled(3),
        scheduled(4),
        StepDone(ts=1.0, run=3, step="load", output={}),
        LoopDone(ts=1.0, run=4, step="load", total=0, done=0, failed=0, skipped=0, output={}),
    ):
        envelopes.remember(event)

    assert envelopes.steps == {}
