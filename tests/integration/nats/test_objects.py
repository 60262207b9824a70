"""kind: nats on object buckets: payloads of any size, whole or not at all."""

import asyncio
import os

import pytest

from noetl.references import JSON, LINES
from noetl.testing.hands import ResultsInMemory
from tests.integration.nats.conftest import SETTINGS
from tests.integration.nats.outputs import error_of

pytestmark = pytest.mark.spec("UP-09")


@pytest.mark.parametrize("value", [{"rows": [1, 2]}, "text", "", {"base64": "AAH/"}])
async def test_an_object_comes_back_as_the_data_it_was(ask, place, value):
    put = await ask("object_put", bucket=place, key="a name with spaces/ü", value=value, create_bucket=True)
    got = await ask("object_get", bucket=place, key="a name with spaces/ü")

    assert put.error is None, put.error
    assert got.data == value


async def test_a_large_payload_travels_between_result_store_and_bucket_by_reference(ask, other, place):
    payload = os.urandom(5 * 1024 * 1024 + 1)
    results = ResultsInMemory()
    reference = results.keep(payload, LINES).as_data()

    put = await ask("object_put", bucket=place, key="big", ref=reference, results=results, create_bucket=True)
    got = await ask("object_get", bucket=place, key="big", into="ref", results=results)

    assert put.data == {"name": "big", "bytes": len(payload)}
    assert (got.data, got.ref) == (None, reference)
    bucket = await other.jetstream().object_store(place)
    assert (await bucket.get("big")).data == payload


async def test_an_object_of_another_client_can_be_read(ask, other, place):
    bucket = await other.jetstream().create_object_store(bucket=place)
    await bucket.put("theirs", b'{"a": 1}' + b" " * 300_000)
    results = ResultsInMemory()

    assert (await ask("object_get", bucket=place, key="theirs")).data == {"a": 1}
    kept = await ask("object_get", bucket=place, key="theirs", into="ref", results=results)
    assert kept.ref["meta"] == {
        "content_type": "application/octet-stream",
        "bytes": 300_008,
        "sha256": kept.ref["locator"],
        "ttl": None,
    }


async def test_an_object_too_large_for_data_says_how_to_get_it(ask, place):
    results = ResultsInMemory()
    reference = results.keep(b"x" * (SETTINGS.result_bytes_max + 1), JSON).as_data()
    await ask("object_put", bucket=place, key="big", ref=reference, results=results, create_bucket=True)

    kind, message = error_of(await ask("object_get", bucket=place, key="big"))

    assert (kind, message) == (
        "limit",
        "the object has 1048577 bytes, but data may have 1048576; fetch it with into: ref",
    )


async def test_an_object_written_again_leaves_no_old_pieces(ask, other, place):
    for size in (300_000, 200_000):
        await ask("object_put", bucket=place, key="one", value="x" * size, create_bucket=True)

    state = (await other.jetstream().stream_info(f"OBJ_{place}")).state
    assert state.messages == 3  # two pieces of the new one, and its description
    assert (await ask("object_get", bucket=place, key="one")).data == "x" * 200_000


async def test_a_payload_that_cannot_be_read_leaves_nothing_in_the_bucket(ask, other, place):
    results = ResultsInMemory()
    reference = results.keep(b"x" * 500_000)
    results.payloads[reference.locator] = b"y" * 500_000

    output = await ask(
        "object_put", bucket=place, key="one", ref=reference.as_data(), results=results, create_bucket=True
    )

    assert error_of(output)[0] == "ref_corrupt"
    assert (await other.jetstream().stream_info(f"OBJ_{place}")).state.messages == 0


async def test_a_cancelled_write_leaves_nothing_in_the_bucket(ask, other, place):
    class Endless(ResultsInMemory):
        is_under_way = asyncio.Event()

        async def stream(self, reference):
            yield b"x" * 300_000
            self.is_under_way.set()
            await asyncio.Event().wait()

    results = Endless()
    reference = results.keep(b"x").as_data()
    running = asyncio.ensure_future(
        ask("object_put", bucket=place, key="one", ref=reference, results=results, create_bucket=True)
    )
    await results.is_under_way.wait()

    running.cancel()
    await asyncio.wait({running})

    assert running.cancelled()
    assert (await other.jetstream().stream_info(f"OBJ_{place}")).state.messages == 0


async def test_a_damaged_object_is_refused_and_nothing_of_it_is_kept(ask, other, place):
    await ask("object_put", bucket=place, key="one", value="x" * 200_000, create_bucket=True)
    stream = other.jetstream()
    info = await (await stream.object_store(place)).get_info("one")
    await stream.purge_stream(f"OBJ_{place}", subject=f"$O.{place}.C.{info.nuid}")
    await stream.publish(f"$O.{place}.C.{info.nuid}", b"y" * 200_000)
    results = ResultsInMemory()

    output = await ask("object_get", bucket=place, key="one", into="ref", results=results)

    assert error_of(output) == (
        "ref_corrupt",
        f"object_get of {place}/one: the object is damaged: its SHA-256 is another",
    )
    assert results.payloads == {}


async def test_objects_are_listed_until_they_are_deleted(ask, place):
    await ask("object_put", bucket=place, key="b", value={"a": 1}, create_bucket=True)
    await ask("object_put", bucket=place, key="a", value="text")

    listed = (await ask("object_list", bucket=place)).data
    deleted = await ask("object_delete", bucket=place, key="a")

    assert [(row["name"], row["bytes"], row["content_type"]) for row in listed] == [
        ("a", 4, "text/plain; charset=utf-8"),
        ("b", 7, "application/json"),
    ]
    assert deleted.data == {"deleted": "a"}
    assert [row["name"] for row in (await ask("object_list", bucket=place)).data] == ["b"]
    assert error_of(await ask("object_get", bucket=place, key="a"))[0] == "not_found"
    assert error_of(await ask("object_delete", bucket=place, key="a"))[0] == "not_found"
    await ask("object_delete", bucket=place, key="b")
    assert (await ask("object_list", bucket=place)).data == []
