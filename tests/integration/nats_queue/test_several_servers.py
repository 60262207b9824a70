"""Several servers on one NATS: whom a worker turns to, how one leaves, and how much each takes at once."""

import asyncio
import threading

import pytest

from noetl.queues import nats_service, wire
from noetl.queues.contract import ACCEPTED, PlaybookText
from noetl.testing.office import Office, a_work
from noetl.testing.transport_suite import report_of
from noetl.testing.waiting import until
from tests.integration.nats_queue.parts import claimed


class Separate:
    """One of several servers on the same office, which counts what it was asked itself."""

    def __init__(self, office):
        self._office = office
        self.reports = 0

    def __getattr__(self, name):
        return getattr(self._office, name)

    async def report(self, member, report):
        self.reports += 1
        return await self._office.report(member, report)

    async def report_all(self, member, reports):
        return [await self.report(member, report) for report in reports]


async def test_reports_go_to_the_server_that_gave_the_job(stage, office):
    servers = {name: Separate(office) for name in ("one", "two")}
    for name, server in servers.items():
        await stage.server(server, name)
    transport = await stage.transport()
    await office.add(a_work())
    [work] = await transport.poll("w", 1)
    home = transport._homes.of(work.lease)

    for n in range(1, 11):
        await transport.report(report_of(work, n))

    assert {name: server.reports for name, server in servers.items()} == {
        home: 10,
        **{name: 0 for name in servers if name != home},
    }


async def test_a_report_goes_elsewhere_when_the_home_of_its_job_is_gone(stage, office):
    for name in ("one", "two"):
        await stage.server(office, name)
    transport, work = await claimed(stage, office)
    home = transport._homes.of(work.lease)
    await stage.services[("one", "two").index(home)].close()

    assert await transport.report(report_of(work)) == ACCEPTED


async def test_homes_are_forgotten_when_nothing_is_held(stage, office):
    await stage.server(office)
    transport, work = await claimed(stage, office)
    await transport.heartbeat("w", [(work.key, work.lease)])
    await transport.heartbeat("w", [(work.key, work.lease)])
    held = transport._homes.of(work.lease)

    await transport.heartbeat("w", [])
    await transport.heartbeat("w", [])

    assert (held, transport._homes.of(work.lease)) == ("one", "")


@pytest.mark.slow
async def test_a_server_that_hangs_costs_one_time_out_and_is_then_avoided(stage, office):
    await stage.server(office, "good")
    transport, work = await claimed(stage, office)
    office.wait_seconds_max = 0.01
    hanging = await stage.link()
    silent = []
    for verb in (wire.HEARTBEAT, wire.POLL, wire.REPORT):
        await hanging.subscribe(stage.subjects.verb(wire.ANY, verb), silent.append, wire.SERVERS)
    while not silent:
        await transport.poll("w", 1)
    silent.clear()

    for _ in range(20):
        await transport.poll("w", 1)
        assert await transport.heartbeat("w", [(work.key, work.lease)]) == []

    assert not silent


async def test_a_server_that_drains_answers_who_waits_and_takes_no_further_poll(stage, office):
    leaving = await stage.server(office, "leaving")
    transport = await stage.transport()
    polling = asyncio.create_task(transport.poll("w", 1))
    await until(lambda: leaving.waiting_polls)
    office_stays = Office()
    office_stays._sessions = office._sessions

    draining = asyncio.create_task(leaving.drain())
    await stage.server(office_stays, "staying")
    await office.add(a_work(1))
    first = await polling
    await draining
    await office_stays.add(a_work(2))
    second = await transport.poll("w", 1)

    assert ([work.run for work in first], [work.run for work in second]) == ([1], [2])


async def test_a_report_under_way_is_finished_before_a_server_ends(stage, office):
    going = asyncio.Event()
    heard = asyncio.Event()

    class Slow(Separate):
        async def report(self, member, report):
            heard.set()
            await going.wait()
            return await super().report(member, report)

    service = await stage.server(Slow(office))
    transport, work = await claimed(stage, office)
    reporting = asyncio.create_task(transport.report(report_of(work)))
    await heard.wait()
    draining = asyncio.create_task(service.drain())
    await asyncio.sleep(0)

    going.set()
    await draining

    assert await reporting == ACCEPTED


# --- bounds ----------------------------------------------------------------------------------------------------------


async def test_a_thousand_waiting_polls_are_no_threads_and_all_are_answered(stage, office):
    service = await stage.server(office)
    transport = await stage.transport()
    await transport.enrol()
    threads = threading.active_count()
    polling = [asyncio.create_task(transport.poll("w", 1)) for _ in range(1000)]
    await until(lambda: service.waiting_polls == 1000)
    at_most = threading.active_count()

    await office.add(*(a_work(number) for number in range(1000)))
    answers = await asyncio.gather(*polling)

    assert sorted(work.run for works in answers for work in works) == list(range(1000))
    assert at_most == threads


async def test_beyond_its_bound_a_kind_of_request_is_refused_and_others_are_not(stage, office, monkeypatch):
    monkeypatch.setitem(nats_service.AT_ONCE_MAX, wire.POLL, 2)
    service = await stage.server(office)
    transport = await stage.transport()
    await transport.enrol()
    waiting = [asyncio.create_task(transport.poll("w", 1)) for _ in range(2)]
    await until(lambda: service.waiting_polls == 2)

    third = await transport.poll("w", 1)
    beat = await transport.heartbeat("w", [])
    await office.add(a_work(1), a_work(2))

    assert (third, beat) == ([], [])
    assert sorted(works[0].run for works in await asyncio.gather(*waiting)) == [1, 2]


async def test_parts_of_a_server_that_is_gone_are_asked_for_again_and_not_mixed(stage, office):
    office.playbooks["5ha"] = PlaybookText(data=b"abcd" * 700_000, name="a.yaml")
    service = await stage.server(office)
    transport = await stage.transport()
    kept = service._answers._parts
    kept_part, forgotten = kept.part, []

    def forgetful(worker, kept_id, index):
        if index == 1 and not forgotten:
            forgotten.append(kept_id)
            raise LookupError("gone")
        return kept_part(worker, kept_id, index)

    kept.part = forgetful
    text = await transport.playbook("5ha")

    assert text == office.playbooks["5ha"]
    assert (len(forgotten), office.asked["playbook"]) == (1, 2)
