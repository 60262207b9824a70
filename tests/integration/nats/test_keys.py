"""kind: nats on key-value buckets: what is put comes back, a write sent twice is one, and who comes second loses."""

import asyncio

import pytest

from tests.integration.nats.outputs import error_of, helper

pytestmark = pytest.mark.spec("UP-09")


@pytest.mark.parametrize(
    "value",
    [{"a": [1, None, "ü"]}, [], 0, None, True, 1.5, "plain text", "", "two\nlines", {"base64": "/wA="}, "2026-03-01"],
)
async def test_what_is_put_under_a_key_comes_back(ask, place, value):
    put = await ask("kv_put", bucket=place, key="one", value=value, create_bucket=True)
    got = await ask("kv_get", bucket=place, key="one")

    assert put.data == {"revision": 1}
    assert (got.data, helper(got, "revision")) == (value, 1)


async def test_other_clients_see_text_as_it_is_and_data_as_json(ask, other, place):
    await ask("kv_put", bucket=place, key="text", value="42 apples", create_bucket=True)
    await ask("kv_put", bucket=place, key="data", value={"apples": 42})
    bucket = await other.jetstream().key_value(place)

    assert (await bucket.get("text")).value == b"42 apples"
    assert (await bucket.get("data")).value == b'{"apples":42}'


async def test_an_older_revision_can_be_read_while_the_bucket_keeps_it(ask, other, place):
    await other.jetstream().create_key_value(bucket=place, history=5)
    await ask("kv_put", bucket=place, key="one", value=1)
    await ask("kv_put", bucket=place, key="one", value=2)

    assert (await ask("kv_get", bucket=place, key="one")).data == 2
    assert (await ask("kv_get", bucket=place, key="one", revision=1)).data == 1


async def test_create_writes_a_new_or_deleted_key_and_no_other(ask, place):
    first = await ask("kv_create", bucket=place, key="one", value=1, create_bucket=True)
    second = await ask("kv_create", bucket=place, key="one", value=2)
    await ask("kv_delete", bucket=place, key="one")
    third = await ask("kv_create", bucket=place, key="one", value=3)

    assert helper(first, "revision") == 1
    assert error_of(second) == (
        "db_conflict",
        f"kv_create of {place}/one: the key was changed meanwhile, or is there already: its revision is another",
    )
    assert second.error.retryable is False
    assert helper(third, "revision") == 3
    assert (await ask("kv_get", bucket=place, key="one")).data == 3


async def test_update_writes_over_the_revision_it_names_and_no_other(ask, place):
    await ask("kv_put", bucket=place, key="one", value=1, create_bucket=True)

    right = await ask("kv_update", bucket=place, key="one", value=2, revision=1)
    wrong = await ask("kv_update", bucket=place, key="one", value=3, revision=1)

    assert helper(right, "revision") == 2
    assert error_of(wrong)[0] == "db_conflict"
    assert (await ask("kv_get", bucket=place, key="one")).data == 2


async def test_of_many_updates_of_one_revision_one_wins(ask, place):
    await ask("kv_put", bucket=place, key="one", value=0, create_bucket=True)

    outputs = await asyncio.gather(
        *(ask("kv_update", bucket=place, key="one", value=number, revision=1) for number in range(20))
    )

    assert sum(output.error is None for output in outputs) == 1
    assert {output.error.kind for output in outputs if output.error} == {"db_conflict"}


@pytest.mark.parametrize("operation", ["kv_put", "kv_create", "kv_update", "kv_delete"])
async def test_a_write_that_comes_again_after_a_crash_is_the_same_write(ask, place, operation):
    fields = {"bucket": place, "key": "one", "value": 1}
    if operation != "kv_create":
        await ask("kv_put", **fields, create_bucket=True)
    fields |= {"revision": 1} if operation == "kv_update" else {}

    first = await ask(operation, **fields, create_bucket=True, attempt="7/1/1")
    again = await ask(operation, **fields, attempt="7/1/1")

    assert helper(again, "revision") == helper(first, "revision")
    assert (helper(first, "duplicate"), helper(again, "duplicate")) == (False, True)


async def test_a_deleted_key_is_not_found_and_not_listed(ask, place):
    for key in ("orders.1", "orders.2", "orders.2.lines", "users.1"):
        await ask("kv_put", bucket=place, key=key, value=1, create_bucket=True)
    await ask("kv_delete", bucket=place, key="orders.1")

    assert error_of(await ask("kv_get", bucket=place, key="orders.1")) == (
        "not_found",
        f"kv_get of {place}/orders.1: there is no such key",
    )
    assert (await ask("kv_keys", bucket=place)).data == ["orders.2", "orders.2.lines", "users.1"]
    assert (await ask("kv_keys", bucket=place, key="orders.*")).data == ["orders.2"]
    assert (await ask("kv_keys", bucket=place, key="orders.>")).data == ["orders.2", "orders.2.lines"]
    assert (await ask("kv_keys", bucket=place, key="nothing.>")).data == []
    assert len((await ask("kv_keys", bucket=place, limit=2)).data) == 2


