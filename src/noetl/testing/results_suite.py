"""What holds for every store of results. An implementation proves it with one class in its tests:

    class TestMyResults(ResultsSuite):
        async def make(self, folder: Path) -> Results:
            return MyResults(folder)

        async def damage(self, results: Results, folder: Path, reference: Reference, data: bytes) -> None:
            (folder / reference.locator).write_bytes(data)

        async def remove(self, results: Results, folder: Path, reference: Reference) -> None:
            (folder / reference.locator).unlink()

`make` gives a new, empty store for each test; `folder` is empty and belongs to the test. `damage` puts other bytes
where a payload is kept, behind the store's back; `remove` takes it away. `reopen` opens the same store again, as
another process would; leave it out where nothing outlives the process, and that test is skipped. Needs pytest and
pytest-asyncio in auto mode.
"""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from noetl.errors import ReferenceCorrupt, ReferenceMissing, ResultTooLarge
from noetl.references import JSON, LINES, TYPES, Reference, reference_of
from noetl.results.contract import Results

SMALL = b'{"rows": [1, 2, 3]}'
LARGE = b"0123456789abcdef" * (200 * 1024)  # 3.1 MiB: several pieces, and not a whole number of them
NOT_LOCATORS = (
    "",
    "sha256:",
    "sha256:../../../../etc/passwd",
    f"sha256:{'a' * 63}",
    f"sha256:{'a' * 65}",
    f"sha256:{'A' * 64}",
    f"sha256:{'a' * 64}\n",
    f"sha256:{'a' * 62}/.",
    f"sha256:{'a' * 63}\x00",
    f"sha256:{'٠' * 64}",
    f"md5:{'a' * 64}",
    f"/{'a' * 64}",
)


async def pieces(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def streamed(results: Results, reference: Reference) -> bytes:
    return b"".join([piece async for piece in results.stream(reference)])


class ResultsSuite:
    """The behaviour of a store of results; see the module for how to use it."""

    async def make(self, folder: Path) -> Results:
        raise NotImplementedError

    async def damage(self, results: Results, folder: Path, reference: Reference, data: bytes) -> None:
        raise NotImplementedError

    async def remove(self, results: Results, folder: Path, reference: Reference) -> None:
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

        with pytest.raises(ReferenceMissing):
            await results.fetch(self._reference_to(SMALL))

    async def test_the_same_payload_twice_is_one(self, results: Results) -> None:
        first, second = await results.store(SMALL), await results.store(SMALL)

        assert first == second
        assert await results.fetch(first) == SMALL

    async def test_a_missing_payload_is_said_to_be_missing(self, results: Results, tmp_path: Path) -> None:
        reference = await results.store(SMALL)
        await self.remove(results, tmp_path, reference)

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

    @pytest.mark.parametrize("locator", NOT_LOCATORS)
    async def test_what_is_no_locator_leads_nowhere(self, results: Results, locator: str) -> None:
        await self._refuses(results, Reference(type="blob", locator=locator), ReferenceMissing)

    async def test_payloads_are_there_after_reopening(self, results: Results, tmp_path: Path) -> None:
        references = [await results.store(SMALL), await results.store_stream(pieces(LARGE, 100_000))]

        again = await self.reopen(results, tmp_path)

        assert [await again.fetch(reference) for reference in references] == [SMALL, LARGE]

    async def _refuses(self, results: Results, reference: Reference, kind: type[Exception]) -> None:
        with pytest.raises(kind):
            await results.fetch(reference)
        with pytest.raises(kind):
            await streamed(results, reference)

    def _reference_to(self, data: bytes) -> Reference:
        sha = hashlib.sha256(data).hexdigest()
        return Reference(type="blob", locator=f"sha256:{sha}", content_type=JSON, bytes=len(data), sha256=sha)
