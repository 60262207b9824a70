"""The bell: what changes is told once, to those whom it concerns and nobody else."""

import asyncio

import pytest

from noetl.api.changes import HEARD_SECONDS, jobs_by_path, probes_of
from noetl.api.parts import Job
from noetl.control import changes, listening
from noetl.control.changes import Bells
from noetl.control.listening import Item
from noetl.errors import Unreachable
from noetl.testing.waiting import until
from tests.api.site import HELLO, WAITING
from tests.api.test_schedules import SCHEDULES, TRIGGERS, apply, register, schedule, trigger
from tests.control.parts import text_of

CHANGES = "/api/v1/changes"
LOOK_SECONDS = 0.05


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(changes, "LOOK_SECONDS", LOOK_SECONDS)


class Heard:
    """What a stream has told so far."""

    def __init__(self, stream):
        self.stream = stream
        self.events = []
        self.task = asyncio.create_task(self._hear())

    async def _hear(self):
        async for event in self.stream:
            self.events.append(event)

    def subjects(self):
        return {event["event"] for event in self.events}

    async def hears(self, *subjects):
        await until(lambda: set(subjects) <= self.subjects(), 10)

    async def ends(self):
        await asyncio.wait_for(self.task, 10)
        return self.stream.comments


@pytest.fixture
async def heard():
    """A way to listen; whoever listens still when the test ends is ended with it."""
    ears: list[Heard] = []

    async def listening_to(api, role="viewer"):
        ears.append(Heard(await api.stream(CHANGES, role=role)))
        await ears[-1].hears("listening")
        return ears[-1]

    yield listening_to
    for ear in ears:
        ear.task.cancel()
    await asyncio.gather(*(ear.task for ear in ears), return_exceptions=True)


async def test_a_row_that_changes_is_told_at_once_and_the_overview_after_it(api, heard):
    ear = await heard(api)

    execution_id = await api.run(HELLO)

    await ear.hears("executions", "overview")
    rows = [event["data"] for event in ear.events if event["event"] == "executions"]
    assert rows[-1]["execution_id"] == execution_id
    assert rows[-1] == (await api.ask("GET", "/api/v1/executions"))[1]["executions"][0]


async def test_each_subject_rings_when_it_changes(api, heard):
    ear = await heard(api)

    await register(api)
    await ear.hears("catalog")
    await apply(api, f"{SCHEDULES}/nightly", schedule())
    await ear.hears("schedules", "overview")
    await apply(api, f"{TRIGGERS}/order", trigger())
    await ear.hears("triggers")
    execution_id = await api.start("workflow: [{step: s, tool: {kind: python, code: 'import time; time.sleep(60)'}}]")
    await ear.hears("workforce")
    await api.ask("POST", f"/api/v1/executions/{execution_id}/cancel", {})

    assert all(event["data"] == {} for event in ear.events if event["event"] != "executions")


def job(iteration=0, path="a/b", heard_at=1000.0, now=1000.0):
    return Job(
        execution_id="7",
        path=path,
        step="each",
        run=1,
        iteration=iteration,
        pool="default",
        priority=0,
        state="leased",
        worker="w",
        age_seconds=now - heard_at,
        due_in_seconds=None,
        lease_age_seconds=now - heard_at,
        lease_left_seconds=30.0,
        deliveries=0,
    )


def test_as_many_jobs_as_before_ring_if_they_are_others_or_were_heard_of_again():
    before = jobs_by_path([job(), job(path="c")], 1000.0)

    same = jobs_by_path([job(now=1002.0), job(path="c", now=1002.0)], 1002.0)
    other = jobs_by_path([job(iteration=1), job(path="c")], 1000.0)
    later = 1000.0 + 3 * HEARD_SECONDS
    renewed = jobs_by_path([job(heard_at=later, now=later), job(path="c", now=later)], later)

    assert same == before
    assert [path for path in before if other[path] != before[path]] == ["a/b"]
    assert [path for path in before if renewed[path] != before[path]] == ["a/b"]


async def test_what_was_there_before_is_no_change(api, heard):
    await api.run(HELLO)
    await apply(api, f"{SCHEDULES}/nightly", schedule())

    ear = await heard(api)
    await apply(api, f"{TRIGGERS}/order", trigger())
    await ear.hears("triggers")

    assert ear.subjects() == {"listening", "triggers"}


