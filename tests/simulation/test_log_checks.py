"""A log is read by somebody who shares no rule with the engine: good ones pass, and each thing that is wrong shows."""

from collections import Counter

import msgspec
import pytest

from noetl.engine import events as facts
from noetl.engine.events import Patch
from noetl.engine.output import failure
from noetl.testing.engine import Engine
from noetl.testing.simulator.case import Violation
from noetl.testing.simulator.checks.edges import EDGES
from noetl.testing.simulator.checks.log_book import LogBook
from noetl.testing.simulator.checks.log_reading import read_appended
from tests.simulation.played import HEAD

ROUTED = """
workflow:
  - step: start
    tool: [{name: a, kind: noop, input: {by: "a::1:1"}}, {name: b, kind: noop, input: {by: "b::1:1", saw: "a::1:1"}}]
    set: {ctx.x: 1}
    next: {spec: {mode: inclusive}, arcs: [{step: left}, {step: right}]}
  - {step: left, tool: {kind: noop}, next: {arcs: [{step: end}]}}
  - {step: right, tool: {kind: noop}, next: {arcs: [{step: end}]}}
  - {step: end, spec: {policy: {admit: {join: all}}}, tool: {kind: noop}}
"""
LOOPED = """
workflow:
  - step: start
    loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: [{name: a, kind: noop}]
"""
NESTED = """
workflow:
  - step: start
    loop: {in: [1, 2], iterator: n, loop: {in: [3, 4], iterator: m}}
    tool: [{name: a, kind: noop}]
"""
RETRIED = """
workflow:
  - step: start
    tool:
      - name: a
        kind: noop
        spec: {policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 3}}]}}
"""
UNDONE = """
workflow:
  - step: start
    spec: {policy: {compensation: {tool: [{name: undo, kind: noop}]}}}
    tool: {kind: noop}
    next: {arcs: [{step: end}]}
  - {step: end, tool: [{name: bad, kind: noop}]}
"""
CALLING = "workflow: [{step: start, tool: {kind: playbook, path: other}}]"
NO = failure("client_error", "no")
WINDOWS = {"sha": {"start": (2, 1)}}


def played(text, answers=None):
    made = Engine(HEAD + text, answers)
    made.start()
    made.run()
    if made.waiting_children():
        made.child_ended()
        made.run()
    return made


def book(windows=None):
    return LogBook(1, windows or {}, Counter(), Counter())


def read(log, windows=None):
    made = book(windows)
    read_appended(made, 1, log, 0.0)
    return made


def place(log, kind, number=0):
    return [at for at, event in enumerate(log) if type(event) is kind][number]


def changed(log, kind, number=0, **fields):
    at = place(log, kind, number)
    return [*log[:at], msgspec.structs.replace(log[at], **fields), *log[at + 1 :]]


def without(log, kind, number=0):
    at = place(log, kind, number)
    return [*log[:at], *log[at + 1 :]]


def doubled(log, kind, number=0):
    at = place(log, kind, number)
    return [*log[: at + 1], *log[at:]]


GOOD = {
    "routed": (ROUTED, None),
    "looped": (LOOPED, None),
    "nested": (NESTED, None),
    "retried": (RETRIED, {"a": [NO, NO, "yes"]}),
    "undone": (UNDONE, {"bad": NO}),
    "calling": (CALLING, None),
}


@pytest.mark.spec("EV-05")
@pytest.mark.parametrize("name", GOOD)
def test_a_good_log_passes_and_gives_what_its_state_has(name):
    made = played(*GOOD[name])

    found = read(made.log, WINDOWS)

    assert found.is_ended
    assert found.status == made.status
    assert found.ctx == made.state.ctx
    assert set(found.seen) <= set(EDGES)


@pytest.mark.spec("EV-05")
@pytest.mark.parametrize("name", GOOD)
def test_at_every_point_of_a_log_the_same_jobs_are_in_flight_as_in_its_state(name):
    made = Engine(HEAD + GOOD[name][0], GOOD[name][1])
    made.start()
    looks = []
    while jobs := made.ready():
        made.run_job(*jobs[0])
        found = read(made.log, WINDOWS)
        looks.append(found.jobs.keys() == {(run.id, one) for run in made.state.runs.values() for one in run.jobs})

    assert looks
    assert all(looks)


