"""Workers and servers on NATS when something breaks between them: nothing is lost, nothing is recorded twice."""

import asyncio

import pytest

from noetl.clock import SystemClock
from noetl.errors import PayloadTooLarge, Unreachable
from noetl.messaging import link as links
from noetl.messaging import pauses
from noetl.messaging.server import server_of
from noetl.messaging.unanswered import NobodyThere, NotConnected, Silent
from noetl.queues.contract import ACCEPTED, DUPLICATE
from noetl.testing.nats_stage import on_nats
from noetl.testing.office import Office, a_profile, a_work
from noetl.testing.services import restarting_nats
from noetl.testing.transport_suite import done, report_of
from noetl.testing.waiting import until
from tests.integration.nats_queue.parts import claimed
from tests.integration.nats_queue.proxy import proxied


async def test_nats_that_stops_and_comes_back_costs_a_pause_and_nothing_else():
    with restarting_nats() as server:
        async with on_nats(server.url) as stage:
            office = Office()
            await stage.server(office)
            transport, work = await claimed(stage, office)
            server.stop()
            await until(lambda: not stage.links[-1].is_up)
            reporting = asyncio.create_task(transport.report(report_of(work)))
            with pytest.raises(NotConnected, match="there is no connection to NATS"):
                await stage.links[-1].request("any", b"", 1.0)
            await asyncio.to_thread(server.start)
            word = await reporting
            await office.add(a_work(2))
            polled = []
            while not polled:
                polled = await transport.poll("w", 1)

    assert (word, len(office.reports), polled[0].run) == (ACCEPTED, 1, 2)


@pytest.mark.spec("RO-03")
async def test_a_report_whose_answer_is_lost_with_the_connection_is_recorded_once(stage, office, nats_url):
    await stage.server(office)
    async with proxied(nats_url) as proxy:
        link = await stage.link(stage.subjects.inbox("default"), url=proxy.url)
        transport, work = await claimed(stage, office, link=link)
        proxy.is_deaf = True
        reporting = asyncio.create_task(transport.report(report_of(work, events=[done(work)])))
        await until(lambda: office.reports)

        proxy.is_deaf = False
        proxy.cut()
        word = await reporting
        await link.close()

    assert (word, len(office.reports), proxy.connections) == (DUPLICATE, 1, 2)


async def test_a_poll_whose_answer_is_lost_is_empty_and_the_job_stays_with_its_lease(stage, office, nats_url):
    await stage.server(office)
    async with proxied(nats_url) as proxy:
        link = await stage.link(stage.subjects.inbox("default"), url=proxy.url)
        transport = await stage.transport(link=link)
        await transport.enrol()
        proxy.is_deaf = True
        polling = asyncio.create_task(transport.poll("w", 1))
        await office.add(a_work())
        await until(lambda: office.leases)

        proxy.is_deaf = False
        proxy.cut()

        assert await polling == []
        await link.close()

    assert list(office.leases) == [a_work().key]


async def test_a_server_that_loses_its_connection_listens_again(stage, office, nats_url):
    async with proxied(nats_url) as proxy:
        link = await stage.link(url=proxy.url)
        await stage.server(office, link=link)
        transport, work = await claimed(stage, office)

        proxy.cut()
        await until(lambda: not link.is_up)
        word = await transport.report(report_of(work))
        await stage.services[0].close()
        await link.close()

    assert (word, proxy.connections) == (ACCEPTED, 2)


async def test_a_connection_that_hangs_is_noticed_and_made_anew(stage, nats_url, monkeypatch):
    monkeypatch.setattr(links, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(links, "PONG_SECONDS_MAX", 0.1)
    async with proxied(nats_url) as proxy:
        link = await stage.link(url=proxy.url)
        heard = asyncio.Event()
        await link.subscribe(f"{stage.prefix}.hello", lambda letter: heard.set())
        proxy.is_deaf = True
        await until(lambda: not link.is_up)

        proxy.is_deaf = False
        await link.until_up(10)
        await link.publish(f"{stage.prefix}.hello")
        await heard.wait()
        await link.close()

    assert proxy.connections >= 2


async def test_what_is_subscribed_to_while_a_connection_is_made_is_heard(stage, nats_url):
    server = server_of("queue.url", {"url": nats_url})
    link = links.Link(server, inbox=stage.subjects.server_inbox, clock=SystemClock(), chance=lambda: 0.5)
    stage.links.append(link)
    heard = asyncio.Queue()
    link.start()
    subjects = [f"{stage.prefix}.{number}" for number in range(200)]
    for subject in subjects:
        await link.subscribe(subject, heard.put_nowait)
        await asyncio.sleep(0.0002)  # over the whole time that connecting takes
    await link.until_up(5)

    for subject in subjects:
        await link.publish(subject)

    assert {(await heard.get()).subject for _ in subjects} == set(subjects)


async def test_without_any_server_a_poll_is_empty_and_all_else_says_so(stage):
    transport = await stage.transport()

    assert await transport.poll("w", 1) == []
    with pytest.raises(NobodyThere, match=f"no server of the cluster {stage.prefix} is there"):
        await transport.heartbeat("w", [])


async def test_polls_that_nobody_answers_pause_longer_and_longer(stage):
    waited = []

    class ImpatientClock(SystemClock):
        async def sleep(self, seconds):
            waited.append(seconds)

    transport = await stage.transport(clock=ImpatientClock())
    for _ in range(12):
        await transport.poll("w", 1)

    assert waited[0] <= pauses.PAUSE_SECONDS_FIRST
    assert waited[0] < waited[2] < waited[4]
    assert pauses.PAUSE_SECONDS_MAX / 2 <= waited[-1] <= pauses.PAUSE_SECONDS_MAX


async def test_a_link_that_was_never_up_says_why():
    server = server_of("queue.url", {"url": "nats://ann:secret@127.0.0.1:1"})
    link = links.Link(server, inbox="x", clock=SystemClock(), chance=lambda: 0.5)

    link.start()
    with pytest.raises(NotConnected, match=r"cannot connect to NATS at 127\.0\.0\.1:1: Connection refused") as told:
        await link.until_up(0.3)
    await link.close()

    assert "secret" not in str(told.value)


async def test_a_message_that_is_too_large_is_refused_with_its_size(stage, office):
    await stage.server(office)
    transport, work = await claimed(stage, office)
    large = done(work)
    large.output["data"] = "x" * 1024 * 1024

    with pytest.raises(PayloadTooLarge, match="may have 1048576 bytes, but has 1048"):
        await transport.report(report_of(work, events=[large]))


async def test_a_silent_request_says_how_long_it_waited(stage):
    link = await stage.link()
    await link.subscribe(f"{stage.prefix}.deaf", lambda letter: None)

    with pytest.raises(Silent, match=r"within 0\.05 s"):
        await link.request(f"{stage.prefix}.deaf", b"", 0.05)


async def test_a_worker_is_told_at_once_which_jobs_to_drop(stage, office):
    service = await stage.server(office)
    transport = await stage.transport(a_profile("host.with.dots-1 x"))
    told = asyncio.Queue()
    await transport.on_revoked(told.put_nowait)

    await service.revoke("host.with.dots-1 x", [((7, 1, -1), 5)])

    assert await told.get() == [((7, 1, -1), 5)]


def test_outages_are_reasons_to_ask_again():
    assert all(issubclass(kind, Unreachable) for kind in (NotConnected, NobodyThere, Silent))
