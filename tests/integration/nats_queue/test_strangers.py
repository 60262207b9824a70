"""What strangers can do on the queue's subjects: nothing. Garbage, forged sessions, foreign jobs, listeners."""

import asyncio
import base64
import json
import os

import msgspec
import nats as client_library
import pytest
import pytest_asyncio

from noetl.messaging.sealed import Reader, SealBroken, Sealed, seal
from noetl.queues import wire
from noetl.queues.contract import ACCEPTED, PlaybookText
from noetl.testing.office import TOKEN, a_profile, a_work
from noetl.testing.transport_suite import report_of
from tests.integration.nats_queue.parts import claimed

GARBAGE = [
    b"",
    b"\x00\xff\xfe",
    b"null",
    b"[]",
    b"{}",
    b'{"v":3}',
    b'{"v":3,"session":7}',
    b'{"v":3,"session":null,"held":[[[1,2],3]]}',
    b'{"v":3,"session":"x","free":"all","wait_seconds":1e999}',
    b"[" * 100_000,
    b'{"session":' * 5_000,
    b"x" * 900_000,
]


@pytest_asyncio.fixture
async def stranger(stage):
    return await stage.link(stage.subjects.inbox("default"))


async def asked(stage, link, verb, request, server=wire.ANY):
    data = request if isinstance(request, bytes) else wire.encode(request)
    return wire.decode_answer(await link.request(stage.subjects.verb(server, verb), data, 5.0))


@pytest.mark.parametrize("verb", wire.VERBS)
async def test_garbage_is_refused_and_the_server_goes_on(stage, office, stranger, verb):
    await stage.server(office)
    transport, work = await claimed(stage, office)

    answers = [await asked(stage, stranger, verb, data) for data in GARBAGE]

    allowed = {wire.REFUSED, wire.UNAUTHENTICATED} | ({wire.OK} if verb == wire.GREET else set())
    assert {answer.status for answer in answers} <= allowed
    assert await transport.report(report_of(work)) == ACCEPTED


@pytest.mark.parametrize(
    ("verb", "request_of"),
    [
        (wire.POLL, lambda session: wire.Polling(session=session, free=1, wait_seconds=0.1)),
        (wire.HEARTBEAT, lambda session: wire.Holding(session=session, held=[])),
        (wire.RELEASE, lambda session: wire.Holding(session=session, held=[])),
        (wire.PLAYBOOK, lambda session: wire.PlaybookWanted(session=session, sha="5ha")),
        (wire.LEAVE, lambda session: wire.Asked(session=session)),
        (wire.PART, lambda session: wire.PartWanted(session=session, id="x", index=0)),
    ],
)
async def test_a_forged_session_gets_nothing(stage, office, stranger, verb, request_of):
    await stage.server(office)
    transport = await stage.transport()
    await transport.enrol()
    real = transport._enrolment.held

    answers = [await asked(stage, stranger, verb, request_of(forged)) for forged in ("", "forged", real + "x")]

    assert {(answer.status, bytes(answer.body)) for answer in answers} == {(wire.UNAUTHENTICATED, b"null")}
    assert not office.left


async def test_a_pool_in_the_message_is_not_looked_at(stage, office, stranger):
    await stage.server(office)
    transport = await stage.transport()
    await transport.enrol()
    await office.add(a_work(), pool="big")
    polling = {"v": wire.VERSION, "session": transport._enrolment.held, "free": 1, "wait_seconds": 0.01, "pool": "big"}

    answer = await asked(stage, stranger, wire.POLL, json.dumps(polling).encode())

    assert (answer.status, bytes(answer.body)) == (wire.OK, b"[]")


@pytest.mark.parametrize(
    "event",
    [
        {"name": "workflow.finished", "ts": 1, "run": 1, "lease": 1, "result": "success"},
        {"name": "step.started", "ts": 1, "run": 2, "lease": 1, "step": "load"},
        {"name": "step.started", "ts": 1, "run": 1, "lease": 2, "step": "load"},
        {"name": "step.started", "ts": 1, "run": 1, "iter": 5, "lease": 1, "step": "load"},
    ],
)
async def test_a_worker_cannot_report_what_is_not_its_own(stage, office, stranger, event):
    await stage.server(office)
    transport = await stage.transport()
    await office.add(a_work(1, lease=1))
    await transport.poll("w", 1)
    report = {"execution_id": 7, "run": 1, "iter": -1, "lease": 1, "n": 1, "events": [event]}
    reporting = {"v": wire.VERSION, "session": transport._enrolment.held, "reports": [report]}

    answer = await asked(stage, stranger, wire.REPORT, json.dumps(reporting).encode())

    assert answer.status == wire.REFUSED
    assert not office.reports


async def test_another_version_is_told_so_whatever_its_shape(stage, office, stranger):
    await stage.server(office)

    answers = [await asked(stage, stranger, verb, b'{"v":1,"other":"shape"}') for verb in wire.VERBS]

    assert {answer.status for answer in answers} == {wire.OTHER_VERSION}
    assert "version 3 of the queue's messages, the worker version 1; upgrade" in answers[0].message


