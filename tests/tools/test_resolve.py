"""Kind resolve: a reference to its data, or to the part of it that is asked for."""

import json

import pytest

from noetl.references import LINES
from noetl.testing.hands import ResultsInMemory, call, hands, run
from noetl.tools import resolve
from noetl.tools.contract import ToolSettings

ORDERS = {"orders": [{"id": number, "lines": [number, number * 2]} for number in range(10)], "name": "all"}


async def resolved(results, *, settings=None, **values):
    tool = resolve.make(hands(settings=settings))
    output = await run(tool, call(resolve.KIND, results=results, **values))
    await tool.close()
    return output


@pytest.fixture
def results():
    return ResultsInMemory()


@pytest.fixture
def orders(results):
    return results.keep(json.dumps(ORDERS).encode())


@pytest.mark.spec("TL-05")
async def test_a_reference_becomes_its_data(results, orders):
    output = await resolved(results, ref=orders.as_data())

    assert (output.status, output.data) == ("ok", ORDERS)


@pytest.mark.spec("TL-05")
async def test_the_older_shape_and_the_bare_locator_are_references_too(results, orders):
    older = {"store": "blob", "key": orders.locator, "checksum": f"sha256:{orders.sha256}", "size": orders.bytes}

    outputs = [await resolved(results, ref=older), await resolved(results, ref=orders.locator)]

    assert [output.data for output in outputs] == [ORDERS, ORDERS]


@pytest.mark.parametrize(
    ("payload", "content_type", "data"),
    [
        (b'{"a": 1}\n\n[2]\n', LINES, [{"a": 1}, [2]]),
        ("grün".encode(), "text/plain; charset=utf-8", "grün"),
        (b"<a/>", "application/xml", "<a/>"),
        (b"\xff\x00", "application/octet-stream", {"base64": "/wA="}),
        (b"[1]", "application/vnd.api+json", [1]),
        (b"", LINES, []),
    ],
)
async def test_a_payload_is_read_as_its_content_type_says(results, payload, content_type, data):
    reference = results.keep(payload, content_type)

    output = await resolved(results, ref=reference.as_data())

    assert output.data == data


async def test_a_large_payload_is_read_all_the_same(results):
    reference = results.keep(json.dumps(["x" * 1000] * 1000).encode())

    output = await resolved(results, ref=reference.as_data(), slice=[0, 2])

    assert output.data == ["x" * 1000] * 2


@pytest.mark.parametrize(
    ("part", "data"),
    [
        ({"path": "name"}, "all"),
        ({"path": "orders.3.lines.1"}, 6),
        ({"path": "orders.2.lines", "slice": [1, 2]}, [4]),
        ({"path": "orders.2.lines", "slice": [None, 1]}, [2]),
        ({"path": "orders.2.lines", "slice": "0:1"}, [2]),
        ({"path": "orders.2.lines", "slice": "-1:"}, [4]),
        ({"path": "orders.2.lines", "slice": "[1:]"}, [4]),
    ],
)
async def test_only_the_part_that_is_asked_for_comes_back(results, orders, part, data):
    output = await resolved(results, ref=orders.as_data(), **part)

    assert output.data == data


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"path": "missing"}, "not_found"),
        ({"path": "orders.10"}, "not_found"),
        ({"path": "name.x"}, "not_found"),
        ({"slice": [0, 1]}, "type"),
        ({"path": "orders", "slice": [0]}, "type"),
        ({"path": "orders", "slice": ["a", "b"]}, "type"),
        ({"path": "orders", "slice": "first"}, "type"),
    ],
)
async def test_a_part_that_is_not_there_is_an_error(results, orders, part, kind):
    output = await resolved(results, ref=orders.as_data(), **part)

    assert (output.error.kind, output.error.retryable) == (kind, False)


@pytest.mark.spec("TL-05")
async def test_missing_damaged_and_too_large_payloads_have_errors_of_their_own(results, orders):
    damaged = results.keep(b"[1]")
    results.payloads[damaged.locator] = b"[2]"
    missing = {**orders.as_data(), "locator": "0" * 64}
    not_json = results.keep(b"{")

    outputs = [
        await resolved(results, ref=missing),
        await resolved(results, ref=damaged.as_data()),
        await resolved(results, ref=orders.as_data(), settings=ToolSettings(result_bytes_max=10)),
        await resolved(results, ref=not_json.as_data()),
    ]

    assert [output.error.kind for output in outputs] == ["ref_missing", "ref_corrupt", "limit", "ref_corrupt"]
    assert not any(output.error.retryable for output in outputs)


@pytest.mark.parametrize("thing", [None, "", "  ", 7, [], {}, {"a": 1}, {"type": "blob"}, "x" * 5000])
async def test_a_thing_that_is_no_reference_is_a_misuse(results, thing):
    output = await resolved(results, ref=thing)

    assert output.error.kind == "ref_misuse"


async def test_an_output_instead_of_its_reference_is_a_misuse_that_says_so(results, orders):
    output = await resolved(results, ref={"status": "ok", "data": None, "ref": orders.as_data()})

    assert output.error.kind == "ref_misuse"
    assert "write .ref after it" in output.error.message
