"""The retention sweep: nothing live is ever missing, and what is dead goes in the end (RS-08)."""

import asyncio
import hashlib
import math
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from noetl.control.mentions import mentions_in, shas_in
from noetl.control.retention import GRACE_SECONDS, Rule, Swept, sweep
from noetl.engine.events import (
    Event,
    Patch,
    PlaybookExecutionRequested,
    PlaybookProcessed,
    StepCancelled,
    TaskDone,
    TaskStarted,
    TaskWaiting,
)
from noetl.references import Reference, reference_of
from noetl.results.contract import Results
from noetl.results.memory import MemoryResults
from noetl.stores.contract import RUNNING, SUCCESS, Append, Batch, Execution
from noetl.stores.memory import MemoryStore
from noetl.testing.clocks import ClockByHand

DAY = 24 * 3600.0
encode = msgspec.json.encode


class World:
    """A store of logs and one of results, with a clock that a test moves."""

    def __init__(self) -> None:
        self.clock = ClockByHand()
        self.store = MemoryStore()
        self.results = MemoryResults(self.clock)
        self.heads: dict[int, int] = {}

    async def begin(self, *events: Event) -> int:
        execution_id = await self.store.reserve_ids(1)
        row = Execution(id=execution_id, sha="", path="p", version=1, created_at=self.clock.now())
        first = PlaybookExecutionRequested(ts=self.clock.now(), path="p", version=1, sha="")
        self.heads[execution_id] = 0
        await self.append(execution_id, first, *events, row=row)
        return execution_id

    async def append(
        self, execution_id: int, *events: Event, row: Execution | None = None, is_end: bool = False
    ) -> None:
        append = Append(
            execution_id=execution_id,
            first_seq=self.heads[execution_id] + 1,
            events=list(events),
            status=SUCCESS if is_end else RUNNING,
            ended_at=self.clock.now() if is_end else None,
        )
        await self.store.commit(Batch(executions=[row] if row else [], appends=[append]))
        self.heads[execution_id] += len(events)

    async def end(self, execution_id: int) -> None:
        await self.append(execution_id, PlaybookProcessed(ts=self.clock.now(), result=SUCCESS), is_end=True)

    async def put(self, content: object, content_type: str = "application/json") -> Reference:
        return await self.results.store(encode(content), content_type)

    def done(self, value: object) -> TaskDone:
        """An event that names something."""
        return TaskDone(ts=self.clock.now(), run=1, task="t", do="continue", patches=[Patch("ctx.x", value)])

    async def sweep(self, *, results: Results | None = None, is_dry_run: bool = False, **rules: float) -> Swept:
        now = self.clock.now()
        return await sweep(self.store, results or self.results, Rule(**rules), now, is_dry_run=is_dry_run)

    async def stored(self) -> set[str]:
        return {kept.locator async for kept in self.results.walk()}


def lasting(reference: Reference, ttl: float | None) -> dict[str, Any]:
    return msgspec.structs.replace(reference, ttl=ttl).as_data()


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.spec("RS-08")
async def test_an_orphan_goes_after_a_day_and_not_before(world: World) -> None:
    await world.put("orphan")
    world.clock.seconds += GRACE_SECONDS

    early = await world.sweep()
    world.clock.seconds += 1
    late = await world.sweep()

    assert (early.removed, early.kept) == (0, 1)
    assert (late.removed, late.removed_bytes, late.kept) == (1, len('"orphan"'), 0)


@pytest.mark.spec("RS-08")
async def test_an_unfinished_execution_keeps_what_it_names_whatever_the_ttl(world: World) -> None:
    reference = await world.put("wanted")
    await world.begin(world.done(lasting(reference, 1.0)))
    world.clock.seconds += 400 * DAY

    swept = await world.sweep(keep_seconds=0.0)

    assert (swept.removed, swept.kept) == (0, 1)


