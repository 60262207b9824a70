"""The simulated network: without faults it is what NATS is, and each fault does what its name says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import wraps

import pytest

from noetl.clock import SystemClock
from noetl.engine.events import StepStarted
from noetl.errors import PayloadTooLarge
from noetl.messaging.unanswered import NobodyThere, NotConnected, Silent
from noetl.queues.doorbell import Doorbell
from noetl.queues.nats_export import EventExport
from noetl.stores.contract import Append, Batch, Execution
from noetl.stores.memory import MemoryStore
from noetl.testing.nats_stage import NatsStage
from noetl.testing.office import Office
from noetl.testing.simulator.network.listeners import matches
from noetl.testing.simulator.network.network import Network
from noetl.testing.transport_suite import Connect, TransportSuite
from tests.simulation.calm import AsyncioNode, Wire, simulated

LONG_SECONDS = 1000.0


class SimulatedStage(NatsStage):
    """Servers and workers on the simulated network; all else is as on the real one."""

    def __init__(self):
        super().__init__("nats://simulated", "sim")
        self.network = Network(Wire(), AsyncioNode("nats"))

    async def link(self, inbox="", url="", **fields):
        made = self.network.link(AsyncioNode(f"node-{len(self.links)}"), inbox=inbox or self.subjects.server_inbox)
        made.start()
        self.links.append(made)
        await made.until_up(10)
        return made


class TestSimulated(TransportSuite):
    @asynccontextmanager
    async def opened(self, office: Office) -> AsyncIterator[Connect]:
        stage = SimulatedStage()
        await stage.server(office)
        yield stage.transport
        await stage.close()


class Town:
    """A network with nodes that are made as they are named; what they hear is written down."""

    def __init__(self, make_node):
        self.wire = Wire()
        self.nodes = {"nats": make_node("nats")}
        self.network = Network(self.wire, self.nodes["nats"])
        self.heard = []
        self._make_node = make_node

    def node(self, name):
        if name not in self.nodes:
            self.nodes[name] = self._make_node(name)
        return self.nodes[name]

    async def link(self, name):
        link = self.network.link(self.node(name), inbox="reply")
        link.start()
        await link.until_up(LONG_SECONDS)
        return link

    async def listen(self, name, subject, queue=""):
        link = await self.link(name)
        await link.subscribe(subject, lambda letter: self.heard.append((name, letter.subject, letter.data)), queue)
        return link

    async def serve(self, name, subject, answer=b"yes"):
        """One that answers, as its own process."""
        link = await self.link(name)

        def hear(letter):
            self.heard.append((name, letter.subject, letter.data))
            self.node(name).run(link.publish(letter.reply, answer))

        await link.subscribe(subject, hear)
        return link


def in_town(test):
    """Run on simulated time, with a town of the test's own."""

    @wraps(test)
    def run():
        simulated(lambda make_node: test(Town(make_node)))

    del run.__wrapped__  # else its argument would be taken for a fixture
    return run


def now():
    return asyncio.get_running_loop().time()


# --- what NATS does --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "subject", "is_so"),
    [
        ("a.b", "a.b", True),
        ("a.b", "a.c", False),
        ("a.*", "a.b", True),
        ("a.*", "a.b.c", False),
        ("a.*", "a", False),
        ("*.b", "a.b", True),
        ("a.>", "a.b", True),
        ("a.>", "a.b.c", True),
        ("a.>", "a", False),
        ("a.*.>", "a.b", False),
        (">", "a", True),
    ],
)
def test_subjects_match_as_those_of_nats_do(pattern, subject, is_so):
    assert matches(pattern, subject) is is_so


