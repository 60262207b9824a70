"""kind: python — where a script comes from: a file beside the playbook, or the web (UP-02)."""

import hashlib
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from noetl.testing.hands import call, run
from noetl.tools.contract import Tool
from tests.tools.http_parts import raw_server, response, saying
from tests.tools.python_parts import KIND, error_of, one_slot_tool


@pytest_asyncio.fixture
async def tool() -> AsyncIterator[Tool]:
    async with one_slot_tool() as made:
        yield made


@pytest.mark.spec("UP-02")
@pytest.mark.parametrize("script", ["load.py", {"uri": "load.py", "source": {"type": "file"}}, {"uri": "load.py"}])
async def test_a_script_beside_the_playbook_is_run(tool, tmp_path, script):
    (tmp_path / "load.py").write_text("def main(page):\n    return page + 1\n")

    output = await run(tool, call(KIND, script=script, folder=tmp_path, page=1))

    assert output.data == 2


async def test_an_exception_in_a_script_names_its_line(tool, tmp_path):
    (tmp_path / "load.py").write_text("\n1 / 0\n")

    output = await run(tool, call(KIND, script="load.py", folder=tmp_path))

    assert error_of(output)[1] == "ZeroDivisionError: division by zero (line 2 of load.py)"


async def test_a_missing_script_says_where_it_was_looked_for(tool, tmp_path):
    output = await run(tool, call(KIND, script="load.py", folder=tmp_path))

    assert error_of(output) == ("not_found", f'there is no file "load.py" in: {tmp_path}')


@pytest.mark.parametrize(
    "script", ["load.sh", {"uri": "x.py", "source": {"type": "ftp"}}, {"uri": None}, 5, "big.py", "latin.py"]
)
async def test_a_script_that_cannot_be_used_is_refused(tool, tmp_path, script):
    (tmp_path / "big.py").write_bytes(b"#" * (1024 * 1024 + 1))
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'")

    output = await run(tool, call(KIND, script=script, folder=tmp_path))

    assert error_of(output)[0] in ("type", "limit")


SCRIPT = b"def main(page):\n    return page + 1\n"
PIN = hashlib.sha256(SCRIPT).hexdigest()


@pytest.mark.spec("UP-02")
async def test_a_script_of_the_web_is_run_if_it_is_the_one_that_was_meant(tool):
    async with raw_server(saying(response(SCRIPT))) as server:
        script = {"uri": f"{server.url}/load.py", "source": {"type": "http", "sha256": PIN}}
        outputs = [await run(tool, call(KIND, script=script, page=page)) for page in (1, 2)]
        joined = {"uri": "load.py", "source": {"type": "http", "endpoint": server.url, "sha256": PIN}}
        outputs.append(await run(tool, call(KIND, script=joined, page=3)))

    assert [output.data for output in outputs] == [2, 3, 4]
    assert server.connection_count == 1  # what is pinned is fetched once


@pytest.mark.parametrize(
    ("source", "kind", "words"),
    [
        ({"sha256": "0" * 64}, "type", "has the sha256"),
        ({}, "type", "must come over https"),
        ({"sha256": "latest"}, "type", "64 hexadecimal digits"),
        ({"sha256": PIN, "headers": {"a": 1}}, "type", "headers"),
    ],
)
async def test_a_script_of_the_web_that_may_be_another_is_refused(tool, source, kind, words):
    async with raw_server(saying(response(SCRIPT))) as server:
        script = {"uri": f"{server.url}/load.py", "source": {"type": "http", **source}}
        output = await run(tool, call(KIND, script=script, page=1))

    assert error_of(output)[0] == kind
    assert words in error_of(output)[1]


@pytest.mark.spec("TK-19")
@pytest.mark.parametrize(
    ("answer", "kind", "is_retryable"),
    [
        (b"HTTP/1.1 404 Gone\r\nContent-Length: 0\r\n\r\n", "not_found", False),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", "server_error", True),
        (response(b"#" * (1024 * 1024 + 1)), "limit", False),
        (b"", "connection", True),
    ],
)
async def test_a_script_that_cannot_be_fetched_fails_as_a_request_does(tool, answer, kind, is_retryable):
    async with raw_server(saying(answer)) as server:
        script = {"uri": f"{server.url}/load.py", "source": {"type": "http", "sha256": PIN}}
        output = await run(tool, call(KIND, script=script, page=1))

    assert (output.error.kind, output.error.retryable) == (kind, is_retryable)
    assert "the script could not be fetched" in output.error.message


async def test_a_script_of_a_forbidden_address_is_not_fetched(tool):
    script = {"uri": "http://169.254.169.254/load.py", "source": {"type": "http", "sha256": PIN}}

    output = await run(tool, call(KIND, script=script, page=1))

    assert error_of(output)[0] == "client_error"