@pytest.mark.spec("RS-08")
@pytest.mark.parametrize(
    ("ttl", "keep_seconds", "lasts"),
    [(None, math.inf, math.inf), (5 * DAY, math.inf, 5 * DAY), (None, 3 * DAY, 3 * DAY), (5 * DAY, 3 * DAY, 5 * DAY)],
    ids=["for ever", "ttl", "keep_days", "the ttl wins"],
)
async def test_an_ended_execution_keeps_it_until_its_time_has_passed(
    world: World, ttl: float | None, keep_seconds: float, lasts: float
) -> None:
    reference = await world.put("wanted")
    execution_id = await world.begin(world.done(lasting(reference, ttl)))
    world.clock.seconds += 10 * DAY
    await world.end(execution_id)

    world.clock.seconds += min(lasts, 1000 * DAY) - 1
    before = await world.sweep(keep_seconds=keep_seconds)
    world.clock.seconds += 2
    after = await world.sweep(keep_seconds=keep_seconds)

    assert before.removed == 0
    assert after.removed == (0 if lasts == math.inf else 1)


@pytest.mark.spec("RS-08")
async def test_the_longest_of_several_mentions_counts(world: World) -> None:
    reference = await world.put("wanted")
    for ttl in (1.0, 30 * DAY, 2.0):
        await world.end(await world.begin(world.done(lasting(reference, ttl))))
    world.clock.seconds += 20 * DAY

    assert (await world.sweep()).removed == 0


@pytest.mark.spec("RS-08")
async def test_a_result_keeps_what_its_content_names_to_any_depth(world: World) -> None:
    innermost = await world.put("innermost")
    inner = await world.put({"list": [lasting(innermost, 1.0)]})
    outer = await world.put([lasting(inner, 1.0)])
    expired = await world.begin(world.done([lasting(innermost, 1.0), lasting(inner, 1.0)]))
    await world.end(expired)
    holder = await world.begin(world.done(lasting(outer, 10 * DAY)))
    await world.end(holder)

    world.clock.seconds += 5 * DAY
    while_held = await world.sweep()
    world.clock.seconds += 6 * DAY
    afterwards = await world.sweep()

    assert (while_held.removed, while_held.kept) == (0, 3)
    assert (afterwards.removed, afterwards.kept) == (3, 0)


@pytest.mark.spec("RS-08")
async def test_a_bare_locator_in_a_text_is_a_mention(world: World) -> None:
    reference = await world.put("wanted")
    await world.end(await world.begin(world.done(f"see {reference.locator}!")))
    world.clock.seconds += 100 * DAY

    assert (await world.sweep()).removed == 0


@pytest.mark.spec("RS-08")
async def test_what_a_task_stored_days_ago_is_kept_while_the_task_runs(world: World) -> None:
    execution_id = await world.begin(TaskStarted(ts=world.clock.now(), run=1, task="t", kind="transfer"))
    world.clock.seconds += 60
    await world.put("not recorded yet")
    world.clock.seconds += 10 * DAY

    while_it_runs = await world.sweep()
    await world.append(execution_id, TaskDone(ts=world.clock.now(), run=1, task="t", do="continue"))
    afterwards = await world.sweep()

    assert (while_it_runs.removed, afterwards.removed) == (0, 1)


@pytest.mark.spec("RS-08")
@pytest.mark.parametrize(
    "event", [TaskWaiting(ts=0.0, run=1, task="t"), StepCancelled(ts=0.0, run=1, step="s")], ids=["parked", "cancelled"]
)
async def test_a_task_that_left_its_worker_holds_nothing_up(world: World, event: Event) -> None:
    await world.begin(TaskStarted(ts=world.clock.now(), run=1, task="t", kind="playbook"), event)
    await world.put("orphan")
    world.clock.seconds += 10 * DAY

    assert (await world.sweep()).removed == 1


@pytest.mark.spec("RS-08")
async def test_what_was_stored_again_stays(world: World) -> None:
    await world.put("orphan")
    world.clock.seconds += 10 * DAY
    await world.put("orphan")

    assert (await world.sweep()).removed == 0