@in_town
async def test_everybody_who_listens_hears_and_of_a_queue_one(town):
    await town.listen("all-1", "news.*")
    await town.listen("all-2", "news.>")
    await town.listen("one-1", "news.today", queue="ones")
    await town.listen("one-2", "news.today", queue="ones")
    speaker = await town.link("speaker")

    for _ in range(20):
        await speaker.publish("news.today", b"!")
    await asyncio.sleep(1)

    by_name = {name: sum(1 for heard in town.heard if heard[0] == name) for name in town.nodes}
    assert (by_name["all-1"], by_name["all-2"], by_name["one-1"] + by_name["one-2"]) == (20, 20, 20)
    assert by_name["one-1"] > 0
    assert by_name["one-2"] > 0


@in_town
async def test_a_question_is_answered(town):
    await town.serve("server", "ask", b"42")
    asker = await town.link("asker")

    assert await asker.request("ask", b"?", 1.0) == b"42"
    assert town.heard == [("server", "ask", b"?")]


@in_town
async def test_a_question_that_nobody_listens_to_fails_at_once(town):
    asker = await town.link("asker")
    asked_at = now()

    with pytest.raises(NobodyThere):
        await asker.request("ask", b"?", 60.0)

    assert now() - asked_at < 0.1


@in_town
async def test_a_question_that_nobody_answers_is_silence_when_its_time_is_over(town):
    await town.listen("server", "ask")
    asker = await town.link("asker")
    asked_at = now()

    with pytest.raises(Silent, match="within 60 s"):
        await asker.request("ask", b"?", 60.0)

    assert now() - asked_at == 60.0


@in_town
async def test_who_unsubscribed_hears_nothing_more_not_even_what_is_under_way(town):
    listener = await town.listen("listener", "news")
    speaker = await town.link("speaker")
    await speaker.publish("news")

    await listener.unsubscribe(listener.subscriptions[0])
    await speaker.publish("news")
    await asyncio.sleep(1)

    assert town.heard == []


@in_town
async def test_what_is_too_large_is_refused(town):
    speaker = await town.link("speaker")

    with pytest.raises(PayloadTooLarge):
        await speaker.publish("news", b"x" * (speaker.message_bytes_max + 1))


@in_town
async def test_a_listener_that_raises_goes_on_listening(town):
    link = await town.link("listener")
    letters = []

    def hear(letter):
        letters.append(letter)
        raise ValueError("a fault of ours")

    await link.subscribe("news", hear)
    await link.publish("news")
    await link.publish("news")
    await asyncio.sleep(1)

    assert len(letters) == 2


@in_town
async def test_the_bell_of_one_server_is_heard_by_all(town):
    bells = [Doorbell(await town.link(name), prefix="sim") for name in ("one", "two")]
    pools = []
    for bell in bells:
        await bell.heard(pools.append)

    bells[0].ring("big")
    await asyncio.sleep(1)

    assert pools == ["big", "big"]


@in_town
async def test_events_are_exported_to_a_stream_once_each(town):
    store = MemoryStore()
    await store.commit(Batch(executions=[Execution(id=7, sha="5ha", path="a", version=1)]))
    events = [StepStarted(ts=float(run), run=run, step="load") for run in range(1, 4)]
    await store.commit(Batch(appends=[Append(execution_id=7, first_seq=1, events=events, status="running")]))

    async def always():
        return True

    exports = [
        EventExport(
            await town.link(name), Exported(store), prefix="sim", clock=SystemClock(), chance=town.wire.random,
            is_mine=always,
        )
        for name in ("one", "two")
    ]  # fmt: skip

    sent = [await export.export() for export in exports]

    assert sent == [3, 3]
    assert list(town.network.streams.by_name["sim-events"].messages) == ["7-1", "7-2", "7-3"]


class Exported:
    """A store whose cursor does not move, so that everything is sent again."""

    def __init__(self, store):
        self.events = store.events

    async def prepare_export(self):
        pass

    async def behind(self, limit):
        return [(7, 0)]

    async def advance(self, cursors):
        pass


# --- faults of messages ----------------------------------------------------------------------------------------------


@in_town
async def test_a_dropped_message_is_lost_and_the_next_is_not(town):
    await town.listen("listener", "news")
    speaker = await town.link("speaker")
    town.wire.drops = [("speaker", "listener")]

    await speaker.publish("news", b"1")
    await speaker.publish("news", b"2")
    await asyncio.sleep(1)

    assert town.heard == [("listener", "news", b"2")]


