"""From commits to a collector: nothing drawn twice, nothing held up, everything counted that is lost."""

import asyncio

import pytest

from noetl.control import traces
from noetl.control.metrics import Meters
from noetl.control.traces import Traces
from noetl.engine.events import PlaybookExecutionRequested
from noetl.errors import Unreachable
from noetl.stores.contract import Batch, Execution
from noetl.stores.memory import MemoryStore
from noetl.testing.logs import append
from tests.projections.histories import History

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


class Counting(Meters):
    def __init__(self):
        self.sent = self.dropped = 0

    def traced(self, *, sent=0, dropped=0):
        self.sent += sent
        self.dropped += dropped


class Still:
    """A clock whose sleeps end when the test lets them."""

    def __init__(self):
        self.bell = asyncio.Event()

    def now(self):
        return 0.0

    def monotonic(self):
        return 0.0

    async def sleep(self, _seconds):
        await self.bell.wait()


class Collector:
    def __init__(self):
        self.batches = []
        self.is_away = False

    async def send(self, spans):
        if self.is_away:
            raise Unreachable("the collector is away")
        self.batches.append(spans)

    @property
    def names(self):
        return [span.name for batch in self.batches for span in batch]


def an_execution(steps=("load",)):
    history = History().add(PlaybookExecutionRequested, path="orders", version=1, sha="0" * 64, trace_id=TRACE)
    for step in steps:
        run = history.schedule(step)
        history.task(run, f"{step}_task").done(run, step)
    return history.finish()


async def kept(store, history):
    """An execution with this log."""
    execution_id = await store.reserve_ids(1)
    row = Execution(id=execution_id, sha="5ha", path="orders", version=1)
    await store.commit(Batch(executions=[row], appends=[append(execution_id, 1, list(history))]))
    return execution_id


@pytest.fixture
def collector():
    return Collector()


def drawing(collector, store=None):
    return Traces(store or MemoryStore(), collector.send, Still(), Counting())


async def test_what_is_told_in_shares_is_drawn_as_one(collector):
    history, drawn = an_execution(), drawing(collector)

    for seq, event in enumerate(history, 1):
        drawn.told(7, seq, [event])
    await drawn.flush()

    assert collector.names == ["load_task", "load", "orders"]
    assert drawn.meters.sent == 3


async def test_what_another_server_wrote_in_between_is_read_and_not_drawn_again(collector):
    history, store = an_execution(("first", "second", "third")), MemoryStore()
    execution_id = await kept(store, history)
    ends = [seq for seq, event in enumerate(history, 1) if getattr(event, "step", "") == "second"]
    ours = slice(ends[0] + 2, ends[-1])  # the second step's task ends here; all else was committed elsewhere
    drawn = drawing(collector, store)

    drawn.told(execution_id, ours.start + 1, history[ours])
    drawn.told(execution_id, len(history), history[-1:])
    await drawn.flush()

    assert collector.names == ["second_task", "second", "orders"]
    (task, step, whole) = collector.batches[0]
    assert task.started_at == history[ends[0] + 1].ts
    assert step.started_at == history[ends[0] - 1].ts
    assert whole.started_at == history[0].ts


async def test_a_long_log_of_another_server_is_not_read_but_its_trace_is_known(collector, monkeypatch):
    monkeypatch.setattr(traces, "GAP_EVENTS_MAX", 2)
    history, store = an_execution(("first", "second")), MemoryStore()
    execution_id = await kept(store, history)
    drawn = drawing(collector, store)

    drawn.told(execution_id, len(history), history[-1:])
    await drawn.flush()

    assert [(span.name, span.trace_id) for span in collector.batches[0]] == [("orders", TRACE)]


async def test_a_collector_that_is_away_costs_the_spans_and_says_so_once(collector, caplog):
    drawn = drawing(collector)
    collector.is_away = True

    for execution_id in (7, 8):
        drawn.told(execution_id, 1, list(an_execution()))
        await drawn.flush()
    collector.is_away = False
    drawn.told(9, 1, list(an_execution()))
    await drawn.flush()

    assert (drawn.meters.dropped, drawn.meters.sent) == (6, 3)
    assert [record.action for record in caplog.records] == ["spans_not_sent"]


async def test_what_does_not_fit_is_dropped_and_counted_and_the_rest_is_drawn(collector, monkeypatch):
    history = an_execution()
    monkeypatch.setattr(traces, "WAITING_EVENTS_MAX", len(history))
    drawn = drawing(collector)

    drawn.told(7, 1, list(history))
    drawn.told(8, 1, list(history))
    await drawn.flush()

    assert (drawn.meters.sent, drawn.meters.dropped) == (3, 3)


async def test_a_batch_has_a_bound(collector, monkeypatch):
    monkeypatch.setattr(traces, "BATCH_SPANS_MAX", 4)
    drawn = drawing(collector)

    for execution_id in range(3):
        drawn.told(execution_id, 1, list(an_execution()))
    await drawn.flush()

    assert [len(batch) for batch in collector.batches] == [4, 4, 1]


async def test_executions_that_never_end_do_not_fill_the_memory(collector, monkeypatch):
    monkeypatch.setattr(traces, "EXECUTIONS_MAX", 5)
    drawn = drawing(collector)

    for execution_id in range(50):
        drawn.told(execution_id, 1, list(an_execution())[:-1])
    await drawn.flush()

    assert len(drawn._folds) == 5


async def test_an_execution_that_has_ended_is_forgotten(collector):
    drawn = drawing(collector)

    drawn.told(7, 1, list(an_execution()))
    await drawn.flush()

    assert not drawn._folds


async def test_it_runs_by_itself_and_collects_before_it_sends(collector):
    drawn = drawing(collector)
    running = asyncio.create_task(drawn.run())

    drawn.told(7, 1, list(an_execution()))
    drawn.told(8, 1, list(an_execution()))
    drawn.clock.bell.set()
    while not collector.batches:
        await asyncio.sleep(0)
    running.cancel()

    assert [len(batch) for batch in collector.batches] == [6]
