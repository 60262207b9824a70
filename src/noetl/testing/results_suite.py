"""What holds for every store of results. An implementation proves it with one class in its tests:

    class TestMyResults(ResultsSuite):
        async def make(self, folder: Path) -> Results:
            return MyResults(folder)

        async def damage(self, results: Results, folder: Path, reference: Reference, data: bytes) -> None:
            (folder / reference.locator).write_bytes(data)

        async def lose(self, results: Results, folder: Path, reference: Reference) -> None:
            (folder / reference.locator).unlink()

`make` gives a new, empty store for each test; `folder` is empty and belongs to the test. `damage` puts other bytes
where a payload is kept, behind the store's back; `lose` takes it away. `reopen` opens the same store again, as
another process would; leave it out where nothing outlives the process, and that test is skipped. Needs pytest and
pytest-asyncio in auto mode.
"""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio
import hashlib
import math
import time
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from noetl.errors import ReferenceCorrupt, ReferenceMissing, ResultTooLarge
from noetl.references import LINES, TYPES, Reference, reference_of
from noetl.results.contract import Kept, Results

SMALL = b'{"rows": [1, 2, 3]}'
LARGE = b"0123456789abcdef" * (200 * 1024)  # 3.1 MiB: several pieces, and not a whole number of them
HUGE_PIECES, HUGE_PIECE_BYTES = 80, 1024 * 1024
MEMORY_BYTES_MAX = 32 * 1024 * 1024  # far less than the payload, and more than the pieces on their way
CLOCKS_APART_SECONDS = 5.0  # between this process and a store with a clock of its own, which may count whole seconds
NOT_SHAS = (
    "",
    "../../../../etc/passwd",
    "a" * 63,
    "a" * 65,
    "A" * 64,
    "a" * 64 + "\n",
    "a" * 62 + "/.",
    "a" * 63 + "\x00",
    "٠" * 64,
    "%2e%2e/" + "a" * 57,
)
NOT_PREFIXES = (
    "",
    "/",
    "md5:",
    "file:///",
    "s3://elsewhere/sha256/",
    "nats:elsewhere/sha256:",
    "postgres:other/sha256:",
)


