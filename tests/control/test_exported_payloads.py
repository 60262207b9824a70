"""Payloads of an exported execution: what is written comes back whole, and what breaks off or is altered does not."""

import asyncio
import hashlib

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.control import exported_payloads
from noetl.control.brought import Damaged
from noetl.control.brought_payloads import BroughtResults, Lines, Received, at_home, brings, receive
from noetl.control.exported_payloads import PIECE_BYTES, Payloads
from noetl.engine.events import Patch, SignalReceived
from noetl.errors import ReferenceCorrupt
from noetl.references import Reference
from noetl.results.memory import MemoryResults

contents = st.one_of(
    st.binary(max_size=200),
    st.integers(1, 3).flatmap(lambda n: st.sampled_from([b"x" * (n * PIECE_BYTES + d) for d in (-1, 0, 1)])),
)


def signal(*references: Reference) -> SignalReceived:
    return SignalReceived(ts=1.0, patches=[Patch("ctx.all", [one.as_data() for one in references])])


async def written(results: MemoryResults, references: list[Reference], bytes_max: int = 10**9) -> list[bytes]:
    async def read(_execution_id: int, _reference: Reference) -> MemoryResults:
        return results

    payloads = Payloads(1, read, bytes_max)
    payloads.look_at([signal(*references)])
    return [line async for line in payloads.lines()]


async def taken(lines: list[bytes]) -> tuple[Received, MemoryResults]:
    results = MemoryResults()
    return await receive(Lines(iter(lines), 1), results), results


@pytest.mark.spec("RS-01")
@settings(max_examples=50, deadline=None)
@given(st.lists(contents, max_size=4))
def test_whatever_is_written_comes_back_whole_and_once(datas: list[bytes]) -> None:
    async def there_and_back() -> None:
        here = MemoryResults()
        references = [await here.store(data) for data in datas]

        found, there = await taken(await written(here, references * 2))

        assert found.left_out == []
        assert list(found.shas) == list(dict.fromkeys(hashlib.sha256(data).hexdigest() for data in reversed(datas)))
        assert found.bytes == sum(map(len, dict.fromkeys(datas)))
        assert [await there.fetch(one) for one in references] == datas

    asyncio.run(there_and_back())


async def test_no_line_is_longer_than_a_piece_needs_however_large_the_payload() -> None:
    here = MemoryResults()
    reference = await here.store(b"z" * (10 * PIECE_BYTES))

    lines = await written(here, [reference])

    assert max(map(len, lines)) < PIECE_BYTES * 4 / 3 + 10


async def test_what_a_payload_names_comes_along_and_digits_that_name_nothing_do_not() -> None:
    here = MemoryResults()
    inner = await here.store(b'"inner"')
    outer = await here.store(msgspec.json.encode([inner.as_data(), "0" * 64]))

    found, _ = await taken(await written(here, [outer]))

    assert list(found.shas) == [outer.sha256, inner.sha256]
    assert found.left_out == []


async def test_what_has_no_room_is_left_out_with_the_reason() -> None:
    here = MemoryResults()
    small, large = await here.store(b"1"), await here.store(b"2" * 1000)

    found, _ = await taken(await written(here, [large, small], bytes_max=10))

    assert (list(found.shas), [one.left_out for one in found.left_out]) == ([small.sha256], [large.sha256])
    assert "may have 10 bytes" in found.left_out[0].why


async def test_more_payloads_than_a_file_may_have_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exported_payloads, "PAYLOADS_MAX", 2)
    here = MemoryResults()
    references = [await here.store(b"%d" % number) for number in range(5)]

    found, _ = await taken(await written(here, references))

    assert (len(found.shas), found.left_out, found.not_looked_for) == (2, [], 3)


async def test_one_that_is_damaged_where_it_is_kept_breaks_off_and_the_rest_is_good() -> None:
    here = MemoryResults()
    good, bad = await here.store(b"good"), await here.store(b"b" * (2 * PIECE_BYTES))
    payloads = Payloads(1, reading(here, bad), 10**9)
    payloads.look_at([signal(good, bad)])

    found, there = await taken([line async for line in payloads.lines()])

    assert [one.left_out for one in found.left_out] == [bad.sha256]
    assert await there.fetch(good) == b"good"


def reading(results: MemoryResults, damaged: Reference):
    """A store in which one payload ends in a fault after its first piece."""

    class Broken:
        async def stream(self, reference: Reference):
            yield b"b" * PIECE_BYTES
            raise ReferenceCorrupt(reference.locator, "it is shorter than it should be")

    async def read(_execution_id: int, reference: Reference):
        return Broken() if reference.sha256 == damaged.sha256 else results

    return read


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_file_that_was_altered_anywhere_is_refused_or_says_the_same(data: st.DataObject) -> None:
    async def altered() -> None:
        here = MemoryResults()
        references = [await here.store(b"one"), await here.store(b"two" * 50)]
        lines = await written(here, references)
        body = b"".join(lines)
        at = data.draw(st.integers(0, len(body) - 1))
        body = body[:at] + bytes([data.draw(st.integers(0, 255))]) + body[at + 1 :]
        try:
            found, there = await taken(body.splitlines(keepends=True))
        except Damaged:
            return
        for sha in found.shas:
            kept = await there.fetch(Reference(type="blob", locator=f"sha256:{sha}", sha256=sha))
            assert hashlib.sha256(kept).hexdigest() == sha

    asyncio.run(altered())


async def test_the_payloads_of_a_file_in_memory_are_proved_when_they_are_read() -> None:
    here = MemoryResults()
    reference = await here.store(b"q" * 1000)
    body = b"".join(await written(here, [reference]))
    other = await MemoryResults().store(b"another")
    altered = body.replace(b'"cXFx', b'"cXFy', 1)

    assert await BroughtResults(body).fetch(reference) == b"q" * 1000
    assert (brings(body, reference), brings(body, other)) == (True, False)
    with pytest.raises(ReferenceCorrupt):
        await BroughtResults(altered).fetch(reference)


@pytest.mark.spec("RS-02")
@pytest.mark.parametrize("locator", ["sqlite:sha256:{}", "postgres:noetl_result/sha256:{}", "s3://acme/etl/sha256/{}"])
def test_references_to_what_came_along_are_to_this_house_and_others_stay(locator: str) -> None:
    came, stayed = (hashlib.sha256(word).hexdigest() for word in (b"came", b"stayed"))
    one, other = (
        Reference(type="blob", locator=locator.format(sha), sha256=sha, bytes=4, auth_reference="aws")
        for sha in (came, stayed)
    )

    found = at_home(signal(one, other), {came: None}).patches[0].value

    assert (found[0]["locator"], found[0]["auth_reference"], found[0]["meta"]) == (
        f"sha256:{came}",
        None,
        one.as_data()["meta"],
    )
    assert found[1] == other.as_data()


def test_an_event_without_references_of_other_houses_is_the_same_event() -> None:
    local = Reference(type="blob", locator="sha256:" + "a" * 64, sha256="a" * 64)
    events = [signal(), signal(local)]

    assert all(at_home(event, {"a" * 64: None}) is event for event in events)