@pytest.mark.spec("RS-08")
async def test_what_is_recorded_while_the_sweep_looks_is_kept(world: World) -> None:
    """A dead result that a run takes up again, between the reading of the logs and the removing."""
    reference = await world.put("taken up again")
    world.clock.seconds += 10 * DAY

    class Meanwhile(MemoryResults):
        async def walk(self) -> AsyncIterator[Any]:
            await world.begin(world.done(reference.as_data()))
            async for kept in world.results.walk():
                yield kept

        def stream(self, reference: Reference) -> AsyncIterator[bytes]:
            return world.results.stream(reference)

        async def remove(self, locator: str, *, stored_before: float) -> bool:
            return await world.results.remove(locator, stored_before=stored_before)

    assert (await world.sweep(results=Meanwhile())).removed == 0


@pytest.mark.spec("RS-08")
async def test_a_dry_run_removes_nothing_and_counts_the_same(world: World) -> None:
    for number in range(5):
        await world.put(number)
    world.clock.seconds += 2 * DAY

    dry = await world.sweep(is_dry_run=True)
    stored = await world.stored()
    wet = await world.sweep()

    assert len(stored) == 5
    assert dry == wet == Swept(5, 5, 0, 0)


async def test_a_store_that_cannot_be_read_loses_nothing(world: World) -> None:
    names_others = await world.put(["list"])
    await world.put("orphan")
    await world.begin(world.done(names_others.as_data()))
    world.clock.seconds += 2 * DAY

    class Unreachable(MemoryResults):
        def walk(self) -> AsyncIterator[Any]:
            return world.results.walk()

        async def stream(self, reference: Reference) -> AsyncIterator[bytes]:
            yield b"["
            raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        await world.sweep(results=Unreachable())

    assert len(await world.stored()) == 2


def test_mentions_are_found_with_their_ttl() -> None:
    one, other, third = (hashlib.sha256(name).hexdigest() for name in (b"1", b"2", b"3"))
    reference = Reference(type="blob", locator=f"sha256:{one}", sha256=one, content_type="image/png", ttl=60.0)
    old = {"store": "blob", "key": f"x/{other}", "checksum": f"sha256:{other}"}
    body = encode({"a": [reference.as_data(), old], f"sha256:{third}": "f" * 65})

    found = {(mention.sha, mention.ttl_seconds, mention.may_name) for mention in mentions_in(body)}

    assert found == {(one, 60.0, False), (other, None, True), (third, None, True)}


def test_a_reference_may_name_others_besides_itself() -> None:
    one, other = (hashlib.sha256(name).hexdigest() for name in (b"1", b"2"))
    reference = Reference(type="blob", locator=f"sha256:{one}", sha256=one, ttl=60.0).as_data()
    reference["meta"]["made_of"] = [f"sha256:{other}"]

    assert {(mention.sha, mention.ttl_seconds) for mention in mentions_in(encode(reference))} == {
        (one, 60.0),
        (other, None),
    }


@pytest.mark.spec("RS-08")
@pytest.mark.parametrize("content_type", ["text/csv", "application/vnd.api+json; charset=utf-8", "application/json"])
async def test_every_kind_of_text_keeps_what_it_names(world: World, content_type: str) -> None:
    inner = await world.put("inner")
    outer = await world.put(inner.locator, content_type)
    await world.begin(world.done(outer.as_data()))
    world.clock.seconds += 10 * DAY

    assert (await world.sweep()).removed == 0


@pytest.mark.spec("RS-08")
@pytest.mark.parametrize("ttl", [-5, True, "1", 10**400], ids=["negative", "truth", "text", "too large"])
async def test_a_ttl_that_is_none_is_as_if_it_were_not_there(world: World, ttl: object) -> None:
    reference = await world.put("wanted")
    data = reference.as_data()
    data["meta"]["ttl"] = ttl

    assert reference_of(data) == reference


@pytest.mark.parametrize("size", [1, 7, 63, 64, 65, 200, 10_000])
async def test_a_sha_is_found_wherever_the_pieces_are_cut(size: int) -> None:
    shas = [hashlib.sha256(bytes([number])).hexdigest() for number in range(20)]
    content = encode([{"locator": f"sha256:{sha}"} for sha in shas])

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(content), size):
            yield content[start : start + size]

    assert set(shas) <= {sha async for sha in shas_in(pieces())}


TTLS = st.sampled_from((None, 60.0, DAY, 5 * DAY, 40 * DAY))


