"""Kind http: time-outs, sizes and broken connections."""

import asyncio
import contextlib
import gzip
import socket
import sys
import zlib

import pytest

from noetl.testing.http_server import Answer, running_api
from tests.tools.http_parts import answer_to, http_tool, raw_server, response, saying

MEGABYTE = 1024 * 1024


async def silent(reader, writer):
    await reader.read()


async def silent_after_head(reader, writer):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n...")
    await writer.drain()
    await reader.read()


@pytest.mark.spec("TK-18")
async def test_a_server_that_says_nothing_runs_into_the_read_timeout():
    async with raw_server(silent) as server:
        output = await answer_to(server.url, read_seconds=0.05)

    assert (output.error.kind, output.error.retryable, output.is_definite) == ("timeout", True, False)
    assert output.error.message == "127.0.0.1 sent nothing for 0.05 s (timeout.read)"
    assert output.helpers["http"]["status"] is None


@pytest.mark.spec("TK-18")
async def test_a_server_that_stops_halfway_runs_into_the_total_timeout():
    async with raw_server(silent_after_head) as server:
        output = await answer_to(server.url, total_seconds=0.1, read_seconds=5)

    assert (output.error.kind, output.error.retryable, output.is_definite) == ("timeout", True, False)
    assert "0.1 s (timeout.total)" in output.error.message


@pytest.mark.spec("TK-18")
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a full queue of connections is not silent")
async def test_a_server_that_takes_no_connection_runs_into_the_connect_timeout():
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        address = listener.getsockname()
        for _ in range(4):  # fill its queue
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(address)

        output = await answer_to(f"http://127.0.0.1:{address[1]}", connect_seconds=0.1)

    assert (output.error.kind, output.error.retryable) == ("timeout", True)
    assert output.error.message == "no connection to 127.0.0.1 within 0.1 s (timeout.connect)"


async def test_a_port_where_nobody_listens_is_a_connection_error_of_something_that_did_not_happen():
    async with raw_server(silent) as server:
        url = server.url

    output = await answer_to(url)

    assert (output.error.kind, output.error.retryable, output.is_definite) == ("connection", True, True)
    assert output.error.message == f"cannot connect to {url.removeprefix('http://')}: Connection refused"


async def test_a_name_nobody_knows_is_a_connection_error():
    output = await answer_to("http://no-such-host.invalid/?secret=hidden")

    assert (output.error.kind, output.error.retryable, output.is_definite) == ("connection", True, True)
    assert "no-such-host.invalid" in output.error.message
    assert "hidden" not in output.error.message


@pytest.mark.parametrize(
    "said",
    [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", b"this is not HTTP\r\n\r\n"],
    ids=["hangs up", "half a body", "no HTTP"],
)
async def test_a_connection_that_breaks_leaves_open_what_happened(said):
    async with raw_server(saying(said)) as server:
        output = await answer_to(server.url, method="POST", json={})

    assert (output.error.kind, output.error.retryable, output.is_definite) == ("connection", True, False)


async def test_a_cancelled_task_gives_its_connection_up():
    closed = asyncio.Event()

    async def handler(reader, writer):
        await reader.read()
        closed.set()

    async with raw_server(handler) as server, http_tool() as send:
        task = asyncio.create_task(send(server.url))
        while not server.connection_count:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        await asyncio.wait_for(closed.wait(), 10)


@pytest.mark.parametrize("body", [b"x" * 101, b"x" * MEGABYTE])
async def test_an_answer_over_its_cap_is_not_read_on(body):
    async with raw_server(saying(response(body))) as server:
        output = await answer_to(server.url, spec={"max_response_bytes": 100})

    assert (output.error.kind, output.error.retryable) == ("limit", False)
    assert "max_response_bytes" in output.error.message


async def test_an_answer_of_unknown_length_stops_at_its_cap():
    sent = 0

    async def endless(reader, writer):
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while sent < 100 * MEGABYTE:
            writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
            await writer.drain()
            sent += 0x10000

    async with raw_server(endless) as server:
        output = await answer_to(server.url, spec={"max_response_bytes": MEGABYTE})

    assert output.error.kind == "limit"
    assert sent < 20 * MEGABYTE


def coded(coding: str, content: bytes) -> bytes:
    if coding == "deflate":
        return zlib.compress(content)
    if coding == "raw deflate":
        compressor = zlib.compressobj(wbits=-15)
        return compressor.compress(content) + compressor.flush()
    return gzip.compress(content)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "raw deflate"])
@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 1_000_000])
async def test_a_compressed_answer_is_decoded(coding, size):
    content = bytes(range(32, 127)) * (size // 95 + 1)
    body = coded(coding, content[:size])

    async with raw_server(saying(response(body, Content_Encoding=coding.split()[-1]))) as server:
        output = await answer_to(server.url)

    assert (output.data or "") == content[:size].decode()


async def test_a_gzip_body_of_several_members_is_one_body():
    body = gzip.compress(b"first ") + gzip.compress(b"second") + b"\0\0"

    async with raw_server(saying(response(body, Content_Encoding="gzip"))) as server:
        output = await answer_to(server.url)

    assert output.data == "first second"


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_a_bomb_is_stopped_by_its_ratio_long_before_its_cap(coding):
    bomb = coded(coding, bytes(50 * MEGABYTE))

    async with raw_server(saying(response(bomb, Content_Encoding=coding))) as server:
        output = await answer_to(server.url)

    assert len(bomb) < MEGABYTE
    assert output.error.kind == "limit"
    assert "100 times" in output.error.message


async def test_ten_gigabytes_streamed_from_ten_megabytes_are_not_unpacked():
    compressor = zlib.compressobj(9, wbits=31)
    head = compressor.flush(zlib.Z_FULL_FLUSH)
    piece = compressor.compress(bytes(10 * MEGABYTE)) + compressor.flush(
        zlib.Z_FULL_FLUSH
    )  # may be said again and again
    sent_bytes = 0

    async def bomb(reader, writer):
        nonlocal sent_bytes
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + head)
        for _ in range(1000):
            writer.write(piece)
            await writer.drain()
            sent_bytes += len(piece)

    async with raw_server(bomb) as server:
        output = await answer_to(server.url)

    assert output.error.kind == "limit"
    assert sent_bytes < 10 * MEGABYTE


@pytest.mark.parametrize(
    ("body", "coding"),
    [(b"plain", "gzip"), (gzip.compress(b"x" * 1000)[:-9], "gzip"), (b"x", "br"), (b"x", "gzip, gzip")],
    ids=["not compressed", "cut", "unknown coding", "two codings"],  # gzip's bytes hold the time
)
async def test_an_answer_that_cannot_be_decoded_is_an_error_of_type(body, coding):
    async with raw_server(saying(response(body, Content_Encoding=coding))) as server:
        output = await answer_to(server.url)

    assert output.error.kind == "type"


async def test_many_requests_at_once_keep_to_the_bound_per_host():
    with running_api() as api:
        api.script("/slow", Answer(delay_seconds=0.05))
        async with http_tool() as send:
            outputs = await asyncio.gather(*(send(f"{api.url}/slow") for _ in range(100)))

        assert {output.status for output in outputs} == {"ok"}
        assert api.concurrency_max() <= 64
        assert api.connection_count <= 64
