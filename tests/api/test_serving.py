"""The API on a socket: where it listens, how it ends, and clients that take their time (security 20, 21)."""

import asyncio
import re
import socket
import ssl
import time

import aiohttp
import msgspec
import pytest

from noetl import serving
from noetl.errors import OperatorError, RequestError
from noetl.serving import CORKED_BYTES_MAX, Corked, check_transport, is_loopback, listening_socket
from noetl.testing.waiting import until
from tests.api.site import HELLO, NONE, site
from tests.control.parts import settings_of
from tests.tools.tls_parts import Authority

ALL = "0.0.0.0"  # noqa: S104  # refused, which is the point


def address_of(api) -> tuple[str, int]:
    host, port = api.url.partition("://")[2].split(":")
    return host, int(port)


# --- where -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", [ALL, "::", "10.0.0.7", "flows.example", "192.168.1.1"])
def test_listening_where_others_reach_it_needs_tls_or_so_many_words(tmp_path, host):
    open_to_all = msgspec.structs.replace(settings_of(tmp_path), server_host=host)

    with pytest.raises(RequestError, match=r"server\.tls_cert.*--insecure"):
        check_transport(open_to_all)
    check_transport(msgspec.structs.replace(open_to_all, server_insecure=True))
    check_transport(msgspec.structs.replace(open_to_all, server_tls_cert=tmp_path / "c", server_tls_key=tmp_path / "k"))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LOCALHOST"])
def test_this_machine_alone_needs_none(tmp_path, host):
    check_transport(msgspec.structs.replace(settings_of(tmp_path), server_host=host))

    assert is_loopback(host)


def test_half_of_a_certificate_is_none(tmp_path):
    with pytest.raises(RequestError, match="go together"):
        check_transport(msgspec.structs.replace(settings_of(tmp_path), server_tls_cert=tmp_path / "c"))


async def test_on_a_connection_that_is_kept_no_answer_waits_for_an_acknowledgement(api):
    reader, writer = await asyncio.open_connection(*address_of(api))
    taken = []
    for _ in range(21):
        began = time.perf_counter()
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(re.search(rb"content-length: (\d+)", head)[1]))
        taken.append(time.perf_counter() - began)
    writer.close()

    assert sorted(taken)[10] < ACKNOWLEDGED_LATE_SECONDS


@pytest.fixture
async def way_out():
    here, there = socket.socketpair()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_connection(asyncio.Protocol, sock=here)
    there.setblocking(False)
    with there:
        yield Corked(transport, loop), there
        transport.abort()


async def test_what_is_written_in_one_turn_goes_in_one_go(way_out):
    corked, there = way_out
    corked.write(b"head, ")
    corked.write(b"body")
    with pytest.raises(BlockingIOError):
        there.recv(100)

    await asyncio.sleep(0)

    assert there.recv(100) == b"head, body"


async def test_much_does_not_wait_for_the_end_of_the_turn(way_out):
    corked, there = way_out

    corked.write(b"x" * (CORKED_BYTES_MAX + 1))

    assert there.recv(1) == b"x"


async def test_a_connection_that_is_closed_says_first_what_was_written(way_out):
    corked, there = way_out

    corked.write(b"good-bye")
    corked.close()
    await asyncio.sleep(0)

    assert there.recv(100) == b"good-bye"
    assert there.recv(100) == b""


async def test_a_connection_that_is_broken_off_says_nothing_more(way_out):
    corked, there = way_out

    corked.write(b"good-bye")
    corked.abort()
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert there.recv(100) == b""


ACKNOWLEDGED_LATE_SECONDS = 0.038  # a client's system takes 40 ms, and then every answer but the first does


async def test_a_port_that_is_taken_is_an_error_with_words(api, tmp_path):
    _, port = address_of(api)

    with pytest.raises(OperatorError, match=rf"port {port}: Address already in use.*--port"):
        listening_socket(msgspec.structs.replace(settings_of(tmp_path), server_port=port))


@pytest.mark.parametrize(
    ("there", "why"), [(("cert.pem", "key.pem"), "no such pair of PEM files"), ((), "No such file")]
)
async def test_a_certificate_that_is_none_is_an_error_that_names_the_files(tmp_path, there, why):
    for name in there:
        (tmp_path / name).write_text("nonsense")
    files = {"server_tls_cert": tmp_path / "cert.pem", "server_tls_key": tmp_path / "key.pem"}

    with pytest.raises(
        OperatorError, match=rf"server\.tls_cert \(.*cert\.pem\) and server\.tls_key \(.*key\.pem\).*{why}"
    ):
        async with site(tmp_path, **files):
            pass