BAD = {
    "I3 an end twice": ("I3", ROUTED, lambda log: doubled(log, facts.TaskDone)),
    "I3 an end without a beginning": ("I3", ROUTED, lambda log: without(log, facts.TaskStarted)),
    "I3 a task that nobody named": ("I3", ROUTED, lambda log: changed(log, facts.TaskStarted, 1, task="z")),
    "I3 a visit left out": ("I3", ROUTED, lambda log: changed(log, facts.TaskStarted, visit=2)),
    "I3 an attempt left out": ("I3", RETRIED, lambda log: changed(log, facts.TaskStarted, 1, attempt=3)),
    "I3 an attempt again": ("I3", RETRIED, lambda log: changed(log, facts.TaskStarted, 1, attempt=1)),
    "I3 the end of another attempt": ("I3", RETRIED, lambda log: changed(log, facts.TaskDone, attempt=2)),
    "I3 an end before its last task": ("I3", ROUTED, lambda log: changed(log, facts.TaskDone, 1, do="jump", to="a")),
    "I3 a result of another history": (
        "I3",
        ROUTED,
        lambda log: changed(log, facts.TaskDone, 1, output={"data": {"by": "b::1:1", "saw": "a::1:2"}}),
    ),
    "I3 a child that nobody waits for": ("I3", CALLING, lambda log: without(log, facts.TaskWaiting)),
    "I3 work while a child is waited for": ("I3", CALLING, lambda log: without(log, facts.ChildDone)),
    "I4 a run ends twice": ("I4", ROUTED, lambda log: doubled(log, facts.StepDone)),
    "I4 work after the end": (
        "I4",
        ROUTED,
        lambda log: [*log[: place(log, facts.StepDone) + 1], log[place(log, facts.TaskStarted)]],
    ),
    "I5 a run without a token": ("I5", ROUTED, lambda log: changed(log, facts.StepScheduled, tokens=[])),
    "I5 a token that is not there": ("I5", ROUTED, lambda log: changed(log, facts.StepScheduled, tokens=[9])),
    "I5 a token of another step": ("I5", ROUTED, lambda log: changed(log, facts.StepScheduled, 1, step="right")),
    "I5 a token twice": (
        "I5",
        ROUTED,
        lambda log: changed(log, facts.StepScheduled, 2, tokens=[2], step="left"),
    ),
    "I5 a run left out": ("I5", ROUTED, lambda log: changed(log, facts.StepScheduled, 1, run=7)),
    "I5 what is not to be undone": ("I5", UNDONE, lambda log: changed(log, facts.StepScheduled, 2, compensates=2)),
    "I5 undone in another order": ("I5", UNDONE, lambda log: changed(log, facts.WorkflowCompensating, runs=[2])),
    "I6 an index left out": ("I6", LOOPED, lambda log: changed(log, facts.LoopIterationStarted, 1, iter=2)),
    "I6 an index beyond the end": ("I6", LOOPED, lambda log: changed(log, facts.LoopStarted, count=1)),
    "I6 an index ends twice": ("I6", LOOPED, lambda log: changed(log, facts.LoopIterationStarted, 2, iter=0)),
    "I6 the loop ends too early": ("I6", LOOPED, lambda log: changed(log, facts.LoopStarted, count=4)),
    "I6 the loop miscounts": ("I6", LOOPED, lambda log: changed(log, facts.LoopDone, done=2)),
    "I6 a failure is passed over": (
        "I6",
        LOOPED,
        lambda log: [
            facts.LoopIterationFailed(ts=1.0, run=1, iter=event.iter, lease=event.lease, error={})
            if isinstance(event, facts.LoopIterationDone) and event.iter == 2
            else event
            for event in changed(log, facts.LoopDone, done=2, failed=1)
        ],
    ),
    "I6 an inner loop never ends": ("I6", NESTED, lambda log: without(log, facts.LoopDone)),
    "I6 an inner loop of no iteration": ("I6", NESTED, lambda log: changed(log, facts.LoopStarted, 1, parent_iter=1)),
    "I7 more in flight than the playbook allows": (
        "I7",
        LOOPED,
        lambda log: [
            *log[: place(log, facts.LoopIterationStarted, 1) + 1],
            log[place(log, facts.LoopIterationStarted, 2)],
        ],
    ),
    "I7 a loop that allows itself more": ("I7", LOOPED, lambda log: changed(log, facts.LoopStarted, max_in_flight=3)),
    "I7 a sequential loop side by side": (
        "I7",
        NESTED,
        lambda log: changed(log, facts.LoopStarted, 1, max_in_flight=2),
    ),
    "I11 after the end": ("I11", ROUTED, lambda log: [*log, log[-1]]),
    "I11 after the finish": ("I11", ROUTED, lambda log: [*log[:-1], facts.SignalReceived(ts=1.0, patches=[])]),
    "I11 another result": ("I11", ROUTED, lambda log: changed(log, facts.PlaybookProcessed, result="failed")),
    "I11 a finish with something left": ("I11", ROUTED, lambda log: [*log[:-10], *log[-2:]]),
    "I11 no beginning": ("I11", ROUTED, lambda log: log[1:]),
    "I11 a beginning twice": ("I11", ROUTED, lambda log: doubled(log, facts.WorkflowStarted)),
    "I11 a run starts twice": ("I11", ROUTED, lambda log: doubled(log, facts.StepStarted)),
    "I11 work in an incident": (
        "I11",
        ROUTED,
        lambda log: [*log[:5], facts.EngineError(ts=1.0, message="no"), *log[5:]],
    ),
}


