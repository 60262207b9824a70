"""Kind http: large bodies go from the connection into the result store, and from the store into the connection."""

import asyncio
import gzip
import hashlib
import sys
from pathlib import Path

import pytest

from noetl.references import Reference, reference_of
from noetl.results.files import FileResults
from noetl.testing.hands import ResultsInMemory
from noetl.testing.http_server import Answer, running_api
from noetl.testing.tool_suite import until
from tests.tools.http_parts import answer_to, http_tool, raw_server, response, saying

MEBIBYTE = 1024 * 1024
STREAM = {"stream": True}
CSV = b"id;name\n" + b"1;one\n" * 50_000


def stored_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def stored_bytes(results: FileResults, ref: dict) -> bytes:
    return await results.fetch(reference_of(ref), 1024 * MEBIBYTE)


# down: from the connection into the store


async def test_a_streamed_body_is_stored_and_the_output_is_its_reference(tmp_path):
    results = FileResults(tmp_path)

    async with raw_server(saying(response(CSV, Content_Type="text/csv; charset=utf-8"))) as server:
        output = await answer_to(server.url, spec=STREAM, results=results)

    assert (output.status, output.data) == ("ok", None)
    assert output.ref["meta"] == {
        "content_type": "text/csv; charset=utf-8",
        "bytes": len(CSV),
        "sha256": hashlib.sha256(CSV).hexdigest(),
        "ttl": None,
    }
    assert output.helpers["http"]["status"] == 200
    assert await stored_bytes(results, output.ref) == CSV


async def test_a_compressed_body_is_stored_as_what_it_comes_to(tmp_path):
    results = FileResults(tmp_path)

    async with raw_server(saying(response(gzip.compress(CSV), Content_Encoding="gzip"))) as server:
        output = await answer_to(server.url, spec=STREAM, results=results)

    assert await stored_bytes(results, output.ref) == CSV
    assert output.ref["meta"]["content_type"] == "application/octet-stream"


async def test_an_empty_body_has_a_reference_and_no_body_has_none(tmp_path):
    results = FileResults(tmp_path)
    with running_api() as api:
        api.script("/none", Answer(status=204))
        api.script("/empty", Answer(text=""))

        empty = await answer_to(f"{api.url}/empty", spec=STREAM, results=results)
        none = await answer_to(f"{api.url}/none", spec=STREAM, results=results)
        head = await answer_to(f"{api.url}/empty", spec=STREAM, results=results, method="HEAD")

    assert empty.ref["meta"]["bytes"] == 0
    assert [(output.ref, output.data, output.status) for output in (none, head)] == [(None, None, "ok")] * 2


@pytest.mark.spec("TK-19")
async def test_the_answer_of_a_server_that_refuses_is_read_as_always(tmp_path):
    with running_api() as api:
        output = await answer_to(f"{api.url}/status/503", spec=STREAM, results=FileResults(tmp_path))

    assert (output.error.kind, output.error.retryable, output.ref) == ("server_error", True, None)
    assert output.data == {"status": 503}
    assert stored_files(tmp_path) == []


@pytest.mark.parametrize(
    ("answer", "spec"),
    [
        (response(CSV), {"max_response_bytes": 1000}),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + CSV, {"max_response_bytes": 100_000}),
        (response(gzip.compress(bytes(50 * MEBIBYTE)), Content_Encoding="gzip"), {}),
    ],
    ids=["its length says so", "without a length", "bomb"],
)
async def test_a_body_over_its_cap_leaves_nothing_in_the_store(tmp_path, answer, spec):
    async with raw_server(saying(answer)) as server:
        output = await answer_to(server.url, spec=STREAM | spec, results=FileResults(tmp_path))

    assert (output.error.kind, output.error.retryable) == ("limit", False)
    assert stored_files(tmp_path) == []


async def test_a_stream_that_breaks_leaves_nothing_and_may_be_tried_again(tmp_path):
    async with raw_server(saying(response(CSV)[:-100])) as server:
        output = await answer_to(server.url, spec=STREAM, results=FileResults(tmp_path))

    assert (output.error.kind, output.error.retryable, output.is_definite) == ("connection", True, False)
    assert stored_files(tmp_path) == []


@pytest.mark.spec("TK-18")
@pytest.mark.parametrize(
    ("limits", "words"),
    [({"read_seconds": 0.1}, "timeout.read"), ({"total_seconds": 0.2}, "timeout.total")],
)
async def test_a_stream_that_stalls_runs_into_its_timeout_and_leaves_nothing(tmp_path, limits, words):
    async def stalling(reader, writer):
        writer.write(response(CSV)[:-100])
        await reader.read()

    async with raw_server(stalling) as server:
        output = await answer_to(server.url, spec=STREAM, results=FileResults(tmp_path), **limits)

    assert (output.error.kind, output.error.retryable) == ("timeout", True)
    assert words in output.error.message
    assert stored_files(tmp_path) == []


