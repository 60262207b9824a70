"""Logs of every released shape fold to the state they folded to, and a newer engine can go on from any of their events.

The files are never edited (README.md beside this one says how to add one), so a test that fails here means that an
execution which is under way somewhere would be read differently by this engine.
"""

from collections.abc import Iterator

import msgspec
import pytest
from msgspec import inspect

from noetl.control.rerun import whole_until
from noetl.control.verify import Audit
from noetl.engine import commands as ops
from noetl.engine.apply import apply, replay
from noetl.engine.events import (
    EVENTS,
    NAMES,
    Event,
    ExecutionForked,
    Fired,
    LoopIterationFailed,
    PlaybookCancelRequested,
    SignalReceived,
    StepFailed,
    WorkflowFinished,
    WorkflowStarted,
    encode,
)
from noetl.engine.state import ENGINE_VERSION, INCIDENT, State, canonical, read, written
from noetl.projections.progress import Progress
from noetl.projections.summary import summary
from tests.golden.keeping import INDEX, Golden, differences, fingerprints, goldens, written_out

GOLDENS = goldens()
FORMATS = [*EVENTS, Fired]
OUTSIDE = (PlaybookCancelRequested, ExecutionForked, SignalReceived)
ENVELOPE = frozenset(Event.__struct_fields__)
each = pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: golden.name)


# --- the files -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("EV-05")
def test_no_file_was_edited_and_none_is_missing():
    known = msgspec.json.decode(INDEX.read_bytes())

    assert fingerprints() == known


@pytest.mark.spec("EV-05")
@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.__name__)
def test_every_shape_has_a_line_with_and_without_each_field_that_may_be_left_out(kind):
    lines = [line for golden in GOLDENS for one in golden.lines for line in shapes_in(one, kind)]

    assert lines, "no golden log has one: add a scene"
    for field in inspect.type_info(kind).fields:
        if not field.required and field.name not in ENVELOPE:
            written_in = [field.name in line for line in lines]
            assert any(written_in), f"no golden log has {field.name}: add a scene"
            assert not all(written_in), f"every golden log has {field.name}: add a scene without it"


def shapes_in(line: bytes, kind: type[msgspec.Struct]) -> Iterator[set[str]]:
    """The keys of each value of one class in a line."""
    body = msgspec.json.decode(line)
    if kind is Fired:
        yield from (set(one) for one in body.get("fired", []))
    elif body["name"] == NAMES[kind]:
        yield set(body)


@each
def test_a_line_is_written_again_as_it_was_read(golden: Golden):
    assert [encode(event) for event in golden.log] == golden.lines


# --- folding ---------------------------------------------------------------------------------------------------------


@each
@pytest.mark.spec("EV-05")
def test_a_log_folds_to_the_states_it_folded_to(golden: Golden):
    for seq, kept in golden.kept.states.items():
        found = replay(1, golden.log[:seq])

        assert list(differences(kept, found)) == []


@each
@pytest.mark.spec("EV-05")
def test_a_log_is_told_to_people_as_it_was_told(golden: Golden):
    progress = Progress()
    for event in golden.log:
        progress.apply(event)
    names = [row["step"] for row in golden.kept.summary["steps"]]

    told = summary(1, progress, names)

    assert {key: told[key] for key in golden.kept.summary} == golden.kept.summary


@each
@pytest.mark.spec("EV-05")
def test_a_snapshot_at_any_event_and_the_rest_of_the_log_give_the_same(golden: Golden):
    log, state = golden.log, State(execution_id=1)
    whole = canonical(replay(1, log))

    for place, event in enumerate(log, 1):
        apply(state, event)
        resumed = read(written(state))
        assert canonical(resumed) == canonical(state)
        for later in log[place:]:
            apply(resumed, later)
        assert canonical(resumed) == whole