async def test_more_keys_than_the_library_holds_at_once_are_listed(ask, other, place):
    bucket = await other.jetstream().create_key_value(bucket=place)
    for number in range(600):
        await bucket.put(f"key{number:03}", b"1")

    assert len((await ask("kv_keys", bucket=place)).data) == 600
    assert len((await ask("kv_keys", bucket=place, limit=300)).data) == 300


@pytest.mark.parametrize(
    ("fields", "kind", "message"),
    [
        ({"operation": "kv_get", "key": "a"}, "type", "operation: kv_get needs bucket, a text"),
        ({"operation": "kv_get", "bucket": "b"}, "type", "operation: kv_get needs key, a text"),
        ({"operation": "kv_get", "bucket": "b", "key": "a b"}, "type", '"a b" is no key'),
        ({"operation": "kv_get", "bucket": "b", "key": "a.*"}, "type", '"a.*" is no key'),
        ({"operation": "kv_get", "bucket": "b", "key": "a\r\nPUB x 1"}, "type", '"a\r\nPUB x 1" is no key'),
        ({"operation": "kv_get", "bucket": "no.bucket", "key": "a"}, "client_error", "kv_get of no.bucket/a:"),
        (
            {"operation": "kv_get", "bucket": "absent", "key": "a"},
            "not_found",
            "kv_get of absent/a: there is no such b",
        ),
        (
            {"operation": "kv_put", "bucket": "absent", "key": "a"},
            "not_found",
            "kv_put of absent/a: there is no such b",
        ),
        ({"operation": "kv_update", "bucket": "b", "key": "a"}, "type", "operation: kv_update needs revision"),
        ({"operation": "kv_keys", "bucket": "absent"}, "not_found", "kv_keys of absent: there is no such bucket"),
        ({"operation": "object_get", "bucket": "absent", "key": "a"}, "not_found", "object_get of absent/a: there is"),
        ({"operation": "object_put", "bucket": "b", "key": "a", "ref": {}}, "ref_misuse", "ref must be a reference"),
        ({"operation": "publish", "subject": "no.stream"}, "not_found", "publish of no.stream: no stream takes that"),
        ({"operation": "publish", "subject": "two words"}, "client_error", "publish of two words: "),
        ({"operation": "publish", "subject": "a", "headers": [1]}, "type", "headers must be a mapping"),
        (
            {"operation": "publish", "subject": "a", "headers": {"a": "b\r\nc"}},
            "type",
            'the header "a" has a line break',
        ),
        ({"operation": "publish", "subject": "a", "value": {"base64": "?"}}, "type", "value has the one key base64"),
        ({"operation": "fetch", "stream": "absent"}, "not_found", "fetch of absent: stream not found"),
        ({"operation": "fetch", "stream": "a.b"}, "client_error", "fetch of a.b: "),
        ({"operation": "fetch", "stream": "s", "consumer": "c", "start": 2}, "type", "start goes without consumer"),
        ({"operation": "fetch", "stream": "s", "consumer": 7}, "type", "operation: fetch needs consumer, a text"),
        ({"operation": "publish", "subject": "a", "stream": ["s"]}, "type", "operation: publish needs stream, a text"),
        ({"operation": "publish", "subject": "a" * 5000}, "type", "subject may have 1000 bytes, but has more"),
        ({"operation": "object_put", "bucket": "b", "key": "名" * 900}, "type", "key may have 1000 bytes, but has"),
        ({"operation": "stream_info", "stream": "absent"}, "not_found", "stream_info of absent: stream not found"),
        (
            {"operation": "ack", "messages": ["$SYS.REQ.SERVER.PING"]},
            "type",
            "messages must be as fetch with a consumer",
        ),
        ({"operation": "ack", "messages": 7}, "type", "messages must be a list"),
        ({"operation": "dance"}, "type", 'there is no operation "dance"; there are: kv_get, kv_put'),
    ],
)
async def test_what_cannot_be_done_says_why(ask, fields, kind, message):
    output = await ask(fields.pop("operation"), **fields)

    found, said = error_of(output)
    assert (found, said[: len(message)]) == (kind, message)