async def test_a_cancelled_stream_leaves_nothing(tmp_path):
    async def stalling(reader, writer):
        writer.write(response(CSV)[:-100])
        await reader.read()

    async with raw_server(stalling) as server, http_tool() as send:
        task = asyncio.create_task(send(server.url, spec=STREAM, results=FileResults(tmp_path)))
        await until(lambda: bool(stored_files(tmp_path)), "nothing is stored yet")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert stored_files(tmp_path) == []


def peak_bytes() -> int:
    """The most memory this process has had since `forget_peak`."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak of a process's memory")
async def test_a_large_body_is_never_in_memory(tmp_path):
    piece, count = bytes(range(256)) * 256, 1024  # 64 MiB

    async def large(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (len(piece) * count))
        for _ in range(count):
            writer.write(piece)
            await writer.drain()

    async with raw_server(large) as server:
        await answer_to(server.url, spec=STREAM | {"max_response_bytes": 1}, results=FileResults(tmp_path))
        forget_peak()
        before_bytes = peak_bytes()
        output = await answer_to(server.url, spec=STREAM, results=FileResults(tmp_path))

    assert output.ref["meta"]["bytes"] == 64 * MEBIBYTE
    assert peak_bytes() - before_bytes < 24 * MEBIBYTE


# up: from the store into the connection


@pytest.mark.parametrize("shape", [lambda ref: ref, lambda ref: {"ref": ref}], ids=["bare", "under ref"])
async def test_a_reference_is_sent_as_the_body_with_its_length_and_type(shape):
    results = ResultsInMemory()
    kept = results.keep(CSV, "text/csv")

    with running_api() as api:
        output = await answer_to(f"{api.url}/echo", method="POST", body=shape(kept.as_data()), results=results)

    assert output.data["body"] == CSV.decode()
    assert output.data["headers"]["content-type"] == "text/csv"
    assert output.data["headers"]["content-length"] == str(len(CSV))
    assert "transfer-encoding" not in output.data["headers"]


async def test_a_reference_of_unknown_length_is_sent_in_chunks():
    results = ResultsInMemory()
    bare = Reference(type="blob", locator=results.keep(CSV).locator)

    with running_api() as api:
        output = await answer_to(f"{api.url}/echo", method="POST", body=bare.as_data(), results=results)

    assert output.data["body"] == CSV.decode()
    assert output.data["headers"]["transfer-encoding"] == "chunked"


async def test_references_are_parts_of_a_multipart_body_whose_length_is_known():
    results = ResultsInMemory()
    kept = results.keep(CSV, "text/csv").as_data()
    files = {"rows": {"ref": kept, "filename": "rows.csv"}, "again": kept, "note": "hello"}

    with running_api() as api:
        output = await answer_to(f"{api.url}/echo", method="POST", files=files, form={"id": 7}, results=results)

    body = output.data["body"]
    assert output.data["headers"]["content-length"] == str(len(body))
    assert f'name="rows"; filename="rows.csv"\r\nContent-Type: text/csv\r\n\r\n{CSV.decode()}\r\n' in body
    assert f'name="again"; filename="again"\r\nContent-Type: text/csv\r\n\r\n{CSV.decode()}\r\n' in body
    assert 'name="id"\r\n\r\n7\r\n' in body


async def test_a_redirect_and_a_retry_send_a_reference_from_its_start():
    results = ResultsInMemory()
    kept = results.keep(CSV).as_data()

    with running_api() as api:
        api.script("/moved", Answer(status=307, headers={"Location": "/echo"}))
        moved = await answer_to(f"{api.url}/moved", method="PUT", body=kept, results=results)
        again = await answer_to(f"{api.url}/echo", method="PUT", body=kept, results=results)
        sent = [seen.body for seen in api.requests()]

    assert moved.data["body"] == again.data["body"] == CSV.decode()
    assert sent == [CSV.decode()] * 3


@pytest.mark.spec("TK-19")
async def test_a_reference_that_is_gone_or_damaged_is_an_error_of_its_own_kind():
    results = ResultsInMemory()
    kept, gone = results.keep(CSV), results.keep(b"gone")
    results.payloads[kept.locator] = CSV[:-1] + b"x"
    del results.payloads[gone.locator]

    with running_api() as api:
        damaged = await answer_to(f"{api.url}/echo", method="POST", body=kept.as_data(), results=results)
        missing = await answer_to(f"{api.url}/echo", method="POST", body=gone.as_data(), results=results)

    assert (damaged.error.kind, damaged.error.retryable) == ("ref_corrupt", False)
    assert (missing.error.kind, missing.error.retryable) == ("ref_missing", False)


@pytest.mark.parametrize("files", [{"a": {"ref": "x"}}, {"a": {"ref": {}, "content": ""}}, [{"content": "x"}], ["x"]])
async def test_a_part_that_is_none_is_refused(files):
    output = await answer_to("http://127.0.0.1:9", method="POST", files=files)

    assert output.error.kind == "client_error"
    assert '"files' in output.error.message
