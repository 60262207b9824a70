"""What every strongbox must do: subclass it and say how one is made.

    class TestMine(StrongboxSuite):
        async def make(self, folder): ...

A box that outlives its process also says how it is opened again, and which bytes an intruder would find.
"""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from noetl.keychain.strongbox import REFERENCES, VALUES, Row, Strongbox, Turn

CHANGES_AT_ONCE = 20


def sample(name: str, **facts: object) -> Row:
    """A row; what is sealed in it does not matter to a box."""
    row = Row(
        name=name,
        kind="bearer",
        version=1,
        origin=VALUES,
        fields=("token",),
        key_id="0123456789abcdef",
        nonce=b"\x00\xff" * 6,
        ciphertext=b"\x00 sealed \xff" + name.encode(),
        created_at=1000.5,
        updated_at=1000.5,
    )
    return msgspec.structs.replace(row, **facts)


async def put(box: Strongbox, *rows: Row) -> None:
    def work(turn: Turn) -> None:
        for row in rows:
            turn.put(row)

    await box.change(work)


class StrongboxSuite:
    async def make(self, folder: Path) -> Strongbox:
        raise NotImplementedError

    async def reopen(self, box: Strongbox, folder: Path) -> Strongbox:
        """The same box as another process sees it; one in memory is seen by its own process only."""
        return box

    def bytes_in(self, box: Strongbox, folder: Path) -> bytes:
        """All that can be read out of it by whatever means."""
        raise NotImplementedError

    @pytest.fixture
    async def box(self, tmp_path: Path) -> Strongbox:
        return await self.make(tmp_path)

    async def test_a_box_that_holds_nothing_has_no_rows_and_reading_makes_nothing(
        self, box: Strongbox, tmp_path: Path
    ) -> None:
        assert await box.rows() == []
        assert await box.row("a") is None
        assert list(tmp_path.iterdir()) == []

    async def test_a_row_comes_back_as_it_was_put(self, box: Strongbox, tmp_path: Path) -> None:
        row = sample("schön 名/1", origin=REFERENCES, fields=("a", "b"), version=7, ciphertext=bytes(range(256)))

        await put(box, row)

        again = await self.reopen(box, tmp_path)
        assert await again.row(row.name) == row
        assert await again.rows() == [row]

    async def test_a_row_replaces_the_one_with_its_name(self, box: Strongbox) -> None:
        await put(box, sample("a"), sample("b"))
        newer = sample("a", version=2, ciphertext=b"other")

        await put(box, newer)

        assert await box.rows() == [newer, sample("b")]

    async def test_rows_come_by_name(self, box: Strongbox) -> None:
        await put(box, *(sample(name) for name in ("b", "a", "B", "_")))

        assert [row.name for row in await box.rows()] == ["B", "_", "a", "b"]

    async def test_removing_says_whether_there_was_one(self, box: Strongbox) -> None:
        await put(box, sample("a"))

        answers = [await box.change(lambda turn: turn.remove("a")) for _ in range(2)]

        assert answers == [True, False]
        assert await box.rows() == []

    async def test_a_change_sees_what_it_has_done(self, box: Strongbox) -> None:
        def work(turn: Turn) -> tuple[Row | None, list[Row]]:
            turn.put(sample("a"))
            return turn.row("a"), turn.rows()

        assert await box.change(work) == (sample("a"), [sample("a")])

    async def test_a_change_that_fails_has_not_happened(self, box: Strongbox) -> None:
        await put(box, sample("a"))

        def work(turn: Turn) -> None:
            turn.put(sample("b"))
            turn.remove("a")
            raise ValueError("stop")

        with pytest.raises(ValueError, match="stop"):
            await box.change(work)
        assert await box.rows() == [sample("a")]

    async def test_changes_take_turns(self, box: Strongbox, tmp_path: Path) -> None:
        await put(box, sample("a"))
        others = [await self.reopen(box, tmp_path) for _ in range(CHANGES_AT_ONCE)]

        def count_up(turn: Turn) -> None:
            row = turn.row("a")
            assert row is not None
            turn.put(sample("a", version=row.version + 1))

        await asyncio.gather(*(other.change(count_up) for other in others))

        found = await box.row("a")
        assert found is not None
        assert found.version == CHANGES_AT_ONCE + 1

    async def test_nothing_remains_of_what_was_replaced_or_removed(self, box: Strongbox, tmp_path: Path) -> None:
        gone = [f"gone-{number}-".encode() * 4000 for number in range(3)]
        await put(box, *(sample(f"n{number}", ciphertext=data) for number, data in enumerate(gone)))
        assert all(data[:20] in self.bytes_in(box, tmp_path) for data in gone)

        await put(box, sample("n0", ciphertext=b"small"))
        await box.change(lambda turn: turn.remove("n1"))
        await put(box, sample("n2", ciphertext=b"small"))

        assert not any(data[:20] in self.bytes_in(box, tmp_path) for data in gone)