@in_town
async def test_a_dropped_answer_is_silence_though_the_question_was_heard(town):
    await town.serve("server", "ask")
    asker = await town.link("asker")
    town.wire.drops = [("server", "asker")]

    with pytest.raises(Silent):
        await asker.request("ask", b"?", 5.0)

    assert len(town.heard) == 1


@in_town
async def test_a_doubled_question_is_heard_twice_and_answered_once(town):
    await town.serve("server", "ask")
    asker = await town.link("asker")
    town.wire.doubles = [("asker", "server")]

    assert await asker.request("ask", b"?", 5.0) == b"yes"
    await asyncio.sleep(1)

    assert len(town.heard) == 2


@in_town
async def test_a_late_answer_is_for_nobody(town):
    await town.serve("server", "ask")
    asker = await town.link("asker")
    town.wire.delays[("server", "asker")] = 90.0

    with pytest.raises(Silent):
        await asker.request("ask", b"1", 5.0)
    del town.wire.delays[("server", "asker")]
    await asyncio.sleep(84.999)

    assert await asker.request("ask", b"2", 5.0) == b"yes"


@in_town
async def test_messages_overtake_each_other_by_their_delays(town):
    await town.listen("listener", "news")
    speaker = await town.link("speaker")

    for number, delay_seconds in ((b"1", 30.0), (b"2", 10.0)):
        town.wire.delays[("speaker", "listener")] = delay_seconds
        await speaker.publish("news", number)
    await asyncio.sleep(60)

    assert [data for _, _, data in town.heard] == [b"2", b"1"]


@in_town
async def test_nothing_passes_between_two_that_are_cut_apart(town):
    await town.serve("server", "ask")
    asker, other = await town.link("asker"), await town.link("other")
    town.wire.cuts = [{"asker", "server"}]

    with pytest.raises(Silent):
        await asker.request("ask", b"?", 60.0)

    assert town.heard == []
    assert asker.is_up
    assert await other.request("ask", b"?", 5.0) == b"yes"


@pytest.mark.parametrize("is_swizzled", [False, True])
def test_what_a_clog_held_up_arrives_when_it_is_over(is_swizzled):
    async def play(make_node):
        town = Town(make_node)
        await town.listen("listener", "news")
        speaker = await town.link("speaker")
        town.network.carriage.clog("listener")
        for number in range(20):
            await speaker.publish("news", b"%d" % number)
        await asyncio.sleep(60)
        before = len(town.heard)
        town.wire.swizzles = is_swizzled
        town.wire.delay_seconds = lambda sender, receiver: (len(town.heard) + next(delays)) % 7 / 1000
        town.network.carriage.unclog("listener")
        await asyncio.sleep(60)
        return before, [int(data) for _, _, data in town.heard]

    delays = iter(range(0, 1000, 3))

    before, order = simulated(play)

    assert before == 0
    assert sorted(order) == list(range(20))
    assert (order != list(range(20))) is is_swizzled


@pytest.mark.parametrize("order", [("speaker", "listener"), ("listener", "speaker")])
def test_what_is_clogged_at_both_ends_waits_for_both(order):
    async def play(make_node):
        town = Town(make_node)
        await town.listen("listener", "news")
        speaker = await town.link("speaker")
        for name in order:
            town.network.carriage.clog(name)
        await speaker.publish("news")
        heard = []
        for name in order:
            town.network.carriage.unclog(name)
            await asyncio.sleep(60)
            heard.append(len(town.heard))
        return heard

    assert simulated(play) == [0, 1]


# --- faults of connections -------------------------------------------------------------------------------------------