async def test_parts_are_for_the_worker_that_asked_only(stage, office, stranger):
    office.playbooks["5ha"] = PlaybookText(data=b"a" * 2_000_000, name="a.yaml")
    await stage.server(office)
    one, two = await stage.transport(a_profile("one-1")), await stage.transport(a_profile("two-1"))
    await asyncio.gather(one.enrol(), two.enrol())
    wanted = wire.PlaybookWanted(session=one._enrolment.held, sha="5ha")
    parts = (await asked(stage, stranger, wire.PLAYBOOK, wanted)).parts

    def part(session, index=0):
        return asked(stage, stranger, wire.PART, wire.PartWanted(session=session, id=parts.id, index=index), "one")

    statuses = [
        (await part(one._enrolment.held)).status,
        (await part(one._enrolment.held, parts.count)).status,
        (await part(one._enrolment.held, -1)).status,
        (await part(two._enrolment.held)).status,
    ]

    assert statuses == [wire.OK, wire.MISSING, wire.MISSING, wire.MISSING]


async def test_a_server_answers_to_inboxes_of_its_cluster_and_nowhere_else(stage, office, nats_url):
    await stage.server(office)
    client = await client_library.connect(nats_url)
    heard = []
    for subject in (stage.subjects.revoked("w"), stage.subjects.verb("one", wire.POLL), f"{stage.prefix}x.reply.a"):
        await client.subscribe(subject, cb=keep_in(heard))
    inside = await client.subscribe(f"{stage.subjects.inbox('default')}.x")
    for reply in (stage.subjects.revoked("w"), f"{stage.prefix}x.reply.a", inside.subject):
        await client.publish(stage.subjects.verb(wire.ANY, wire.GREET), b"{}", reply=reply)

    await inside.next_msg(timeout=5)
    await client.flush()
    await client.close()

    assert not heard


def keep_in(heard):
    async def keep(message):
        heard.append(message)

    return keep


# --- listening -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("KC-05")
async def test_who_hears_everything_on_nats_hears_no_secret(stage, office, nats_url):
    canaries = {f"field_{number}": f"canary-{os.urandom(12).hex()}" for number in range(20)}
    office.credentials["db"] = dict(canaries)
    await stage.server(office)
    listener, heard = await client_library.connect(nats_url), []
    await listener.subscribe(">", cb=keep_in(heard))
    await listener.flush()
    transport, work = await claimed(stage, office)

    got = await transport.credential(work.key, work.lease, "db")
    await transport.report(report_of(work))
    await transport.leave()
    await listener.flush()
    await listener.close()

    captured = b"\n".join(message.subject.encode() + message.data for message in heard)
    assert got == canaries
    assert b"credential" in captured
    assert b"public_key" in captured
    for secret in (*canaries.values(), TOKEN):
        plain = secret.encode()
        forms = [plain, plain.hex().encode(), *(base64.b64encode(b"x" * n + plain)[4:-4] for n in range(3))]
        assert not [form for form in forms if form in captured]


@pytest.mark.spec("KC-05")
async def test_who_took_a_session_off_the_wire_gets_no_secret_with_it(stage, office, stranger):
    office.credentials["db"] = {"password": "s3cret"}
    await stage.server(office)
    transport, work = await claimed(stage, office)
    thief = Reader()
    wanted = wire.CredentialWanted(
        session=transport._enrolment.held, key=work.key, lease=work.lease, name="db", nonce=b"n"
    )
    with_own_key = json.loads(wire.encode(wanted)) | {"public_key": base64.b64encode(thief.public_key).decode()}

    answer = await asked(stage, stranger, wire.CREDENTIAL, json.dumps(with_own_key).encode())

    about = wire.about_credential(transport.profile.worker, wanted)
    sealed = wire.decode_sealed(answer.body)
    with pytest.raises(SealBroken):
        thief.open(sealed, about)
    assert transport._reader.open(sealed, about) == b'{"password":"s3cret"}'


def test_a_seal_opens_for_its_reader_and_its_purpose_only():
    reader = Reader()
    sealed = seal(b"plain", reader.public_key, b"about a")

    assert reader.open(sealed, b"about a") == b"plain"
    assert b"plain" not in wire.encode(sealed)
    for broken in (
        lambda: reader.open(sealed, b"about b"),
        lambda: Reader().open(sealed, b"about a"),
        lambda: reader.open(msgspec.structs.replace(sealed, nonce=b""), b"about a"),
        lambda: reader.open(msgspec.structs.replace(sealed, ciphertext=b"x" + sealed.ciphertext[1:]), b"about a"),
        lambda: reader.open(Sealed(public_key=bytes(32), nonce=bytes(12), ciphertext=b""), b"about a"),
        lambda: seal(b"plain", bytes(32), b"about a"),
        lambda: seal(b"plain", b"short", b"about a"),
    ):
        with pytest.raises(SealBroken):
            broken()


def test_the_same_message_is_sealed_differently_each_time():
    reader = Reader()

    assert len({seal(b"plain", reader.public_key, b"a").ciphertext for _ in range(10)}) == 10
