"""Executions at any moment: each log is read once, moments are near, and what is kept is bounded."""

import asyncio

import pytest

from noetl.clock import SystemClock
from noetl.control import moments as module
from noetl.control.moments import History, Moments, weight_of
from noetl.engine import commands as ops
from noetl.engine.apply import replay
from noetl.engine.decide import decide
from noetl.engine.events import Event, PlaybookRequestEvaluated, encode
from noetl.engine.net import Net
from noetl.engine.output import Output
from noetl.engine.pipeline import Pipeline
from noetl.engine.state import State, canonical
from noetl.engine.work import work_of
from noetl.errors import RequestError
from noetl.stores.contract import Append, Batch, Execution
from noetl.testing.engine import answered, playbook_of
from tests.control.test_projected import Counting, Rewritten
from tests.engine.books import HEAD

LOOPED = (
    HEAD
    + """
workflow:
  - step: start
    loop: {in: "{{ range(workload.n) }}", iterator: i, spec: {mode: parallel, max_in_flight: 20}}
    tool: {name: work, kind: noop, input: {i: "{{ iter.i }}"}, set: {iter.x: "{{ output.data }}"}}
"""
)


def looped(count: int, value: str = "x") -> list[Event]:
    """The log of a loop of so many iterations, as a server writes it."""
    playbook = playbook_of(LOOPED)
    net, state, log = Net(playbook), State(execution_id=1), []

    def do(operation: ops.Operation) -> None:
        decision = decide(playbook, net, state, operation, 1.0)
        log.extend(decision.events)
        for change in decision.changes:
            if isinstance(change, ops.ListWanted):
                ref = {"type": "blob", "locator": "x", "auth_reference": None, "meta": {}}
                do(ops.Collected(execution_id=1, run=change.run, ref=ref))

    do(ops.Start(execution_id=1, path="t", version=1, sha="0" * 64, payload={"n": count}))
    while not state.is_ended:
        (run,) = state.runs.values()
        for index in list(run.jobs):
            pipeline = Pipeline(playbook, work_of(playbook, state, run.id, index, 1, ""))
            events, invocation = pipeline.enter(1.0)
            events.append(pipeline.close(invocation, answered(Output(data=value), 1), 1.0))
            events.append(pipeline.finish(1.0))
            do(ops.Report(execution_id=1, run=run.id, iter=index, lease=1, n=1, events=events))
    return log


async def kept(store, log: list[Event], upto: int | None = None, execution_id: int = 1) -> Execution:
    """The log in a store, or more of it; gives the row."""
    row = await store.execution(execution_id)
    if row is None:
        await store.commit(Batch(executions=[Execution(id=execution_id, sha="0" * 64, path="t", version=1)]))
        row = await store.execution(execution_id)
    append = Append(execution_id=execution_id, first_seq=row.head + 1, events=log[row.head : upto], status="running")
    await store.commit(Batch(appends=[append]))
    return await store.execution(execution_id)


@pytest.fixture
def store():
    return Counting()


@pytest.fixture
def moments(store):
    return Moments(store, SystemClock())


@pytest.mark.spec("EV-05")
async def test_the_state_before_any_event_is_what_the_log_gives(store, moments):
    log = looped(60)
    row = await kept(store, log)

    for seq in [*range(1, len(log) + 1, 7), 1, len(log)]:
        _, state, event = await moments.before(row, seq)
        assert canonical(state) == canonical(replay(1, log[: seq - 1]))
        assert encode(event) == encode(log[seq - 1])


async def test_what_is_done_with_a_state_does_not_show_in_the_next(store, moments):
    log = looped(20)
    row = await kept(store, log)
    _, state, _ = await moments.before(row, 30)
    wanted = canonical(state)

    state.ctx = {"spoilt": True}
    state.runs.clear()
    state.counts.clear()

    assert canonical((await moments.before(row, 30))[1]) == wanted


async def test_a_log_is_read_once_and_a_moment_reads_no_more_than_a_stride(store, moments):
    log = looped(3000)
    row = await kept(store, log)
    await moments.before(row, None)
    assert store.read <= len(log) + module.STRIDE

    for seq in range(1, len(log), 997):
        before = store.read
        await moments.before(row, seq)
        assert store.read - before <= module.STRIDE