@each
@pytest.mark.spec("EV-05")
def test_a_snapshot_that_was_kept_is_the_state_of_today_or_belongs_to_another_engine(golden: Golden):
    """A state that gains a field which is not at its default needs another ENGINE_VERSION: old snapshots lack it."""
    if golden.kept.engine != ENGINE_VERSION:
        pytest.skip("these snapshots are not read any more: the log is folded from its beginning")

    for seq, snapshot in golden.kept.snapshots.items():
        assert canonical(read(bytes(snapshot))) == canonical(replay(1, golden.log[:seq]))


def test_a_field_that_came_later_is_no_difference_and_one_that_went_or_changed_is():
    class Later(msgspec.Struct):
        execution_id: int
        ctx: dict[str, int]
        mood: str = "new"

    kept = written_out(State(execution_id=1, ctx={"a": 1}))
    same = {name: kept[name] for name in ("execution_id", "ctx")}

    assert list(differences(same, Later(1, {"a": 1}))) == []
    assert list(differences(same, Later(1, {"a": 2}))) == ["state.ctx['a'] is 2, but was 1"]
    assert list(differences(same, Later(1, {"a": 1, "b": 1}))) == ["state.ctx['b'] is new"]
    assert list(differences(same, Later(1, {"a": True}))) == ["state.ctx['a'] is True, but was 1"]
    assert "state.path is gone; it was ''" in list(differences(kept, Later(1, {"a": 1})))


# --- taking over -----------------------------------------------------------------------------------------------------


@each
@pytest.mark.spec("EV-05", "TK-15")
def test_a_newer_engine_goes_on_from_any_event_and_ends(golden: Golden):
    """Where nobody stepped in while the log was written, it comes to the end that the log came to."""
    end = None if is_meddled_with(golden) else replay(1, golden.log)

    for seq in points(golden.log):
        made = golden.driven()
        made.take_up(golden.log[:seq])
        made.finish()

        assert audited(made.log) == {}, f"taken up after event {seq}"
        assert made.state.is_ended
        if end:
            assert (made.state.status, made.state.ctx) == (end.status, end.ctx), f"taken up after event {seq}"


def points(log: list[Event]) -> list[int]:
    """Wherever a log can be cut and gone on from: after any event since it began that leaves something to do."""
    begun = next((seq for seq, event in enumerate(log, 1) if isinstance(event, WorkflowStarted)), len(log))
    over = next(seq for seq, event in enumerate(log, 1) if isinstance(event, WorkflowFinished))
    return sorted({whole_until(log, seq) for seq in range(begun, over)})


def is_meddled_with(golden: Golden) -> bool:
    """Whether something came from outside that whoever takes the log up earlier does not know of."""
    is_expired = any(isinstance(event, LoopIterationFailed | StepFailed) and is_lost(event) for event in golden.log)
    return is_expired or any(isinstance(event, OUTSIDE) for event in golden.log)


def is_lost(event: LoopIterationFailed | StepFailed) -> bool:
    return event.error["kind"] in ("timeout", "worker_lost")


@each
def test_a_log_that_never_began_waits_as_an_incident(golden: Golden):
    made = golden.driven()

    made.take_up(golden.log[:1])

    assert (made.state.status, made.names()[-2:]) == (INCIDENT, ["execution.recovered", "engine.error"])


def test_what_is_cut_off_a_fork_is_a_log_of_its_own():
    forks = [golden for golden in GOLDENS if any(isinstance(event, ExecutionForked) for event in golden.log)]

    for golden in forks:
        place = next(place for place, event in enumerate(golden.log) if isinstance(event, ExecutionForked))
        made = golden.driven()
        made.take_up(golden.log[:place])
        made.do(ops.Cancel(execution_id=1))
        made.finish()

        assert audited(made.log) == {}
    assert forks


@each
@pytest.mark.spec("EV-05")
def test_a_golden_log_verifies(golden: Golden):
    assert audited(golden.log) == {}


def audited(log: list[Event]) -> dict[str, str]:
    audit = Audit(1)
    for seq, event in enumerate(log, 1):
        audit.read(seq, event)
    audit.check("I8", audit.ctx == audit.state.ctx, "ctx is not the fold of its patches")
    return audit.faults
