"""Tasks counted from the log: kinds, outcomes, seconds, bytes, and bounds on all of them."""

from noetl.engine.events import TaskDone, TaskStarted
from noetl.projections import tallies
from noetl.projections.tallies import OTHER, UNKNOWN, Tallies
from noetl.references import Reference

IDS = {"ts": 1.0, "run": 1, "iter": -1, "task": "fetch", "visit": 1, "attempt": 1}


def ended(status="ok", duration_ms=30.0, ref=None, **facts):
    output = {"status": status, "data": None, "ref": ref, "error": None, "meta": {"duration_ms": duration_ms}}
    return TaskDone(**IDS, do=facts.pop("do", "continue"), output=output, **facts)


def begun(kind="http"):
    return TaskStarted(**IDS, kind=kind)


def test_attempts_are_counted_by_kind_and_outcome():
    counted = Tallies()

    counted.apply(7, [begun(), ended(), begun(), ended("error", do="retry")])
    counted.apply(8, [begun("python"), ended(do="skip")])

    assert dict(counted.ended) == {("http", "ok"): 1, ("http", "error"): 1, ("python", "skipped"): 1}


def test_an_attempt_that_began_in_an_earlier_share_has_its_kind():
    counted = Tallies()

    counted.apply(7, [begun()])
    counted.apply(8, [begun("python")])
    counted.apply(7, [ended()])

    assert dict(counted.ended) == {("http", "ok"): 1}


def test_an_attempt_whose_beginning_another_server_heard_of_is_of_an_unknown_kind():
    counted = Tallies()

    counted.apply(7, [ended()])

    assert dict(counted.ended) == {(UNKNOWN, "ok"): 1}


def test_seconds_fall_below_their_bound():
    counted = Tallies()

    counted.apply(
        7, [begun(), ended(duration_ms=1.0), begun(), ended(duration_ms=1.5), begun(), ended(duration_ms=1e9)]
    )

    spread = counted.seconds["http"]
    assert (spread.counts[0], spread.counts[1], spread.counts[-1]) == (1, 1, 1)
    assert spread.total == 0.001 + 0.0015 + 1e6


def test_bytes_are_those_of_stored_results():
    counted = Tallies()
    stored = Reference(type="blob", locator="a", bytes=4096).as_data()

    counted.apply(7, [begun(), ended(ref=stored), begun(), ended(ref=None)])

    assert counted.result_bytes == 4096


def test_kinds_without_end_become_one():
    counted = Tallies()

    for number in range(2 * tallies.KINDS_MAX):
        counted.apply(7, [begun(f"kind_{number}"), ended()])

    assert len(counted.seconds) == tallies.KINDS_MAX + 1
    assert counted.ended[OTHER, "ok"] == tallies.KINDS_MAX


def test_tasks_that_never_end_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(tallies, "STARTED_MAX", 10)
    counted = Tallies()

    for execution_id in range(100):
        counted.apply(execution_id, [begun()])
    counted.apply(0, [ended()])
    counted.apply(99, [ended()])

    assert dict(counted.ended) == {(UNKNOWN, "ok"): 1, ("http", "ok"): 1}