async def test_a_log_that_grows_is_read_on(store, moments):
    log = looped(500)
    row = await kept(store, log, len(log) // 2)
    await moments.history(row)
    before = store.read

    row = await kept(store, log)
    history = await moments.history(row)

    assert (history.state.seq, store.read - before) == (len(log), len(log) - len(log) // 2)


async def test_a_moment_next_to_the_last_one_reads_one_event(store, moments):
    log = looped(1000)
    row = await kept(store, log)
    await moments.before(row, 2500)
    before = store.read

    await moments.before(row, 2501)

    assert store.read - before <= 2


@pytest.mark.parametrize("seq", [0, -1, 10_000])
async def test_a_moment_outside_of_the_log_is_refused(store, moments, seq):
    row = await kept(store, looped(5))

    with pytest.raises(RequestError, match="at must be from 1 to"):
        await moments.before(row, seq)


async def test_several_moments_in_order_fold_the_log_once(store, moments):
    log = looped(1500)
    row = await kept(store, log)
    await moments.history(row)
    before = store.read
    seqs = range(2000, 4000, 100)

    found = [(state.seq, canonical(state)) async for state, _ in moments.each(row, seqs)]

    assert found == [(seq - 1, canonical(replay(1, log[: seq - 1]))) for seq in seqs]
    assert store.read - before <= 2000 + module.STRIDE + len(seqs)


# --- bounds ----------------------------------------------------------------------------------------------------------


async def test_a_history_keeps_few_states_however_long_its_log_is(store, moments, monkeypatch):
    monkeypatch.setattr(module, "STRIDE", 10)
    monkeypatch.setattr(module, "STATES_MAX", 8)
    log = looped(400)
    row = await kept(store, log)

    history = await moments.history(row)

    assert len(history._kept) <= 9
    assert history.stride >= len(log) / 8
    assert canonical((await moments.before(row, 777))[1]) == canonical(replay(1, log[:776]))


async def test_histories_that_were_not_asked_for_longest_are_forgotten(store, moments, monkeypatch):
    monkeypatch.setattr(module, "HISTORIES_MAX", 2)
    rows = [await kept(store, looped(3), execution_id=number) for number in (1, 2, 3)]

    for row in (rows[0], rows[1], rows[0], rows[2]):
        await moments.history(row)

    assert list(moments._kept) == [1, 3]


async def test_what_weighs_too_much_is_thinned_out_and_the_rest_forgotten(store, moments, monkeypatch):
    monkeypatch.setattr(module, "STRIDE", 20)
    monkeypatch.setattr(module, "BYTES_MAX", 100_000)
    first = await kept(store, looped(50), execution_id=1)
    large = await kept(store, looped(400, value="y" * 2000), execution_id=2)
    await moments.history(first)

    await moments.history(large)

    assert list(moments._kept) == [2]
    assert moments._weight() <= 100_000


def test_a_ctx_that_many_jobs_see_is_weighed_once():
    log = looped(30)
    small, large = History(1), History(1)
    rows = list(enumerate(log[:60], 1))
    small.read(rows)
    large.read(rows)
    for run in large.state.runs.values():
        for job in run.jobs.values():
            job.progress.ctx = {"x": "y" * 100_000}

    assert weight_of(large.state) == weight_of(small.state)


# --- logs that others write to ---------------------------------------------------------------------------------------


async def test_a_log_whose_end_was_lost_and_written_anew_is_read_anew(store):
    tags = Rewritten(store)
    moments = Moments(store, SystemClock(), tags=tags)
    log = looped(40)
    row = await kept(store, log, 100)
    tags.tags = {(1, 100): 7}
    await moments.history(row)
    before = store.read
    tags.tags = {(1, 100): 8}

    await moments.history(row)

    assert store.read - before == 100


async def test_a_head_before_what_was_read_is_another_log(store, moments):
    log = looped(40)
    row = await kept(store, log)
    await moments.history(row)
    shorter = Counting()
    moments.store = shorter
    row = await kept(shorter, log, 50)

    history = await moments.history(row)

    assert history.state.seq == 50


async def test_many_who_ask_at_once_read_the_log_once(store, moments):
    log = looped(800)
    row = await kept(store, log)

    await asyncio.gather(*(moments.history(row) for _ in range(20)))

    assert store.read == len(log)


# --- what stands outside ---------------------------------------------------------------------------------------------


async def test_a_large_workload_is_fetched_once(store):
    fetched = []

    async def fetch(execution_id, reference):
        fetched.append(reference)
        return {"n": 3, "much": "x"}

    moments = Moments(store, SystemClock(), fetch)
    log = looped(3)
    ref = {"type": "blob", "locator": "w", "auth_reference": None, "meta": {}}
    log[1] = PlaybookRequestEvaluated(ts=1.0, ref=ref)
    row = await kept(store, log)

    found = [(await moments.before(row, seq))[1].workload for seq in (2, 5, 9)]

    assert found == [{}, {"n": 3, "much": "x"}, {"n": 3, "much": "x"}]
    assert fetched == [ref]
