"""A user's way to a server: an answer, an error, or no word at all; work is the server's own."""

import asyncio

import pytest

from noetl.errors import UnknownExecution
from noetl.messaging.unanswered import NotConnected, Silent
from noetl.testing.simulator.network.network import Network
from noetl.testing.simulator.nodes import NODE
from tests.simulation.calm import Wire, simulated


class Site:
    """A user, a server, and work that is written down."""

    def __init__(self, make_node):
        self.wire = Wire()
        self.user, self.server = make_node("user"), make_node("server")
        self.line = Network(self.wire, make_node("nats")).line(self.user)
        self.worked_at = []
        self.finished = 0

    async def work(self):
        self.worked_at.append(NODE.get().name)
        await asyncio.sleep(2)
        self.finished += 1
        return len(self.worked_at)

    def call(self, work=None):
        return self.user.run(self.line.call(self.server, work or self.work))


def on_site(play):
    return simulated(lambda make_node: play(Site(make_node)))


def test_work_is_done_at_the_server_and_its_answer_comes_back():
    async def play(site):
        return await site.call(), site.worked_at

    assert on_site(play) == (1, ["server"])


def test_what_the_work_raises_comes_back():
    async def play(site):
        async def refuse():
            raise UnknownExecution(7, "the store")

        with pytest.raises(UnknownExecution, match="7"):
            await site.call(refuse)

    on_site(play)


@pytest.mark.parametrize(("lost", "worked"), [(("user", "server"), 0), (("server", "user"), 1)])
def test_a_lost_request_and_a_lost_answer_look_the_same(lost, worked):
    async def play(site):
        site.wire.drops = [lost]
        with pytest.raises(Silent, match="did not answer within 10 s"):
            await site.call()
        return site.finished

    assert on_site(play) == worked


def test_a_doubled_request_is_worked_on_twice_and_answered_once():
    async def play(site):
        site.wire.doubles = [("user", "server")]
        await site.call()
        await asyncio.sleep(5)
        return site.finished

    assert on_site(play) == 2


def test_nothing_passes_a_partition():
    async def play(site):
        site.wire.cuts = [{"user", "server"}]
        with pytest.raises(Silent):
            await site.call()
        return site.worked_at

    assert on_site(play) == []


def test_a_dead_server_refuses_at_once():
    async def play(site):
        site.server.kill()
        with pytest.raises(NotConnected, match="connection refused"):
            await site.call()
        return asyncio.get_running_loop().time()

    assert on_site(play) < 0.1


def test_work_ends_with_its_server_and_no_answer_comes():
    async def play(site):
        asking = site.call()
        await asyncio.sleep(1)
        site.server.kill()
        with pytest.raises(Silent):
            await asking
        return len(site.worked_at), site.finished

    assert on_site(play) == (1, 0)


def test_work_that_the_server_gives_up_is_a_broken_connection():
    async def play(site):
        async def give_up():
            raise asyncio.CancelledError

        with pytest.raises(NotConnected, match="ended the connection"):
            await site.call(give_up)

    on_site(play)