@in_town
async def test_when_the_message_server_stops_what_is_under_way_fails_and_all_come_back(town):
    await town.serve("server", "ask")
    asker = await town.link("asker")
    town.wire.delays[("server", "asker")] = 50.0
    asking = town.node("asker").run(asker.request("ask", b"1", 60.0))
    await asyncio.sleep(1)

    town.network.stop()
    with pytest.raises(NotConnected, match="broke"):
        await asking
    with pytest.raises(NotConnected, match="there is no connection"):
        await asker.request("ask", b"2", 60.0)
    with pytest.raises(NotConnected, match="connection refused"):
        await asker.until_up(30)
    town.network.start()
    started_at = now()
    await asyncio.sleep(10)
    del town.wire.delays[("server", "asker")]

    assert await asker.request("ask", b"3", 5.0) == b"yes"
    assert now() - started_at < 11


@in_town
async def test_a_broken_link_is_mended_with_its_subscriptions(town):
    link = await town.listen("listener", "news")
    speaker = await town.link("speaker")

    town.network.break_link(town.node("listener"))
    was_up = link.is_up
    await speaker.publish("news", b"1")
    await link.until_up(10)
    await speaker.publish("news", b"2")
    await asyncio.sleep(1)

    assert not was_up
    assert town.heard == [("listener", "news", b"2")]


@in_town
async def test_a_link_cut_off_from_the_message_server_notices_after_a_while_and_comes_back(town):
    await town.serve("server", "ask")
    asker = await town.link("asker")
    town.wire.cuts = [{"asker", "nats"}]
    asking = town.node("asker").run(asker.request("ask", b"?", 60.0))
    await asyncio.sleep(4.9)
    was_up = asker.is_up

    with pytest.raises(NotConnected):
        await asking
    noticed_at = now()
    with pytest.raises(NotConnected, match="did not answer in time"):
        await asker.until_up(30)
    town.wire.cuts = []
    await asker.until_up(10)

    assert was_up
    assert noticed_at < 12
    assert town.heard == []
    assert await asker.request("ask", b"?", 5.0) == b"yes"


@in_town
async def test_a_short_cut_is_not_noticed(town):
    await town.serve("server", "ask")
    asker = await town.link("asker")
    town.wire.cuts = [{"asker", "nats"}]
    asking = town.node("asker").run(asker.request("ask", b"?", 20.0))
    await asyncio.sleep(3)

    town.wire.cuts = []
    with pytest.raises(Silent):
        await asking

    assert asker.is_up


@in_town
async def test_messages_to_a_killed_process_are_lost_until_it_is_noticed(town):
    await town.serve("server", "ask")
    asker = await town.link("asker")
    town.wire.noticed_after_seconds = 30.0
    town.node("server").kill()
    town.network.killed(town.node("server"))

    with pytest.raises(Silent):
        await asker.request("ask", b"1", 20.0)
    await asyncio.sleep(20)
    with pytest.raises(NobodyThere):
        await asker.request("ask", b"2", 20.0)

    assert town.heard == []


@in_town
async def test_the_successor_of_a_killed_process_gets_nothing_of_its_predecessor(town):
    await town.listen("listener", "news")
    speaker = await town.link("speaker")
    town.wire.delays[("speaker", "listener")] = 10.0
    await speaker.publish("news", b"1")

    town.nodes.pop("listener").kill()
    successor = await town.listen("listener", "news")
    await speaker.publish("news", b"2")
    await asyncio.sleep(60)

    assert successor.is_up
    assert town.heard == [("listener", "news", b"2")]


@in_town
async def test_a_paused_process_hears_when_it_goes_on(town):
    await town.listen("listener", "news")
    speaker = await town.link("speaker")
    town.node("listener").pause()
    await speaker.publish("news")
    await asyncio.sleep(90)
    before = len(town.heard)

    town.node("listener").go_on()
    await asyncio.sleep(1)

    assert (before, len(town.heard)) == (0, 1)


@in_town
async def test_a_closed_link_stays_closed(town):
    link = await town.listen("listener", "news")

    await link.close()
    await asyncio.sleep(60)

    assert not link.is_up
    with pytest.raises(NotConnected):
        await link.publish("news")
