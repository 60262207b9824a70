"""Marks for a slider over a log: what is worth one, and how many there are."""

from collections import Counter
from itertools import pairwise

from noetl.engine import events as facts
from noetl.projections.landmarks import MARKS_MAX, Landmarks
from noetl.projections.visits import FIRST_MAX, LAST_MAX, RAN, SKIPPED, WAITED, Visits
from tests.engine.books import engine, ran

FAN = """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}
  - {step: a, tool: {kind: noop}, next: {arcs: [{step: end}]}}
  - {step: b, tool: {kind: noop}, next: {arcs: [{step: end}]}}
  - {step: end, spec: {policy: {admit: {join: all}}}, tool: {kind: noop}}
"""


def marked(log: list[facts.Event]) -> list[dict]:
    marks = Landmarks()
    for seq, event in enumerate(log, 1):
        marks.apply(seq, event)
    return marks.marks()


def test_beginnings_ends_and_failures_are_marked_with_their_step():
    found = marked(ran(FAN).log)

    assert [(mark["name"], mark["step"]) for mark in found if mark["kind"] == "step"][:2] == [
        ("step.scheduled", "start"),
        ("step.done", "start"),
    ]
    assert found[0]["name"] == "playbook.execution.requested"
    assert found[-1]["name"] == "playbook.processed"
    assert [mark["seq"] for mark in found] == sorted(mark["seq"] for mark in found)


def test_of_many_marks_few_are_kept_and_what_is_rare_stays():
    log: list[facts.Event] = [facts.WorkflowStarted(ts=0.0, entry="a", token=1)]
    for run in range(1, 20_000):
        log.append(facts.StepScheduled(ts=float(run), run=run, step="a", tokens=[]))
        log.append(facts.StepDone(ts=float(run), run=run, step="a", output={}))
    log.insert(777, facts.SignalReceived(ts=1.0, patches=[]))
    log.append(facts.StepFailed(ts=9e9, run=1, step="a", error={}))

    found = marked(log)

    kinds = Counter(mark["kind"] for mark in found)
    assert len(found) <= MARKS_MAX
    assert (kinds["signal"], kinds["failure"], kinds["execution"]) == (1, 1, 1)
    assert kinds["step"] > MARKS_MAX / 4
    assert max(later["seq"] - mark["seq"] for mark, later in pairwise(found)) < len(log) / 100


# --- visits ----------------------------------------------------------------------------------------------------------


def visited(log: list[facts.Event]) -> Visits:
    visits = Visits()
    for seq, event in enumerate(log, 1):
        visits.apply(seq, event)
    return visits


def test_a_visit_knows_the_events_whose_arcs_sent_its_tokens():
    made = ran(FAN)

    found = visited(made.log)

    (end,) = found.of_steps["end"]
    senders = [seq for seq, event in enumerate(made.log, 1) if isinstance(event, facts.NextEvaluated)]
    assert (end.happened, end.sent_by) == (RAN, tuple(senders[1:3]))
    (start,) = found.of_steps["start"]
    assert start.sent_by == (0,)
    assert [one.targets for one in found.routed["start"]] == [{"a", "b"}]


def test_a_token_that_waits_and_is_skipped_is_followed():
    gate = "{policy: {admit: {rules: [{when: '{{ ctx.go }}', then: {allow: true}}, {else: {then: {allow: false}}}]}}}"
    made = engine(
        f"""
        workflow:
          - {{step: start, next: {{arcs: [{{step: held}}]}}}}
          - {{step: held, spec: {gate}, tool: {{kind: noop}}}}
        """
    )
    made.start()
    made.run()

    found = visited(made.log)

    assert [visit.happened for visit in found.of_steps["held"]] == [WAITED, SKIPPED]
    assert len({visit.sent_by for visit in found.of_steps["held"]}) == 1


def test_of_many_visits_the_first_and_the_last_are_kept():
    visits = Visits()
    for run in range(1, 1001):
        visits.apply(run, facts.StepScheduled(ts=0.0, run=run, step="a", tokens=[]))

    found = visits.of_steps["a"]

    kept = [visit.run for visit in found]
    assert found.count == 1000
    assert kept[:FIRST_MAX] == list(range(1, FIRST_MAX + 1))
    assert kept[-1] == 1000
    assert len(kept) == FIRST_MAX + LAST_MAX