class Retention(RuleBasedStateMachine):
    """Executions begin, name results and end, time goes by, sweeps come at any moment; the model says who needs it."""

    references = Bundle("references")

    @initialize()
    def begin(self) -> None:
        self.world = World()
        self.live: set[int] = set()
        self.ended_at: dict[int, float] = {}
        self.named: dict[int, list[tuple[str, float | None]]] = {}  # by execution
        self.inner: dict[str, list[str]] = {}  # locators that a result's content names
        self.stored_at: dict[str, float] = {}
        self.count = 0

    def do(self, deed: Any) -> Any:
        return asyncio.run(deed)

    @rule(target=references)
    def store(self) -> Reference:
        self.count += 1
        return self._put(f"payload {self.count}", [])

    @rule(target=references, inner=st.lists(references, min_size=1, max_size=3))
    def store_references(self, inner: list[Reference]) -> Reference:
        return self._put([lasting(one, None) for one in inner], [one.locator for one in inner])

    @rule(again=references)
    def store_again(self, again: Reference) -> None:
        if again.locator not in self.stored_at:
            return
        data = self.do(self.world.results.fetch(again))
        self.do(self.world.results.store(data))
        self.stored_at[again.locator] = self.world.clock.now()

    @rule(reference=references, ttl=TTLS)
    def name_in_a_new_execution(self, reference: Reference, ttl: float | None) -> None:
        execution_id = self.do(self.world.begin())
        self.live.add(execution_id)
        self._name(execution_id, reference, ttl)

    @rule(reference=references, ttl=TTLS, data=st.data())
    def name(self, reference: Reference, ttl: float | None, data: st.DataObject) -> None:
        if self.live:
            self._name(data.draw(st.sampled_from(sorted(self.live))), reference, ttl)

    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        if self.live:
            execution_id = data.draw(st.sampled_from(sorted(self.live)))
            self.do(self.world.end(execution_id))
            self.live.remove(execution_id)
            self.ended_at[execution_id] = self.world.clock.now()

    @rule(seconds=st.sampled_from((1.0, 3600.0, DAY, 10 * DAY)))
    def time_goes_by(self, seconds: float) -> None:
        self.world.clock.seconds += seconds

    @rule(keep_seconds=st.sampled_from((math.inf, 0.0, 7 * DAY)))
    def sweep(self, keep_seconds: float) -> None:
        now = self.world.clock.now()
        needed = self._needed(keep_seconds)
        young = {locator for locator, stored_at in self.stored_at.items() if stored_at >= now - GRACE_SECONDS}

        self.do(self.world.sweep(keep_seconds=keep_seconds))

        assert self.do(self.world.stored()) == self.stored_at.keys() & (needed | young)
        for gone in self.stored_at.keys() - needed - young:
            del self.stored_at[gone]

    @invariant()
    def nothing_else_removes_anything(self) -> None:
        assert self.do(self.world.stored()) == self.stored_at.keys()

    def _put(self, content: object, inner: list[str]) -> Reference:
        reference = self.do(self.world.put(content))
        self.inner[reference.locator] = inner
        self.stored_at[reference.locator] = self.world.clock.now()
        return reference

    def _name(self, execution_id: int, reference: Reference, ttl: float | None) -> None:
        self.do(self.world.append(execution_id, self.world.done(lasting(reference, ttl))))
        self.named.setdefault(execution_id, []).append((reference.locator, ttl))

    def _needed(self, keep_seconds: float) -> set[str]:
        """Whatever somebody may still ask for now."""
        now = self.world.clock.now()
        found: set[str] = set()
        for execution_id, named in self.named.items():
            for locator, ttl in named:
                lasts = keep_seconds if ttl is None else ttl
                if execution_id in self.live or self.ended_at[execution_id] + lasts > now:
                    self._add(locator, found)
        return found

    def _add(self, locator: str, found: set[str]) -> None:
        if locator not in found and locator in self.stored_at:
            found.add(locator)
            for inner in self.inner[locator]:
                self._add(inner, found)


TestRetention = pytest.mark.spec("RS-08")(pytest.mark.slow(Retention.TestCase))
TestRetention.settings = settings(max_examples=120, stateful_step_count=30, deadline=None)
