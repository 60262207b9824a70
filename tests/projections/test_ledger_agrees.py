"""What a ledger keeps adds up to what `show` says, over every kept log, at every event of it."""

import msgspec
import pytest

from noetl.engine.events import TaskDone, TaskStarted
from noetl.projections.envelopes import Envelopes
from noetl.projections.iterations import DONE, FAILED
from noetl.projections.ledger import Ledger
from noetl.projections.lines import Sought
from noetl.projections.pages import attempt_page, timeline_page
from noetl.projections.progress import Progress
from noetl.projections.timeline import Timeline, show
from tests.golden.keeping import goldens

ALL = 10_000
GOLDENS = goldens()
each = pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: golden.name)


def folded(log):
    ledger = Ledger(4097)
    ledger.apply(enumerate(log, 1))
    return ledger


def shown(log):
    progress, timeline = Progress(), Timeline()
    for event in log:
        progress.apply(event)
        timeline.apply(event)
    return show(4097, progress, timeline)


@each
def test_its_runs_are_those_of_show(golden):
    log = golden.log

    page = timeline_page(folded(log), 0, ALL)

    wanted = shown(log)
    rows = {row["run"]: row for row in page["runs"]}
    assert list(rows) == [row["run"] for row in wanted["runs"]]
    kept_ms = (page["duration_ms"] or 0) - (wanted["duration_ms"] or 0)  # of a rerun: what it keeps of another
    assert kept_ms >= 0 if wanted["forked_from"] else kept_ms == 0
    for row in wanted["runs"]:
        found = rows[row["run"]]
        assert [found[key] for key in ("step", "status", "retries", "compensates")] == [
            row[key] for key in ("step", "status", "retries", "compensates")
        ]
        assert found["loop"] == row["loop"]
        began = found["scheduled_ms"] if found["started_ms"] is None else found["started_ms"]
        assert abs(began - row["offset_ms"]) <= 1
        assert (found["error"] is None) == (row["error"] is None)


@each
def test_its_sums_are_those_of_show(golden):
    log = golden.log

    ledger = folded(log)

    progress = Progress()
    for event in log:
        progress.apply(event)
    counts = [one for step in progress.steps for one in (step.loop, step.nested) if one is not None]
    loops = ledger.iterations.loops.values()
    assert sum(one.total for one in counts) == sum(loop.total for loop in loops)
    assert sum(one.done for one in counts) == sum(loop.counts[DONE] for loop in loops)
    assert sum(one.failed for one in counts) == sum(loop.counts[FAILED] for loop in loops)
    assert sum(row["retries"] for row in timeline_page(ledger, 0, ALL)["runs"]) >= sum(
        step.retries for step in progress.steps
    )  # those of compensations are in no step's row


@pytest.mark.spec("EV-04")
@each
def test_each_attempt_is_one_row_with_the_events_it_began_and_ended_with(golden):
    log = golden.log

    rows = attempt_page(folded(log), None, None, 0, ALL)["attempts"]

    began = [seq for seq, event in enumerate(log, 1) if isinstance(event, TaskStarted)]
    answered = {seq for seq, event in enumerate(log, 1) if isinstance(event, TaskDone)}
    assert [row["seq_started"] for row in rows] == began
    assert {row["seq_ended"] for row in rows if row["status"] in ("ok", "error", "skipped")} == answered
    for row in rows:
        start = log[row["seq_started"] - 1]
        assert (row["task"], row["kind"], row["attempt"]) == (start.task, start.kind, start.attempt)


@each
def test_attempts_of_runs_add_up_to_all_of_them(golden):
    ledger = folded(golden.log)

    runs = timeline_page(ledger, 0, ALL)["runs"]

    assert sum(row["attempts"] for row in runs) == ledger.attempts.count


@each
def test_what_has_ended_has_nothing_under_way(golden):
    ledger = folded(golden.log)

    rows = attempt_page(ledger, None, None, 0, ALL)["attempts"]

    if ledger.progress.result:
        assert not [row for row in rows if row["status"] in ("running", "waiting")]
        assert not [loop for loop in ledger.iterations.loops.values() if loop.counts[0]]


@each
def test_names_in_the_middle_are_those_of_a_log_read_from_the_start(golden):
    ledger = folded(golden.log)
    envelopes = Envelopes(4097)

    for seq, event in enumerate(golden.log, 1):
        envelopes.remember(event)

        assert ledger.run_names.at(seq) == envelopes.steps


@each
def test_fed_in_two_parts_it_is_the_same(golden):
    log = golden.log
    whole = folded(log)

    for cut in range(0, len(log), 7):
        parts = Ledger(4097)
        parts.apply(enumerate(log[:cut], 1))
        parts.apply(enumerate(log[cut:], cut + 1))

        assert timeline_page(parts, 0, ALL) == timeline_page(whole, 0, ALL)
        assert attempt_page(parts, None, None, 0, ALL) == attempt_page(whole, None, None, 0, ALL)
        assert list(parts.lines.after(0, Sought())) == list(whole.lines.after(0, Sought()))
        assert msgspec.to_builtins(parts.progress.steps) == msgspec.to_builtins(whole.progress.steps)


@each
def test_every_failure_and_every_printed_line_is_told(golden):
    log = golden.log

    places = list(folded(log).lines.after(0, Sought()))

    printed = {seq: len(event.logs) for seq, event in enumerate(log, 1) if isinstance(event, TaskDone) and event.logs}
    assert {place.seq: place.printed for place in places if place.printed} == printed
    assert len({place.seq for place in places}) == len(places)
