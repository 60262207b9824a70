"""Log-ins, TLS, and what users of NATS need: as the settings have them and as docs/nats.md says."""

import asyncio
import re
import sys
from pathlib import Path

import nats as client_library
import pytest

from noetl.clock import SystemClock
from noetl.config import load
from noetl.errors import MissingLibrary, OperatorError
from noetl.messaging.unanswered import NotConnected
from noetl.queues import nats_link
from noetl.queues.contract import ACCEPTED
from noetl.results.blobs import Place
from noetl.results.nats import NatsResults
from noetl.testing.nats_stage import on_nats
from noetl.testing.office import Office, a_profile
from noetl.testing.services import running_nats
from noetl.testing.transport_suite import report_of
from tests.integration.nats.test_connections import certificate_in
from tests.integration.nats_queue.parts import claimed

DOCS = Path(__file__).parents[3] / "docs"


def documented_configuration():
    """The example of docs/nats.md, with passwords in it."""
    [block] = re.findall(r"```\n(authorization \{.*?)```", (DOCS / "nats.md").read_text(encoding="utf-8"), re.DOTALL)
    return block.replace("$SERVER_PASSWORD", "one").replace("$WORKER_PASSWORD", "two")


async def test_the_rights_in_the_documentation_are_enough_and_no_more():
    with running_nats(documented_configuration()) as url:
        at = url.removeprefix("nats://")
        async with on_nats(f"nats://noetl-server:one@{at}", "noetl") as stage:
            office = Office()
            office.credentials["db"] = {"password": "x"}
            service = await stage.server(office)
            bell, rung = await stage.doorbell(), asyncio.Queue()
            await bell.heard(rung.put_nowait)
            link = await stage.link(stage.subjects.inbox("default"), url=f"nats://noetl-worker:two@{at}")
            transport, work = await claimed(stage, office, link=link)
            revoked = asyncio.Queue()
            await transport.on_revoked(revoked.put_nowait)

            bell.ring("default")
            word = await transport.report(report_of(work))
            fields = await transport.credential(work.key, work.lease, "db")
            await service.revoke(a_profile().worker, [(work.key, work.lease)])
            told = [await rung.get(), await revoked.get()]
            worker_url = f"nats://noetl-worker:two@{at}"
            for subject in ("noetl.srv.>", "noetl.reply.big.>", "noetl.ready.*", ">"):
                assert subject in await refusal_of(worker_url, lambda client, at=subject: client.subscribe(at))
            for subject in ("noetl.revoked.x", "noetl.ready.default", "noetl.reply.default.x.1"):
                assert subject in await refusal_of(worker_url, lambda client, at=subject: client.publish(at, b"[]"))
            await transport.leave()
            await bell.close()

    assert (word, fields, told) == (ACCEPTED, {"password": "x"}, ["default", [(work.key, work.lease)]])


async def test_the_rights_for_results_in_the_documentation_are_enough():
    publish, subscribe = ("$JS.API.>", "$O.noetl-results.>"), "_INBOX.>"
    page = (DOCS / "nats.md").read_text(encoding="utf-8")
    configuration = documented_configuration()
    for listed, further in (('"noetl.srv.>" ]', publish), ('"noetl.revoked.*" ] }', (subscribe,))):
        added = ", ".join(f'"{subject}"' for subject in further)
        configuration = configuration.replace(listed, listed.replace(" ]", f", {added} ]"))

    with running_nats(configuration) as url:
        fields = {"url": f"nats://noetl-worker:two@{url.removeprefix('nats://')}"}
        results = NatsResults(fields, "noetl-results", Place(type="nats", prefix="nats:noetl-results/sha256:"))
        fetched = await results.fetch(await results.store(b"[1]"))
        await results.close()

    assert fetched == b"[1]"
    assert all(f"`{subject}`" in page for subject in (*publish, subscribe, "noetl.events.>"))


async def refusal_of(url, forbidden):
    """What NATS says to a user that tries something; waits for ever if it may."""
    refused = asyncio.get_running_loop().create_future()

    async def told(error):
        refused.set_result(str(error))

    client = await client_library.connect(url, error_cb=told)
    await forbidden(client)
    await refused
    await client.close()
    return refused.result()


async def test_a_log_in_that_is_refused_is_said_without_the_password(caplog):
    with running_nats("authorization { users = [{ user: ann, password: right }] }") as url:
        stage_url = f"nats://ann:wrong-donkey@{url.removeprefix('nats://')}"
        settings = settings_of(NOETL_QUEUE_URL=stage_url)
        link = nats_link.worker_link(settings, SystemClock())
        link.start()
        with pytest.raises(NotConnected, match="it refused the log-in") as told:
            await link.until_up(10)
        await link.close()

    assert "wrong-donkey" not in str(told.value) + caplog.text


async def test_tls_is_trusted_by_the_authority_of_the_setting_and_not_without(tmp_path):
    (tmp_path / "ca.pem").write_text(certificate_in(tmp_path))
    with running_nats(f'tls {{ cert_file: "{tmp_path}/cert.pem", key_file: "{tmp_path}/key.pem" }}') as url:
        tls = url.replace("nats://", "tls://")
        trusting = nats_link.worker_link(
            settings_of(NOETL_QUEUE_URL=tls, NOETL_QUEUE_CA_FILE=f"{tmp_path}/ca.pem"), SystemClock()
        )
        strange = nats_link.server_link(settings_of(NOETL_QUEUE_URL=tls), SystemClock())
        trusting.start()
        strange.start()
        await trusting.until_up(5)
        with pytest.raises(NotConnected, match="certificate verify failed"):
            await strange.until_up(10)
        await trusting.close()
        await strange.close()


def test_off_this_machine_a_queue_without_tls_is_not_spoken_to():
    link = nats_link.worker_link(settings_of(NOETL_QUEUE_URL="nats://nats.example.com"), SystemClock())

    assert link._server.needs_tls


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"NOETL_QUEUE_URL": "nats://ann:secret@host:x"}, "queue.url is none; a NATS server is named as nats://"),
        ({"NOETL_QUEUE_URL": "nats://h", "NOETL_QUEUE_CA_FILE": "/nowhere/ca.pem"}, "queue.ca_file /nowhere/ca.pem"),
    ],
)
def test_settings_that_cannot_be_used_say_what_is_wrong_and_no_secret(settings, message):
    with pytest.raises(OperatorError, match=re.escape(message)) as told:
        nats_link.worker_link(settings_of(**settings), SystemClock())

    assert "secret" not in str(told.value)


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "noetl.messaging.link", None)

    with pytest.raises(MissingLibrary, match=re.escape('pip install "noetl[nats]"')):
        nats_link.worker_link(settings_of(NOETL_QUEUE_URL="nats://127.0.0.1"), SystemClock())


def settings_of(**environ):
    return load(environ={"HOME": "/tmp", **environ}, folder=Path("/"))  # noqa: S108 - nothing is written there
