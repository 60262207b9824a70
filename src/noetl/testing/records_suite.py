"""What holds for the records of every store; `noetl.testing.store_suite.StoreSuite` includes it.

Whoever keeps records without being a store proves it alone: a class with a fixture `store` that gives them.
"""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio

import msgspec

from noetl.stores.contract import Record, Records

RIVALS = 20


def token(name: str, body: bytes = b"{}", **fields: object) -> Record:
    return msgspec.convert({"room": "token", "name": name, "body": body, **fields}, Record)


class RecordsSuite:
    """Small documents, and who wins when two change the same one."""

    async def test_a_record_comes_back_as_it_was_kept(self, store: Records) -> None:
        is_kept = await store.put_record(token("ci", b'{"role":"runner"}', due_at=1763270000.25))

        assert is_kept
        assert await store.record("token", "ci") == token("ci", b'{"role":"runner"}', version=1, due_at=1763270000.25)

    async def test_a_record_that_is_not_there_is_none(self, store: Records) -> None:
        await store.put_record(token("ci"))

        assert await store.record("token", "cd") is None
        assert await store.record("schedule", "ci") is None
        assert await store.records("schedule") == []

    async def test_every_change_counts_the_version_up(self, store: Records) -> None:
        await store.put_record(token("ci", due_at=5.0))

        kept = [await store.put_record(token("ci", b"2", version=1)), await store.put_record(token("ci", version=2))]

        assert kept == [True, True]
        assert await store.record("token", "ci") == token("ci", version=3)

    async def test_a_change_of_another_version_is_refused_and_changes_nothing(self, store: Records) -> None:
        await store.put_record(token("ci", b"1"))
        await store.put_record(token("ci", b"2", version=1))

        refused = [await store.put_record(token("ci", b"late", version=version)) for version in (0, 1, 3)]
        from_nothing = await store.put_record(token("cd", version=1))

        assert refused == [False, False, False]
        assert not from_nothing
        assert await store.records("token") == [token("ci", b"2", version=2)]

    async def test_of_many_changes_of_one_version_exactly_one_wins(self, store: Records) -> None:
        bodies = [str(number).encode() for number in range(RIVALS)]

        made = await asyncio.gather(*(store.put_record(token("ci", body)) for body in bodies))
        changed = await asyncio.gather(*(store.put_record(token("ci", body, version=1)) for body in bodies))

        assert (made.count(True), changed.count(True)) == (1, 1)
        assert await store.record("token", "ci") == token("ci", bodies[changed.index(True)], version=2)

    async def test_records_are_listed_by_name_page_by_page(self, store: Records) -> None:
        for name in ("b", "a-b", "a", "Z", "c"):
            await store.put_record(token(name))
        await store.put_record(Record(room="schedule", name="aa"))

        first = [record.name for record in await store.records("token", limit=3)]
        rest = [record.name for record in await store.records("token", after=first[-1])]

        assert (first, rest) == (["Z", "a", "a-b"], ["b", "c"])

    async def test_versions_tell_what_has_changed(self, store: Records) -> None:
        for name in ("a", "b"):
            await store.put_record(token(name))
        await store.put_record(token("b", version=1))
        await store.put_record(Record(room="schedule", name="c"))

        assert await store.record_versions("token") == {"a": 1, "b": 2}
        assert await store.record_versions("trigger") == {}

    async def test_due_records_are_those_whose_time_has_come_the_longest_due_first(self, store: Records) -> None:
        for name, due_at in (("late", 1.0), ("now", 3.0), ("soon", 3.5), ("never", None), ("later", 2.0)):
            await store.put_record(token(name, due_at=due_at))
        await store.put_record(Record(room="schedule", name="other", due_at=0.5))

        due = [record.name for record in await store.due_records("token", 3.0)]
        next_due = [record.name for record in await store.due_records("token", 3.0, limit=2)]

        assert due == ["late", "later", "now"]
        assert next_due == ["late", "later"]

    async def test_a_removed_record_is_gone_and_its_name_is_free_again(self, store: Records) -> None:
        await store.put_record(token("ci", b"1"))

        removed = [await store.remove_record("token", "ci"), await store.remove_record("token", "ci")]
        is_kept_again = await store.put_record(token("ci", b"2"))

        assert removed == [True, False]
        assert is_kept_again
        assert await store.record("token", "ci") == token("ci", b"2", version=1)