async def test_a_token_of_a_path_hears_nothing_of_what_is_outside(api, heard):
    api.tokens["team"] = await api.token(role="viewer", path_prefix="team")
    ear, all_of_it = await heard(api, "team"), await heard(api)

    await api.run(HELLO, "teams")
    await api.run(WAITING, "other/team")
    await register(api, "elsewhere")
    await apply(api, f"{SCHEDULES}/nightly", schedule(path="teams"))
    await apply(api, f"{TRIGGERS}/order", trigger(path="teams"))
    await all_of_it.hears("executions", "catalog", "schedules", "triggers", "overview")
    await api.run(HELLO, "team/a")
    await ear.hears("executions", "catalog", "overview")

    told = [event["event"] for event in ear.events if event["event"] not in ("listening", "workforce")]
    assert set(told) == {"executions", "catalog", "overview"}
    assert (told.count("catalog"), told.count("overview")) == (1, 1)
    assert {event["data"]["path"] for event in ear.events if event["event"] == "executions"} == {"team/a"}


async def test_a_document_that_moves_to_another_path_or_goes_rings_for_both(api, heard):
    api.tokens["team"] = await api.token(role="viewer", path_prefix="team")
    await apply(api, f"{TRIGGERS}/order", trigger(path="team/a"))
    ear = await heard(api, "team")

    await apply(api, f"{TRIGGERS}/order", trigger(path="elsewhere"))
    await ear.hears("triggers")
    ear.events.clear()
    await apply(api, f"{TRIGGERS}/order", trigger(path="team/b"))
    await ear.hears("triggers")
    ear.events.clear()
    await api.ask("DELETE", f"{TRIGGERS}/order")

    await ear.hears("triggers")


async def test_the_bell_rests_while_nobody_listens(api, heard):
    bell = api.parts.changes
    ear = await heard(api)
    is_awake = bell._task is not None

    ear.stream.close()
    await until(lambda: bell._task is None)
    again = await heard(api)
    await api.run(HELLO)
    await again.hears("executions")

    assert is_awake


async def test_a_store_that_is_away_for_a_while_ends_no_stream(api, monkeypatch, heard):
    ear = await heard(api)
    sizes = api.parts.store.catalog_size
    failed = []

    async def away():
        if len(failed) < 3:
            failed.append(1)
            raise Unreachable("the store does not answer")
        return await sizes()

    monkeypatch.setattr(api.engine.store, "catalog_size", away)
    await until(lambda: len(failed) == 3)
    await register(api)

    await ear.hears("catalog")


async def test_a_probe_that_breaks_ends_the_streams_and_the_next_one_begins_anew(api, monkeypatch, heard):
    ear = await heard(api)

    async def broken():
        raise RuntimeError("a fault of ours")

    with monkeypatch.context() as planted:
        planted.setattr(api.engine.store, "catalog_size", broken)
        comments = await ear.ends()
    again = await heard(api)
    await register(api)

    await again.hears("catalog")
    assert comments == [changes.BROKEN]


async def test_a_server_that_ends_lets_its_listeners_go(api, heard):
    ear = await heard(api)

    api.stopping.set()

    assert await ear.ends() == [listening.ENDING]


async def test_a_bell_that_nobody_hears_rings_once_and_rows_beyond_the_bound_let_the_listener_go(monkeypatch):
    monkeypatch.setattr(listening, "BUFFER_ITEMS_MAX", 10)
    bells = Bells(lambda path: path != "hidden")

    for _ in range(100):
        bells.ring("workforce", [None])
        bells.ring("catalog", ["hidden"])
        bells.ring("overview", ["a", "hidden"])
    rung = [item.name for item in await bells.take()]
    bells.ring("workforce", [None])
    again = [item.name for item in await bells.take()]
    for number in range(11):
        bells.tell(Item(0, "executions", b"{}", path="hidden"))
        bells.tell(Item(0, "executions", str(number).encode(), path="a"))

    assert (rung, again) == (["workforce", "overview"], ["workforce"])
    assert bells.why_closed == listening.SLOW


async def test_many_documents_at_once_are_read_in_pages(api):
    for number in range(30):
        await apply(api, f"{SCHEDULES}/s{number}", schedule(f"s{number}", path=f"team/{number}"))
    probe = probes_of(api.parts)["schedules"]

    first = await probe()
    await apply(api, f"{SCHEDULES}/s7", schedule("s7", path="team/7", when="every: 1h"))
    second = await probe()

    assert len(first) == 30
    assert {path for path in second if second[path] != first[path]} == {"team/7"}


async def test_a_stream_needs_a_token_that_is_still_known(api):
    text = text_of(HELLO).decode()

    assert (await api.raw("GET", CHANGES, role="none"))[0] == 401
    assert (await api.raw("GET", f"{CHANGES}?q={len(text)}"))[0] == 400
