"""Loops: collections, windows, counts, nests, and a size that does not follow the length."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.engine import commands as ops
from noetl.engine.commands import BlobMade, CountWanted, ElementWanted, JobAdded, ListWanted, MoreWanted, Report
from noetl.engine.decide import decide
from noetl.engine.events import Event, LoopIterationDone, LoopIterationFailed, encode
from noetl.engine.looping import WINDOW_MAX
from noetl.engine.net import Net
from noetl.engine.output import Output, failure
from noetl.engine.state import State, canonical
from noetl.references import LINES, Reference
from noetl.testing.engine import Engine, playbook_of
from tests.engine.books import HEAD, engine, ran

NO = failure("client_error", "no")


def loop(collection: str, spec: str = "", more: str = "", inner: str = "") -> str:
    """A step with this loop, whose iterations give their element."""
    return f"""
        workload: {{items: [1, 2, 3], ref: null}}
        workflow:
          - step: start
            loop: {{in: {collection}, iterator: n, spec: {{{spec}}}{inner}}}
            {more}
            tool: [{{name: a, kind: noop, input: {{n: "{{{{ iter.n }}}}"}}}}]
    """


def elements(made: Engine) -> list[Any]:
    return [one["n"] for one in made.state.output["data"]]


def in_flight(made: Engine, run: int = 1) -> list[int]:
    found = made.state.runs[run].loop
    assert found is not None
    return list(found.in_flight)


# --- what a loop runs over -------------------------------------------------------------------------------------------


@pytest.mark.spec("LP-01", "LP-02", "LP-03")
@pytest.mark.parametrize(
    ("collection", "expected"),
    [
        ('"{{ workload.items }}"', [1, 2, 3]),
        ('[x, "{{ workload.items[0] }}", {k: v}]', ["x", 1, {"k": "v"}]),
        ('"{{ range(3) }}"', [0, 1, 2]),
        ('"{{ range(10, 0, -4) }}"', [10, 6, 2]),
        ('"{{ workload.items | reverse | list }}"', [3, 2, 1]),
    ],
)
def test_a_loop_runs_over_a_list_or_a_range_in_order(collection: str, expected: list[Any]) -> None:
    made = ran(loop(collection))

    assert elements(made) == expected
    assert [event.iter for event in made.events("loop.iteration.started")] == list(range(len(expected)))


@pytest.mark.spec("LP-02", "LP-10")
def test_a_range_is_never_written_out() -> None:
    made = engine(loop('"{{ range(1000000) }}"', "mode: parallel, max_in_flight: 2"))
    made.start()

    (started,) = made.events("loop.started")
    assert (started.count, started.items, started.range) == (1_000_000, None, [0, 1_000_000, 1])
    assert len(canonical(made.state)) < 5_000


@pytest.mark.spec("LP-02", "TK-19")
@pytest.mark.parametrize(
    ("found", "kind"), [({"a": 1}, "a mapping"), ("text", "text"), (None, "nothing"), (3, "int"), (True, "bool")]
)
def test_anything_else_fails_the_step_and_says_what_it_got(found: Any, kind: str) -> None:
    made = ran(loop('"{{ workload.ref }}"'), ref=found)

    error = made.state.error
    assert (made.status, error["kind"], error["step"]) == ("failed", "type", "start")
    assert f"needs a list, a range or a reference to a list, but got {kind}" in error["message"]
    assert made.names("loop") == []


@pytest.mark.spec("LP-02")
def test_a_failed_collection_can_be_handled_by_an_arc() -> None:
    made = ran(
        loop('"{{ workload.ref }}"', more="next: {arcs: [{step: rescue, when: \"{{ event.name == 'step.failed' }}\"}]}")
        + "      - {step: rescue, tool: {kind: noop, input: {saved: true}}}\n"
    )

    assert made.status == "success"
    assert made.state.output["data"] == {"saved": True}


@pytest.mark.spec("LP-02")
@pytest.mark.parametrize("content_type", ["application/json", LINES])
def test_a_reference_is_counted_first_and_then_handed_out_by_index(content_type: str) -> None:
    ref = Reference(type="blob", locator="x", content_type=content_type).as_data()
    made = engine(loop('"{{ workload.ref }}"', "mode: parallel"))
    made.start({"ref": ref})
    (wanted,) = (change for change in made.changes if isinstance(change, CountWanted))

    made.do(ops.Counted(execution_id=1, run=1, ref=ref, count=3))
    made.do(ops.Counted(execution_id=1, run=1, ref=ref, count=3))  # asked again after a crash: once is enough

    assert wanted.ref == ref
    assert [(one.count, one.ref) for one in made.events("loop.started")] == [(3, ref)]
    assert in_flight(made) == [0, 1, 2]


@pytest.mark.spec("LP-02")
def test_a_reference_that_cannot_be_read_fails_the_step() -> None:
    ref = Reference(type="blob", locator="x").as_data()
    made = engine(loop('"{{ workload.ref }}"'))
    made.start({"ref": ref})

    made.do(ops.Counted(execution_id=1, run=1, ref=ref, error={"kind": "ref_missing", "message": "gone"}))

    assert (made.status, made.state.error["kind"]) == ("failed", "ref_missing")


@pytest.mark.spec("LP-02", "LP-09")
def test_an_inner_loop_made_from_a_stored_list_asks_for_each_outer_element() -> None:
    ref = Reference(type="blob", locator="x").as_data()
    text = loop('"{{ workload.ref }}"', inner=', loop: {in: "{{ iter.n.parts }}", iterator: part}')
    made = engine(text.replace('"{{ iter.n }}"', '"{{ iter.part }}"'))
    made.start({"ref": ref})
    made.do(ops.Counted(execution_id=1, run=1, ref=ref, count=2))

    stored = [{"parts": [1, 2]}, {"parts": []}]
    while not made.state.is_ended:
        wanted = [change for change in made.changes if isinstance(change, ElementWanted)]
        made.changes.clear()
        for one in wanted:
            made.do(ops.ElementRead(execution_id=1, run=one.run, iter=one.iter, element=stored[one.iter]))
        made.run()

    assert made.state.output["data"] == [[{"n": 1}, {"n": 2}], []]


@pytest.mark.spec("RS-01", "LP-09")
def test_an_element_of_a_stored_list_that_no_event_can_hold_fails_its_iteration() -> None:
    ref = Reference(type="blob", locator="x").as_data()
    made = engine(loop('"{{ workload.ref }}"', inner=', loop: {in: "{{ iter.n.parts }}", iterator: part}'))
    made.start({"ref": ref})
    made.do(ops.Counted(execution_id=1, run=1, ref=ref, count=2))

    made.do(ops.ElementRead(execution_id=1, run=1, iter=0, element={"parts": [1], "big": "x" * 100_000}))

    [failed] = made.events("loop.iteration.failed")
    assert (failed.iter, failed.error["kind"]) == (0, "limit")
    assert "over limits.max_payload_bytes" in failed.error["message"]
    assert made.status == "failed"
    assert max(len(encode(event)) for event in made.log) < 65_536


@pytest.mark.spec("RS-04", "LP-02")
def test_a_loop_over_the_data_of_a_stored_result_names_resolve() -> None:
    ref = Reference(type="blob", locator="x").as_data()

    made = ran(
        """
        workflow:
          - {step: start, tool: [{name: a, kind: noop}], next: {arcs: [{step: each}]}}
          - {step: each, loop: {in: "{{ output.data }}", iterator: n}, tool: {kind: noop}}
        """,
        {"a": Output(data=ref)},
    )

    assert (made.status, made.state.error["kind"]) == ("failed", "ref_misuse")
    assert "resolve" in made.state.error["message"]


@pytest.mark.spec("LP-02", "LP-10")
def test_a_long_list_is_stored_once_and_leaves_the_state() -> None:
    made = engine(loop('"{{ workload.items }}"', "mode: parallel, max_in_flight: 2"))
    made.start({"items": ["x" * 100] * 2000})

    (started,) = made.events("loop.started")
    blobs = [change for change in made.changes if isinstance(change, BlobMade)]
    (blob,) = (change for change in blobs if change.sha256 == started.ref["meta"]["sha256"])
    assert msgspec.json.decode(blob.data) == ["x" * 100] * 2000
    assert (started.items, started.count, started.ref["meta"]["sha256"]) == (None, 2000, blob.sha256)


@pytest.mark.spec("LP-11")
@pytest.mark.parametrize("mode", ["sequential", "parallel"])
@pytest.mark.parametrize("collection", ["[]", '"{{ range(0) }}"'])
def test_an_empty_list_completes_at_once_with_loop_done(collection: str, mode: str) -> None:
    made = engine(loop(collection, f"mode: {mode}", 'set: {ctx.counts: "{{ output.loop }}"}'))
    made.start()

    counts = {"total": 0, "done": 0, "failed": 0, "skipped": 0}
    assert made.status == "success"
    assert made.names("loop") == ["loop.started", "loop.done"]
    assert made.state.output["data"] == []
    assert made.state.ctx == {"counts": counts}


@pytest.mark.spec("LP-11", "LP-09")
def test_empty_lists_inside_a_loop_complete_too() -> None:
    made = engine(loop('"{{ range(2000) }}"', inner=", loop: {in: [], iterator: m}").replace("iter.n }", "iter.m }"))
    made.start()

    while more := [change for change in made.changes if isinstance(change, MoreWanted)]:
        made.changes.clear()
        made.do(ops.Continue(execution_id=1, run=more[0].run))

    assert made.status == "success"
    assert made.state.output["data"] == [[]] * 2000


# --- how many at once ------------------------------------------------------------------------------------------------


@pytest.mark.spec("LP-01", "LP-03", "LP-04")
def test_a_sequential_loop_has_one_iteration_in_flight() -> None:
    made = engine(loop("[1, 2, 3]"))
    made.start()

    seen = []
    while not made.state.is_ended:
        seen.append(in_flight(made))
        made.run_job(1, seen[-1][0])

    assert seen == [[0], [1], [2]]


@pytest.mark.spec("LP-04")
@given(st.integers(1, 6), st.integers(0, 20), st.randoms(use_true_random=False))
def test_max_in_flight_is_never_exceeded_and_always_used(limit: int, count: int, chance: Any) -> None:
    made = engine(loop(f'"{{{{ range({count}) }}}}"', f"mode: parallel, max_in_flight: {limit}"))
    made.start()

    ended = 0
    while not made.state.is_ended:
        flying = in_flight(made)
        assert len(flying) == min(limit, count - ended)
        made.run_job(1, chance.choice(flying))
        ended += 1

    assert elements(made) == list(range(count))


@pytest.mark.spec("LP-04")
def test_max_in_flight_is_counted_per_loop_instance() -> None:
    inner = ", loop: {in: [1, 2, 3], iterator: m, spec: {mode: parallel, max_in_flight: 2}}"
    made = engine(loop("[1, 2, 3]", "mode: parallel, max_in_flight: 2", inner=inner))
    made.start()

    assert [in_flight(made, run) for run in made.state.runs] == [[0, 1], [0, 1], [0, 1]]


@pytest.mark.spec("LP-12", "LP-04")
def test_mode_and_max_in_flight_may_stand_under_policy() -> None:
    made = engine(loop("[1, 2, 3]", "policy: {mode: parallel, max_in_flight: 2}"))
    made.start()

    assert in_flight(made) == [0, 1]


@pytest.mark.spec("LP-03")
def test_a_parallel_loop_may_complete_in_any_order_with_stable_ids() -> None:
    made = engine(loop("[a, b, c]", "mode: parallel"))
    made.start()

    for index in (2, 0, 1):
        made.run_job(1, index)

    done = made.events("loop.iteration.done")
    assert [(event.run, event.iter) for event in done] == [(1, 2), (1, 0), (1, 1)]
    assert elements(made) == ["a", "b", "c"]


@pytest.mark.spec("LP-05")
@pytest.mark.parametrize(
    ("executor", "policy", "is_local"),
    [
        ("", "", False),
        ("", "exec: local", True),
        ("", "exec: distributed", False),
        ("executor: {profile: local}", "", True),
        ("executor: {profile: local}", "exec: distributed", False),
    ],
)
def test_the_jobs_of_a_local_loop_go_to_one_lease_and_others_are_jobs_of_their_own(
    executor: str, policy: str, is_local: bool
) -> None:
    text = loop("[1, 2, 3]", f"mode: parallel, policy: {{{policy}}}" if policy else "mode: parallel")
    made = Engine(HEAD + (executor + "\n" if executor else "") + text.replace("\n        ", "\n"))
    made.start()

    added = [change for change in made.changes if isinstance(change, JobAdded)]
    assert [change.key for change in added] == [(1, 1, 0), (1, 1, 1), (1, 1, 2)]
    assert {change.group for change in added} == ({1} if is_local else {0})


@pytest.mark.spec("LP-05", "LP-09")
def test_the_loops_inside_a_local_loop_stay_on_its_lease() -> None:
    inner = ", loop: {in: [1, 2], iterator: m, spec: {mode: parallel}}"
    made = engine(loop("[1, 2]", "mode: parallel, policy: {exec: local}", inner=inner))
    made.start()

    added = [change for change in made.changes if isinstance(change, JobAdded)]
    assert len(added) == 4
    assert {change.group for change in added} == {1}


# --- failures --------------------------------------------------------------------------------------------------------

BEST_EFFORT = "spec: {policy: {failure: {mode: best_effort}}}"


@pytest.mark.spec("LP-07")
def test_one_failed_iteration_fails_the_step_and_no_further_one_starts() -> None:
    made = ran(loop('"{{ range(1000) }}"'), {"a": [1, 2, NO]})

    assert (made.status, made.state.error["kind"], made.state.error["iteration"]) == ("failed", "client_error", "2")
    assert len(made.events("loop.iteration.started")) == 3
    assert made.names("loop.done") == []
    assert made.state.outputs["start"]["loop"] == {"total": 1000, "done": 2, "failed": 1, "skipped": 997}


@pytest.mark.spec("LP-07")
def test_iterations_in_flight_finish_and_are_counted() -> None:
    made = engine(loop('"{{ range(10) }}"', "mode: parallel, max_in_flight: 3"), {"a": [NO, 1, NO]})
    made.start()

    made.run_job(1, 1)
    is_open = made.state.status
    made.run()

    assert is_open == "running"
    assert made.state.outputs["start"]["loop"] == {"total": 10, "done": 1, "failed": 2, "skipped": 7}
    assert made.state.error["iteration"] == "1"  # the first failure is the step's error


@pytest.mark.spec("LP-07", "LP-08")
@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_best_effort_finishes_all_reports_counts_and_leaves_null_in_failed_places(mode: str) -> None:
    made = ran(loop("[1, 2, 3, 4]", f"mode: {mode}", BEST_EFFORT), {"a": [{"n": 1}, NO, {"n": 3}, NO]})

    counts = {"total": 4, "done": 2, "failed": 2, "skipped": 0}
    (done,) = made.events("loop.done")
    assert made.status == "success"
    assert made.state.output["data"] == [{"n": 1}, None, {"n": 3}, None]
    assert made.state.output["loop"] == counts
    assert {key: getattr(done, key) for key in counts} == counts


@pytest.mark.spec("LP-08", "LP-10")
def test_many_null_places_are_a_reference_like_any_large_list() -> None:
    count = 20_000
    model = _Bare(count, BEST_EFFORT)

    model.run(lambda run, index: LoopIterationFailed(ts=1.0, run=run, iter=index, lease=1, error={"kind": "limit"}))

    assert [change for change in model.changes if isinstance(change, ListWanted)]


# --- what is recorded ------------------------------------------------------------------------------------------------


@pytest.mark.spec("LP-08")
def test_every_part_of_a_loop_is_recorded_in_order() -> None:
    made = ran(loop("[1, 2]"))

    iteration = ["loop.iteration.started", "task.started", "task.done", "loop.iteration.done"]
    assert made.names("loop", "task") == ["loop.started", *iteration, *iteration, "loop.done"]
    assert made.state.output["loop"] == {"total": 2, "done": 2, "failed": 0, "skipped": 0}


@pytest.mark.spec("LP-08", "LP-09")
def test_nested_loops_give_nested_lists() -> None:
    inner = ', loop: {in: "{{ range(iter.n) }}", iterator: m, loop: {in: [x, y], iterator: k}}'
    text = loop("[2, 0, 1]", "mode: parallel", inner=inner)
    made = ran(text.replace('n: "{{ iter.n }}"', 'is: "{{ iter.parent.parent.n }}{{ iter.parent.m }}{{ iter.k }}"'))

    data = [[[cell["is"] for cell in row] for row in block] for block in made.state.output["data"]]
    assert data == [[["20x", "20y"], ["21x", "21y"]], [], [["10x", "10y"]]]


@pytest.mark.spec("LP-09", "LP-07")
def test_a_failed_inner_loop_fails_its_outer_iteration_and_the_step() -> None:
    made = ran(loop("[1, 2]", inner=", loop: {in: [a, b], iterator: m}"), {"a": [1, NO]})

    assert made.state.error["iteration"] == "0.1"
    assert made.names("loop.iteration.failed") == ["loop.iteration.failed"] * 2
    assert made.state.outputs["start"]["loop"] == {"total": 2, "done": 0, "failed": 1, "skipped": 1}


@pytest.mark.spec("LP-06", "LP-09", "SC-03")
@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_pages_are_streamed_inside_the_iterations_of_an_outer_loop(mode: str) -> None:
    made = ran(
        """
        workflow:
          - step: start
            loop: {in: [2, 3], iterator: pages, spec: {mode: %s, policy: {reducers: {ctx.stored: append}}}}
            tool:
              - {name: init, kind: noop, set: {iter.page: 1}}
              - {name: fetch, kind: noop, input: {page: "{{ iter.page }}", last: "{{ iter.page >= iter.pages }}"}}
              - {name: store, kind: noop, input: {row: "{{ iter.pages }}-{{ fetch.data.page }}"}}
              - name: decide
                kind: noop
                spec: {policy: {rules: [
                  {when: "{{ fetch.data.last }}", then: {do: break, set: {ctx.stored: "{{ store.data.row }}"}}},
                  {else: {then: {do: jump, to: fetch, set: {iter.page: "{{ iter.page + 1 }}"}}}}]}}
        """.replace("%s", mode)
    )

    stored = [one.input["row"] for one in made.invocations if one.task.label == "store"]
    assert made.status == "success"
    assert stored == ["2-1", "2-2", "3-1", "3-2", "3-3"]


# --- size ------------------------------------------------------------------------------------------------------------


class _Bare:
    """A loop decided by itself: nothing is kept but the state, and nothing is replayed."""

    def __init__(self, count: int, more: str = "", spec: str = "mode: parallel") -> None:
        text = loop(f'"{{{{ range({count}) }}}}"', spec, more)
        self.playbook = playbook_of(HEAD + text.replace("\n        ", "\n"))
        self.net = Net(self.playbook)
        self.state = State(execution_id=1)
        self.changes: list[ops.Change] = []
        self.events = 0
        self.do(ops.Start(execution_id=1, path="t", version=1, sha="s"))

    def do(self, operation: ops.Operation) -> None:
        decision = decide(self.playbook, self.net, self.state, operation, 1.0)
        self.events += len(decision.events)
        self.changes = [change for change in decision.changes if isinstance(change, ListWanted | MoreWanted)]

    def run(self, ended: Any, every: int = 10_000) -> Iterator[int]:
        """End iterations, the youngest of the window first now and then; the sizes of the state on the way."""
        return iter(list(self._run(ended, every)))

    def _run(self, ended: Any, every: int) -> Iterator[int]:
        rounds = 0
        while (run := self.state.runs.get(1)) and run.loop and run.loop.in_flight:
            flying = list(run.loop.in_flight)
            index = flying[-1] if rounds % 3 == 0 else flying[0]
            event: Event = ended(1, index)
            self.do(Report(execution_id=1, run=1, iter=index, lease=1, n=1, events=[event]))
            rounds += 1
            if rounds % every == 0:
                yield len(canonical(self.state))


def done_with(run: int, index: int) -> LoopIterationDone:
    output = {"status": "ok", "data": {"n": index}, "ref": None, "error": None, "meta": {"attempt": 1}}
    return LoopIterationDone(ts=1.0, run=run, iter=index, lease=1, output=output)


@pytest.mark.spec("LP-10")
@pytest.mark.slow
def test_the_state_of_a_long_loop_follows_what_is_in_flight_and_not_its_length() -> None:
    model = _Bare(100_000, spec="mode: parallel, max_in_flight: 50")

    sizes = list(model.run(done_with))

    assert len(sizes) >= 9
    assert max(sizes) - min(sizes) < 4_000
    assert max(sizes) < 60_000
    assert [change for change in model.changes if isinstance(change, ListWanted)]


@pytest.mark.spec("LP-10", "LP-04")
def test_a_loop_without_max_in_flight_has_a_window_too() -> None:
    model = _Bare(1_000_000)

    found = model.state.runs[1].loop
    assert found is not None
    assert len(found.in_flight) == WINDOW_MAX


@pytest.mark.spec("LP-08", "LP-10")
def test_data_that_outgrows_an_event_is_collected_from_the_log_into_a_reference() -> None:
    made = engine(loop('"{{ range(30) }}"', "mode: parallel"), {"a": Output(data="x" * 3000)})
    made.start()
    made.run()

    (wanted,) = (change for change in made.changes if isinstance(change, ListWanted))
    ref = Reference(type="blob", locator="list").as_data()
    made.do(ops.Collected(execution_id=1, run=wanted.run, ref=ref))

    (done,) = made.events("loop.done")
    assert made.status == "success"
    assert "data" not in done.output
    assert (done.output["ref"], done.output["loop"]["done"]) == (ref, 30)