@pytest.mark.spec("EV-06")
@pytest.mark.parametrize("name", BAD)
def test_one_thing_that_is_wrong_in_a_log_is_found(name):
    invariant, text, spoil = BAD[name]
    log = played(text, {"a": [NO, NO, "yes"]} if text is RETRIED else {"bad": NO} if text is UNDONE else None).log

    with pytest.raises(Violation) as found:
        read(spoil(list(log)), WINDOWS)

    assert found.value.invariant == invariant
    assert found.value.execution_id == 1


@pytest.mark.spec("EV-06")
@pytest.mark.parametrize("first_seq", [2, 4])
def test_a_gap_and_an_overlap_are_found(first_seq):
    log = played(ROUTED).log
    found = read(log[:2])

    with pytest.raises(Violation, match="I1: "):
        read_appended(found, first_seq, log[2:], 0.0)


@pytest.mark.spec("RO-03")
def test_a_lease_is_over_once_another_one_was_heard():
    log = played(ROUTED).log
    at = place(log, facts.StepStarted)
    later = [msgspec.structs.replace(event, lease=9) for event in log[at + 1 : at + 3]]
    back = msgspec.structs.replace(log[at + 3], lease=log[at].lease)

    with pytest.raises(Violation, match="I2: "):
        read([*log[: at + 1], *later, back])


@pytest.mark.spec("LP-07")
def test_no_iteration_begins_after_one_has_failed():
    log = played(LOOPED).log
    at = place(log, facts.LoopIterationDone)
    failed = facts.LoopIterationFailed(ts=1.0, run=1, iter=log[at].iter, lease=log[at].lease, error={})

    with pytest.raises(Violation, match=r"I6: .* began after one had failed"):
        read([*log[:at], failed, *log[at + 1 :]])


def test_ctx_is_the_fold_of_its_patches_at_any_depth():
    log = played(ROUTED).log
    signals = [Patch("ctx.x.y.z", 1), Patch("ctx.x.y.w", [2]), Patch("step.q", 3), Patch("ctx.k", None)]
    at = place(log, facts.StepDone) + 1

    found = read([*log[:at], facts.SignalReceived(ts=1.0, patches=signals)])

    assert found.ctx == {"x": {"y": {"z": 1, "w": [2]}}, "k": None}


@pytest.mark.parametrize(
    "event",
    [facts.PlaybookCancelRequested(ts=1.0), facts.WorkflowStarted(ts=1.0, entry="start", token=1)],
    ids=["cancelled", "started"],
)
def test_nothing_happens_to_an_execution_that_never_began(event):
    with pytest.raises(Violation, match="I11: "):
        read([facts.EngineError(ts=1.0, message="no"), event])


@pytest.mark.parametrize(
    ("message", "invariant"),
    [
        ("I4: run 1 of step start is ended, so step.done cannot follow (Report)", "I4"),
        ("KeyError while deciding (Report)", "engine"),
        ("TypeError while handing out", "engine"),
    ],
)
def test_an_incident_that_is_a_fault_of_the_engine_is_found(message, invariant):
    with pytest.raises(Violation) as found:
        read([facts.EngineError(ts=1.0, message=message)])

    assert found.value.invariant == invariant


@pytest.mark.parametrize("message", ["RuntimeError while deciding (Report)", "the result store cannot be reached"])
def test_an_incident_that_the_world_brought_about_passes(message):
    assert read([facts.EngineError(ts=1.0, message=message)]).incident == "open"