async def pieces(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def kept(results: Results) -> dict[str, Kept]:
    return {found.locator: found async for found in results.walk()}


def prefix_of(reference: Reference) -> str:
    """The place that a locator names, before the sha256."""
    return reference.locator[: -len(hashlib.sha256().hexdigest())]


async def streamed(results: Results, reference: Reference) -> bytes:
    return b"".join([piece async for piece in results.stream(reference)])


class ResultsSuite:
    """The behaviour of a store of results; see the module for how to use it."""

    removes_atomically = True
    memory_bytes_max = MEMORY_BYTES_MAX

    async def make(self, folder: Path) -> Results:
        raise NotImplementedError

    async def damage(self, results: Results, folder: Path, reference: Reference, data: bytes) -> None:
        raise NotImplementedError

    async def lose(self, results: Results, folder: Path, reference: Reference) -> None:
        raise NotImplementedError

    async def reopen(self, results: Results, folder: Path) -> Results:
        pytest.skip("nothing of this store outlives its process")

    @pytest.fixture
    async def results(self, tmp_path: Path) -> AsyncIterator[Results]:
        made = await self.make(tmp_path)
        yield made
        await made.close()

    @pytest.mark.spec("RS-01")
    @pytest.mark.parametrize("data", [b"", SMALL, LARGE], ids=["empty", "small", "large"])
    async def test_a_payload_comes_back_as_it_was(self, results: Results, data: bytes) -> None:
        reference = await results.store(data)

        assert await results.fetch(reference) == data
        assert await streamed(results, reference) == data

    @pytest.mark.spec("RS-02")
    async def test_a_reference_says_what_the_payload_must_be_like(self, results: Results) -> None:
        reference = await results.store(SMALL, LINES)

        assert reference.type in TYPES
        assert (reference.bytes, reference.sha256) == (len(SMALL), hashlib.sha256(SMALL).hexdigest())
        assert reference.content_type == LINES
        assert reference_of(reference.as_data()) == reference

    @pytest.mark.parametrize("data", [b"", SMALL, LARGE], ids=["empty", "small", "large"])
    async def test_a_payload_in_pieces_is_the_same_as_a_whole_one(self, results: Results, data: bytes) -> None:
        in_pieces = await results.store_stream(pieces(data, 1000))
        from_a_list = await results.store_stream([data[:5], data[5:]])
        whole = await results.store(data)

        assert in_pieces == from_a_list == whole
        assert await results.fetch(in_pieces) == data

    async def test_a_stream_that_breaks_off_stores_nothing(self, results: Results) -> None:
        async def broken() -> AsyncIterator[bytes]:
            yield SMALL
            raise ConnectionError("gone")

        with pytest.raises(ConnectionError):
            await results.store_stream(broken())

        assert await kept(results) == {}

    async def test_the_same_payload_twice_is_one(self, results: Results) -> None:
        first, second = await results.store(SMALL), await results.store(SMALL)

        assert first == second
        assert list(await kept(results)) == [first.locator]
        assert await results.fetch(first) == SMALL

    async def test_stores_of_the_same_payload_at_the_same_time_are_one(self, results: Results) -> None:
        whole = [results.store(LARGE) for _ in range(4)]
        in_pieces = [results.store_stream(pieces(LARGE, 300_000)) for _ in range(4)]

        references = await asyncio.gather(*whole, *in_pieces)

        assert len(set(references)) == 1
        assert list(await kept(results)) == [references[0].locator]
        assert await results.fetch(references[0]) == LARGE

    @pytest.mark.slow
    async def test_a_large_stream_takes_little_memory(self, results: Results) -> None:
        async def many() -> AsyncIterator[bytes]:
            for number in range(HUGE_PIECES):
                yield number.to_bytes(2, "big") * (HUGE_PIECE_BYTES // 2)

        tracemalloc.start()
        try:
            reference = await results.store_stream(many())
            found_bytes = sum([len(piece) async for piece in results.stream(reference)])
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

        assert found_bytes == reference.bytes == HUGE_PIECES * HUGE_PIECE_BYTES
        assert peak_bytes < self.memory_bytes_max

    async def test_a_missing_payload_is_said_to_be_missing(self, results: Results, tmp_path: Path) -> None:
        reference = await results.store(SMALL)
        await self.lose(results, tmp_path, reference)

        await self._refuses(results, reference, ReferenceMissing)

    @pytest.mark.spec("TL-05")
    @pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "large"])
    async def test_other_bytes_of_the_same_length_are_noticed(
        self, results: Results, tmp_path: Path, data: bytes
    ) -> None:
        reference = await results.store(data)
        await self.damage(results, tmp_path, reference, data[:-1] + b"?")

        await self._refuses(results, reference, ReferenceCorrupt)

    @pytest.mark.spec("TL-05")
    @pytest.mark.parametrize("found", [b"", SMALL[:-1], SMALL + b" "], ids=["empty", "shorter", "longer"])
    async def test_another_length_is_noticed(self, results: Results, tmp_path: Path, found: bytes) -> None:
        reference = await results.store(SMALL)
        await self.damage(results, tmp_path, reference, found)

        await self._refuses(results, reference, ReferenceCorrupt)

    @pytest.mark.spec("TL-05")
    @pytest.mark.parametrize("part", range(8))
    async def test_damage_is_noticed_wherever_it_is(self, results: Results, tmp_path: Path, part: int) -> None:
        reference = await results.store(LARGE)
        at = part * (len(LARGE) - 1) // 7
        await self.damage(results, tmp_path, reference, LARGE[:at] + b"?" + LARGE[at + 1 :])

        await self._refuses(results, reference, ReferenceCorrupt)

    async def test_a_damaged_stream_is_never_given_away_whole(self, results: Results, tmp_path: Path) -> None:
        reference = await results.store(LARGE)
        await self.damage(results, tmp_path, reference, b"?" + LARGE[1:])
        seen: list[bytes] = []

        async def collect() -> None:
            async for piece in results.stream(reference):
                seen.append(piece)

        with pytest.raises(ReferenceCorrupt):
            await collect()

        assert sum(map(len, seen)) < len(LARGE)

    async def test_storing_again_heals_a_payload_of_the_wrong_length(self, results: Results, tmp_path: Path) -> None:
        reference = await results.store(SMALL)
        await self.damage(results, tmp_path, reference, SMALL[:3])

        await results.store(SMALL)

        assert await results.fetch(reference) == SMALL

    @pytest.mark.parametrize("changed", [{"bytes": 3}, {"sha256": "0" * 64}], ids=["bytes", "sha256"])
    async def test_a_forged_reference_is_refused(self, results: Results, changed: dict[str, object]) -> None:
        reference = msgspec.structs.replace(await results.store(SMALL), **changed)

        await self._refuses(results, reference, ReferenceCorrupt)

    async def test_a_bare_locator_is_enough(self, results: Results) -> None:
        stored = await results.store(SMALL)
        bare = Reference(type=stored.type, locator=stored.locator)

        assert await results.fetch(bare) == SMALL
        assert await streamed(results, bare) == SMALL

    async def test_a_payload_over_the_readers_bound_is_refused(self, results: Results) -> None:
        reference = await results.store(SMALL)

        with pytest.raises(ResultTooLarge):
            await results.fetch(reference, bytes_max=len(SMALL) - 1)

        assert await results.fetch(reference, bytes_max=len(SMALL)) == SMALL

    @pytest.mark.parametrize("sha", NOT_SHAS)
    async def test_what_is_no_sha256_leads_nowhere(self, results: Results, sha: str) -> None:
        stored = await results.store(SMALL)
        locator = prefix_of(stored) + sha

        await self._refuses(results, Reference(type=stored.type, locator=locator), ReferenceMissing)
        assert not await results.remove(locator, stored_before=math.inf)

    @pytest.mark.parametrize("prefix", NOT_PREFIXES)
    async def test_a_locator_of_another_place_leads_nowhere(self, results: Results, prefix: str) -> None:
        stored = await results.store(SMALL)
        locator = f"{prefix}{stored.sha256}"

        await self._refuses(results, Reference(type=stored.type, locator=locator), ReferenceMissing)
        assert not await results.remove(locator, stored_before=math.inf)

    @pytest.mark.spec("RS-08")
    async def test_walking_names_everything_kept(self, results: Results) -> None:
        before = time.time() - CLOCKS_APART_SECONDS
        references = [await results.store(SMALL), await results.store(LARGE), await results.store(b"")]

        found = await kept(results)

        assert {name: one.bytes for name, one in found.items()} == {one.locator: one.bytes for one in references}
        assert all(before <= one.stored_at <= time.time() + CLOCKS_APART_SECONDS for one in found.values())

    @pytest.mark.spec("RS-08")
    async def test_what_is_removed_is_gone_and_can_be_stored_again(self, results: Results) -> None:
        reference, other = await results.store(LARGE), await results.store(SMALL)
        stored_at = (await kept(results))[reference.locator].stored_at

        assert await results.remove(reference.locator, stored_before=stored_at + CLOCKS_APART_SECONDS)

        assert list(await kept(results)) == [other.locator]
        await self._refuses(results, reference, ReferenceMissing)
        assert not await results.remove(reference.locator, stored_before=math.inf)
        assert await results.store(LARGE) == reference
        assert await results.fetch(reference) == LARGE

    @pytest.mark.spec("RS-08")
    async def test_what_is_stored_since_is_not_removed(self, results: Results) -> None:
        reference = await results.store(SMALL)
        stored_at = (await kept(results))[reference.locator].stored_at

        assert not await results.remove(reference.locator, stored_before=stored_at)

        assert await results.fetch(reference) == SMALL

    @pytest.mark.spec("RS-08")
    @pytest.mark.parametrize("way", ["whole", "in pieces"])
    async def test_storing_again_renews_the_time(self, results: Results, way: str) -> None:
        reference = await results.store(SMALL)
        first = latest = (await kept(results))[reference.locator].stored_at

        async with asyncio.timeout(CLOCKS_APART_SECONDS):
            while latest == first:
                await (results.store(SMALL) if way == "whole" else results.store_stream([SMALL]))
                latest = (await kept(results))[reference.locator].stored_at

        assert latest > first
        assert not await results.remove(reference.locator, stored_before=latest)
        assert await results.fetch(reference) == SMALL

    @pytest.mark.spec("RS-08")
    async def test_a_payload_stored_while_it_is_removed_stays(self, results: Results) -> None:
        if not self.removes_atomically:
            pytest.skip("this store cannot remove on a condition: see its docstring")

        for _ in range(20):
            reference = await results.store(SMALL)
            old = math.nextafter((await kept(results))[reference.locator].stored_at, math.inf)
            await asyncio.gather(results.remove(reference.locator, stored_before=old), results.store(SMALL))

            assert await results.fetch(reference) == SMALL

    async def test_payloads_are_there_after_reopening(self, results: Results, tmp_path: Path) -> None:
        references = [await results.store(SMALL), await results.store_stream(pieces(LARGE, 100_000))]

        again = await self.reopen(results, tmp_path)

        assert [await again.fetch(reference) for reference in references] == [SMALL, LARGE]
        await again.close()

    async def test_closing_twice_is_closing(self, results: Results) -> None:
        await results.store(SMALL)

        await results.close()
        await results.close()

    async def _refuses(self, results: Results, reference: Reference, kind: type[Exception]) -> None:
        with pytest.raises(kind):
            await results.fetch(reference)
        with pytest.raises(kind):
            await streamed(results, reference)