async def test_tls_is_served_and_whoever_does_not_know_its_authority_does_not_talk_to_it(tmp_path):
    authority, files = Authority(), {"server_tls_cert": tmp_path / "c.pem", "server_tls_key": tmp_path / "k.pem"}
    for file, text in zip(files.values(), authority.issue("127.0.0.1"), strict=True):
        file.write_text(text)

    async with site(tmp_path, **files) as api:
        trusting = ssl.create_default_context(cadata=authority.pem)
        async with api.session.get(f"{api.url}/healthz", ssl=trusting) as answer:
            status = answer.status
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await api.session.get(f"{api.url}/healthz")

    assert api.url.startswith("https://")
    assert status == 200


# --- how it ends -----------------------------------------------------------------------------------------------------


async def until_refused(address: tuple[str, int]) -> None:
    """Until no connection is taken any more."""
    while True:
        try:
            _, writer = await asyncio.open_connection(*address)
        except OSError:
            return
        writer.close()


async def test_what_is_under_way_is_finished_and_nothing_new_is_taken(tmp_path):
    body = b'{"text": "a: 1"}'
    async with site(tmp_path) as api:
        host, port = address_of(api)
        reader, writer = await asyncio.open_connection(host, port)
        head = f"POST /api/v1/catalog/check HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {api.tokens['admin']}\r\n"
        writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body[:5])
        await api.ask("GET", "/healthz")  # so that the server has seen the other one

        api.stopping.set()
        await asyncio.wait_for(until_refused((host, port)), 5)
        writer.write(body[5:])
        line = await asyncio.wait_for(reader.readline(), 5)
        writer.close()

    assert b" 200 " in line


# --- those who take their time ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [b"", b"GET /healthz HTTP/1.1\r\nHost: local", b"GET /healthz HTTP/1.1\r\nX-A: b\r\n"])
async def test_a_connection_that_does_not_say_what_it_wants_is_closed(tmp_path, monkeypatch, said):
    monkeypatch.setattr(serving, "HEAD_SECONDS_MAX", 0.2)
    async with site(tmp_path) as api:
        reader, writer = await asyncio.open_connection(*address_of(api))
        writer.write(said)

        assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()


async def test_dripping_headers_does_not_buy_time(tmp_path, monkeypatch):
    monkeypatch.setattr(serving, "HEAD_SECONDS_MAX", 0.3)
    async with site(tmp_path) as api:
        reader, writer = await asyncio.open_connection(*address_of(api))
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in await reader.readline()  # a request that is well, and then another that is not

        async def drip():
            while True:
                writer.write(b"G")
                await writer.drain()
                await asyncio.sleep(0.02)

        dripping = asyncio.create_task(drip())
        await asyncio.wait_for(reader.read(), 5)
        dripping.cancel()
        await asyncio.gather(dripping, return_exceptions=True)
        writer.close()

        assert reader.at_eof()


async def test_headers_without_an_end_are_cut(api):
    reader, writer = await asyncio.open_connection(*address_of(api))
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
    answer = b""
    try:
        for _ in range(100):
            writer.write(b"X-A: " + b"b" * 4096 + b"\r\n")
            await writer.drain()
        answer = await asyncio.wait_for(reader.read(), 5)
    except OSError:
        pass  # it hung up
    writer.close()

    assert b" 200 " not in answer


@pytest.mark.slow
async def test_a_client_that_does_not_read_is_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr("noetl.api.app.SEND_SECONDS_MAX", 0.3)
    large = "workflow: [{step: start, tool: {kind: python, code: \"result = ['x' * 1000] * 20000\"}}]"
    async with site(tmp_path) as api:
        execution_id = await api.run(large)
        host, port = address_of(api)
        _, writer = await asyncio.open_connection(host, port, limit=1024)
        head = f"Host: {host}\r\nAuthorization: Bearer {api.tokens['viewer']}\r\n\r\n"
        _, page = await api.ask("GET", f"/api/v1/executions/{execution_id}/events")
        seq = next(number for number, one in enumerate(page["events"], 1) if "sha256:" in str(one))
        writer.write(f"GET /api/v1/executions/{execution_id}/results?seq={seq} HTTP/1.1\r\n{head}".encode())

        others = [(await api.ask("GET", "/healthz", role=NONE))[0] for _ in range(20)]
        lines = tmp_path / "noetl.log"
        await until(lambda: lines.exists() and "client_too_slow" in lines.read_text())
        writer.close()

    assert others == [200] * 20


async def test_idle_connections_hold_nobody_up(api):
    await api.run(HELLO)
    idle = [await asyncio.open_connection(*address_of(api)) for _ in range(300)]

    status, _ = await asyncio.wait_for(api.ask("GET", "/api/v1/executions"), 5)

    assert status == 200
    for _, writer in idle:
        writer.close()
