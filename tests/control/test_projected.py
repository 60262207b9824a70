"""Ledgers that are kept: folded on when a log has grown, folded anew when it has gone back, and few of them."""

import asyncio

import pytest

from noetl.clock import SystemClock
from noetl.control import projected as module
from noetl.control.projected import Projected
from noetl.projections.ledger import Ledger
from noetl.projections.pages import timeline_page
from noetl.stores.contract import Append, Batch, Execution
from noetl.stores.memory import MemoryStore
from noetl.stores.shared import Head
from tests.projections.histories import History


class Counting(MemoryStore):
    """A store that counts what is read of it."""

    def __init__(self):
        super().__init__()
        self.read = 0

    async def events(self, execution_id, after=0, limit=1000):
        rows = await super().events(execution_id, after, limit)
        self.read += len(rows)
        return rows


class Rewritten:
    """A store that several servers write to, whose end was lost and written anew: each append has another tag."""

    def __init__(self, store):
        self.store = store
        self.tags = {}  # by execution and seq

    async def heads(self, ids):
        rows = [await self.store.execution(one) for one in ids]
        return {
            row.id: Head(id=row.id, head=row.head, tag=self.tags.get((row.id, row.head), 0), status=row.status)
            for row in rows
        }

    async def tag_at(self, execution_id, seq):
        return self.tags.get((execution_id, seq))


async def written(store, execution_id, history, first_seq=1):
    """The log of an execution, or more of it."""
    if first_seq == 1:
        row = Execution(id=execution_id, sha="0" * 64, path="orders", version=1)
        await store.commit(Batch(executions=[row]))
    events = list(history)[first_seq - 1 :]
    append = Append(execution_id=execution_id, first_seq=first_seq, events=events, status="running")
    await store.commit(Batch(appends=[append]))
    return await store.execution(execution_id)


def as_folded(execution_id, history):
    ledger = Ledger(execution_id)
    ledger.apply(enumerate(history, 1))
    return timeline_page(ledger, 0, 100)


@pytest.fixture
def history():
    found = History().begin()
    run = found.schedule("load")
    found.task(run).done(run, "load")
    return found


@pytest.fixture
def store():
    return Counting()


async def test_a_log_is_read_once_and_then_only_what_came_since(store, history):
    kept = Projected(store, SystemClock())
    row = await written(store, 1, history)
    await kept.ledger(row)
    await kept.ledger(row)
    assert store.read == len(history)
    before = len(history)
    history.finish()

    ledger = await kept.ledger(await written(store, 1, history, before + 1))

    assert store.read == len(history)
    assert timeline_page(ledger, 0, 100) == as_folded(1, history)


async def test_those_who_ask_at_once_read_once(store, history):
    kept = Projected(store, SystemClock())
    row = await written(store, 1, history)

    ledgers = await asyncio.gather(*(kept.ledger(row) for _ in range(5)))

    assert store.read == len(history)
    assert len({id(one) for one in ledgers}) == 1


async def test_a_log_that_is_shorter_than_it_was_is_folded_anew(history):
    kept = Projected(MemoryStore(), SystemClock())
    whole, lost = MemoryStore(), MemoryStore()
    row = await written(whole, 1, history)
    kept._store = whole
    await kept.ledger(row)
    kept._store = lost
    shorter = list(history)[:5]

    ledger = await kept.ledger(await written(lost, 1, shorter))

    assert timeline_page(ledger, 0, 100) == as_folded(1, shorter)


@pytest.mark.parametrize("grown", [0, 2], ids=["as long", "longer"])
async def test_a_log_whose_end_another_server_wrote_anew_is_folded_anew(history, grown):
    store, other = MemoryStore(), MemoryStore()
    tags = Rewritten(store)
    kept = Projected(store, SystemClock(), tags)
    row = await written(store, 1, history)
    tags.tags = {(1, row.head): 77}
    await kept.ledger(row)
    rewritten = History().begin()
    run = rewritten.schedule("other")
    rewritten.task(run).done(run, "other")
    rewritten = [*rewritten, *(list(History().begin().finish())[3:] if grown else [])]

    kept._store = tags.store = other
    row = await written(other, 1, rewritten)
    tags.tags = {(1, row.head): 78, **({(1, len(history)): 78} if grown else {})}
    ledger = await kept.ledger(row)

    assert timeline_page(ledger, 0, 100) == as_folded(1, rewritten)


async def test_a_log_that_only_grew_is_not_read_again_where_servers_share_it(store, history):
    tags = Rewritten(store)
    kept = Projected(store, SystemClock(), tags)
    row = await written(store, 1, history)
    tags.tags = {(1, row.head): 77}
    await kept.ledger(row)
    before = len(history)
    history.finish()
    row = await written(store, 1, history, before + 1)
    tags.tags[1, row.head] = 78

    ledger = await kept.ledger(row)

    assert (store.read, ledger.seq) == (len(history), len(history))


async def test_few_ledgers_are_kept_those_that_were_asked_for_last(store, history, monkeypatch):
    monkeypatch.setattr(module, "LEDGERS_MAX", 2)
    kept = Projected(store, SystemClock())
    rows = [await written(store, number, history) for number in (1, 2, 3)]
    for row in (rows[0], rows[1], rows[0], rows[2]):
        await kept.ledger(row)
    store.read = 0

    await kept.ledger(rows[0])
    assert (len(kept), store.read) == (2, 0)
    await kept.ledger(rows[1])
    assert store.read == len(history)


async def test_ledgers_are_bounded_in_bytes_but_the_one_in_use_stays(store, history, monkeypatch):
    monkeypatch.setattr(module, "LEDGERS_BYTES_MAX", 10)
    kept = Projected(store, SystemClock())
    rows = [await written(store, number, history) for number in (1, 2)]

    for row in rows:
        ledger = await kept.ledger(row)

    assert (len(kept), kept.size_bytes) == (1, ledger.size_bytes)


async def test_a_fold_that_breaks_leaves_nothing_half_folded_behind(store, history, monkeypatch):
    kept = Projected(store, SystemClock())
    row = await written(store, 1, history)
    whole = Ledger.apply

    def broken(self, rows):
        whole(self, list(rows)[:3])
        raise RuntimeError

    monkeypatch.setattr(Ledger, "apply", broken)
    with pytest.raises(RuntimeError):
        await kept.ledger(row)
    monkeypatch.undo()

    assert timeline_page(await kept.ledger(row), 0, 100) == as_folded(1, history)


async def test_envelopes_begin_in_the_middle_with_the_names_they_need(store, history):
    kept = Projected(store, SystemClock())
    row = await written(store, 1, history)

    made = await kept.envelopes(row, 6)

    assert made.envelope(7, history[6])["step"] == "load"
