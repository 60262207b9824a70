"""Jobs that come with the answers to reports, over NATS."""

from noetl.queues.contract import ACCEPTED, Room
from noetl.testing.office import a_work
from noetl.testing.transport_suite import done, report_of
from tests.integration.nats_queue.parts import claimed

MEBIBYTE = 1024 * 1024


class Taker:
    """One with room for so many."""

    def __init__(self, free):
        self.free = free
        self.arrivals = []

    def room(self):
        return Room(free=self.free, is_idle=True)

    def arrived(self, room, works, sent_at):
        self.arrivals.append((room.free, works))


async def test_jobs_come_along_and_their_server_is_their_home(stage, office):
    await stage.server(office, "one")
    transport, work = await claimed(stage, office)
    transport.taker = Taker(2)
    await office.add(*(a_work(number) for number in (2, 3, 4)))

    word = await transport.report(report_of(work, events=[done(work)]))

    [(free, works)] = transport.taker.arrivals
    assert (word, free, [one.run for one in works]) == (ACCEPTED, 2, [2, 3])
    assert {transport._homes.of(one.lease) for one in works} == {"one"}


async def test_a_worker_without_room_gets_words_alone(stage, office):
    await stage.server(office)
    transport, work = await claimed(stage, office)
    transport.taker = Taker(0)
    await office.add(a_work(2))

    assert await transport.report(report_of(work)) == ACCEPTED
    assert transport.taker.arrivals == [(0, [])]


async def test_much_that_comes_along_comes_in_parts(stage, office):
    await stage.server(office)
    transport, work = await claimed(stage, office)
    transport.taker = Taker(4)
    await office.add(a_work(2, size=3 * MEBIBYTE))

    assert await transport.report(report_of(work, events=[done(work)])) == ACCEPTED
    assert [len(one.progress.ctx["text"]) for _, works in transport.taker.arrivals for one in works] == [3 * MEBIBYTE]


async def test_a_server_that_is_about_to_end_gives_nothing_along(stage, office):
    await stage.server(office)
    transport, work = await claimed(stage, office)
    transport.taker = Taker(4)
    await office.add(a_work(2))
    stage.services[0]._answers.is_draining = True

    assert await transport.report(report_of(work)) == ACCEPTED
    assert transport.taker.arrivals == [(4, [])]
