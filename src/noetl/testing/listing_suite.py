"""What holds for the lists of every store; `noetl.testing.store_suite.StoreSuite` includes it.

Filters are compared with `Wanted.fits`, row by row: what is said there in a few lines must hold for every statement.
"""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

from typing import Any

import pytest

from noetl.stores.contract import (
    CANCELLED,
    FAILED,
    INCIDENT,
    RUNNING,
    SUCCESS,
    WAITING,
    Batch,
    Execution,
    Store,
    Title,
)
from noetl.stores.wanted import Paths, Wanted
from noetl.testing.logs import append, begin, playbook, started

HOUR = 3600.0
STATUSES = (RUNNING, WAITING, INCIDENT, SUCCESS, FAILED, CANCELLED)
# Paths that begin alike, and such as patterns, collations and cases would mix up.
NAMES = (
    "team",
    "team/orders",
    "team/orders/daily",
    "team_a/orders",
    "teamXa/orders",
    "team%/orders",
    "TEAM/Orders",
    "team-x",
    "team\\a",
    "équipe/Ångström",
    "équipe/ångström",
    "zürich\U0010ffff",
    "zürich\U0010ffff/b",
    "\ud7ff",
    "1",
    "1/2",
)
WISHES: dict[str, dict[str, Any]] = {
    "all": {},
    "one status": {"statuses": (FAILED,)},
    "several statuses": {"statuses": (FAILED, INCIDENT, WAITING)},
    "a status nobody has": {"statuses": ("lost",)},
    "one path": {"paths": Paths(exact=("team",))},
    "several paths": {"paths": Paths(exact=("team", "1/2"))},
    "a path that nobody has in this case": {"paths": Paths(exact=("Team",))},
    "a path nobody has": {"paths": Paths(exact=("tea",))},
    "a prefix": {"paths": Paths(prefixes=("team",))},
    "a prefix with a slash": {"paths": Paths(prefixes=("team/",))},
    "a prefix with an underscore": {"paths": Paths(prefixes=("team_",))},
    "a prefix with a percent sign": {"paths": Paths(prefixes=("team%",))},
    "a prefix with a backslash": {"paths": Paths(prefixes=("team\\",))},
    "a prefix beyond ASCII": {"paths": Paths(prefixes=("équipe/Å",))},
    "a prefix that ends with the last character": {"paths": Paths(prefixes=("zürich\U0010ffff",))},
    "a prefix of the last character, that nobody has": {"paths": Paths(prefixes=("\U0010ffff",))},
    "a prefix before the surrogates": {"paths": Paths(prefixes=("\ud7ff",))},
    "a prefix nobody has": {"paths": Paths(prefixes=("team/x",))},
    "a path and what is below it": {"paths": Paths(exact=("team",), prefixes=("team/",))},
    "a text": {"text": "orders"},
    "a text in another case": {"text": "ORDERS"},
    "a text with a percent sign": {"text": "%"},
    "a text with an underscore": {"text": "m_a"},
    "a text with a backslash": {"text": "\\"},
    "a text beyond ASCII": {"text": "Å"},
    "a text beyond ASCII that nobody has in this case": {"text": "ÉQUIPE"},
    "a text nobody has": {"text": "zebra"},
    "the beginning of an id": {"text": "1"},
    "a longer beginning of an id": {"text": "12"},
    "an id that nobody has": {"text": "99999999999999999999"},
    "a zero, with which nobody begins": {"text": "0"},
    "a text below a path": {"text": "daily", "paths": Paths(exact=("team",), prefixes=("team/",))},
    "an id below a path": {"text": "1", "paths": Paths(exact=("team",), prefixes=("team/",))},
    "since": {"since": 40.0},
    "until": {"until": 40.0},
    "from and to": {"since": 30.0, "until": 60.0},
    "roots": {"is_root": True},
    "children": {"is_root": False},
    "of one parent": {"parent_id": 1},
    "of one parent and a status": {"parent_id": 1, "statuses": (FAILED, SUCCESS)},
    "of one parent, a prefix and a text": {"parent_id": 1, "paths": Paths(prefixes=("team",)), "text": "orders"},
    "of nobody": {"parent_id": 2},
    "roots of some statuses": {"is_root": True, "statuses": (FAILED, RUNNING)},
    "statuses of a prefix": {"statuses": (FAILED, RUNNING), "paths": Paths(prefixes=("team",))},
    "a status of a path": {"statuses": (FAILED,), "paths": Paths(exact=("team/orders",))},
    "a text, a status and a time": {"text": "orders", "statuses": (SUCCESS, FAILED), "since": 20.0},
    "everything": {
        "statuses": STATUSES[:5],
        "paths": Paths(exact=("team",), prefixes=("team/", "1")),
        "text": "e",
        "since": 5.0,
        "until": 90.0,
        "parent_id": 1,
        "is_root": False,
    },
}


async def ended(store: Store, at: float, status: str = SUCCESS, path: str = "orders") -> int:
    execution_id = await begin(store, [started(1)], path=path)
    await store.commit(Batch(appends=[append(execution_id, 2, [started(2)], status=status, ended_at=at)]))
    return execution_id


async def assorted(store: Store) -> list[Execution]:
    """Executions of all kinds, newest first; the first one called a third of the others."""
    for number in range(100):
        call = {"parent_id": 1, "parent_key": f"call {number}"} if number % 3 == 1 else {}
        status, path = STATUSES[number % 5], NAMES[number % len(NAMES)]
        await begin(store, [], status=status, path=path, created_at=float(number), **call)
    return await store.executions(limit=1000)


class ListingSuite:
    """Lists of executions and of playbooks."""

    async def test_executions_are_listed_newest_first_and_page_by_page(self, store: Store) -> None:
        ids = [await begin(store, [], status=RUNNING if number % 2 else FAILED) for number in range(10)]
        wanted = Wanted(statuses=(RUNNING,))

        newest = await store.executions(limit=4)
        older = await store.executions(limit=4, before=newest[-1].id)
        running = await store.executions(limit=3, wanted=wanted)
        running_before = await store.executions(before=running[-1].id, wanted=wanted)

        assert [execution.id for execution in newest] == ids[:5:-1]
        assert [execution.id for execution in older] == ids[5:1:-1]
        assert [execution.id for execution in running] == [ids[9], ids[7], ids[5]]
        assert [execution.id for execution in running_before] == [ids[3], ids[1]]
        assert await store.executions(wanted=Wanted(statuses=(WAITING,))) == []

    async def test_executions_are_found_by_path_time_and_parent(self, store: Store) -> None:
        parent = await begin(store, [], path="orders/daily", created_at=10.0)
        children = [
            await begin(store, [], path=path, created_at=created_at, parent_id=parent, parent_key=f"call {created_at}")
            for path, created_at in (("orders", 20.0), ("orders", 30.0), ("orders/daily", 40.0), ("orders", 50.0))
        ]
        failed = await begin(store, [], path="orders", created_at=60.0, status=FAILED)
        orders, daily = Paths(exact=("orders",)), Paths(exact=("orders/daily",))

        async def found(limit: int = 100, before: int | None = None, **wanted: Any) -> list[int]:
            return [execution.id for execution in await store.executions(limit, before, Wanted(**wanted))]

        assert await found(paths=daily) == [children[2], parent]
        assert await found(paths=orders, limit=2) == [failed, children[3]]
        assert await found(since=30.0, until=40.0) == [children[2], children[1]]
        assert await found(until=10.0) == [parent]
        assert await found(parent_id=parent, before=children[2]) == [children[1], children[0]]
        assert await found(parent_id=parent, paths=orders, statuses=(RUNNING,), since=30.0) == [
            children[3],
            children[1],
        ]
        assert await found(paths=Paths(exact=("ORDERS",))) == []
        assert await found(parent_id=failed) == []

    async def test_every_filter_finds_what_fits_and_nothing_else_page_by_page(self, store: Store) -> None:
        rows = await assorted(store)
        unfound = []
        for name, wish in WISHES.items():
            wanted = Wanted(**wish)
            fitting = [row for row in rows if wanted.fits(row)]

            found = await store.executions(limit=1000, wanted=wanted)
            pages = await store.executions(limit=3, wanted=wanted)
            while len(pages) % 3 == 0 and (page := await store.executions(3, pages[-1].id if pages else None, wanted)):
                pages += page

            assert [row.id for row in found] == [row.id for row in fitting], name
            assert [row.id for row in pages] == [row.id for row in fitting], name
            unfound += [] if fitting else [name]
        assert all("nobody" in name or name in ("a path that nobody has in this case", "a zero") for name in unfound), (
            unfound
        )

    async def test_a_filter_with_more_paths_than_are_looked_at_one_by_one_finds_the_same(self, store: Store) -> None:
        for number in range(300):
            status, path = (FAILED, SUCCESS)[number % 2], f"team/{number:03}/of"
            await begin(store, [], status=status, path=path, created_at=float(number))
        rows = await store.executions(limit=1000)

        for wish in (
            {"text": "OF"},
            {"paths": Paths(prefixes=("team/",))},
            {"text": "2"},
            {"text": "/0", "since": 7.0},
        ):
            for statuses in ((), (FAILED,)):
                wanted = Wanted(statuses=statuses, **wish)
                found = await store.executions(limit=1000, wanted=wanted)

                assert [row.id for row in found] == [row.id for row in rows if wanted.fits(row)]

    async def test_an_id_names_its_execution_and_a_beginning_all_that_begin_so(self, store: Store) -> None:
        ids = [await begin(store, [], path="a" if number % 2 else "b") for number in range(130)]

        async def found(digits: str, limit: int = 1000, **given: Any) -> list[int]:
            return [row.id for row in await store.executions_by_id(digits, limit, **given)]

        assert [await found(str(one)) for one in ids] == [[one] for one in ids]
        unused = next(str(number) for number in range(1, 10**6) if number not in ids)
        longest = str(ids[-1])
        begun = [one for one in reversed(ids) if str(one).startswith(longest[:-1]) and str(one) != longest[:-1]]
        of_a = Paths(exact=("a",))
        assert await found(f"{longest}0") == await found("0") == await found("9" * 25) == await found("x") == []
        assert await found(unused) == [one for one in reversed(ids) if str(one).startswith(unused)]
        if int(longest[:-1]) not in ids:
            assert await found(longest[:-1]) == begun
            assert await found(longest[:-1], limit=3) == begun[:3]
        rows = {row.id: row.path for row in await store.executions(limit=1000)}
        hidden = next(one for one in ids if rows[one] == "b" and 10 * one in ids)
        assert await found(str(hidden), paths=of_a) == [
            one for one in reversed(ids) if str(one).startswith(str(hidden)) and rows[one] == "a"
        ]

    async def test_the_last_executions_of_several_paths_come_together(self, store: Store) -> None:
        ids = [
            await begin(store, [], path=("a", "b", "c")[number % 3], created_at=float(number)) for number in range(9)
        ]

        found = await store.recent_executions(["c", "a", "d"], 2)

        assert {path: [row.id for row in rows] for path, rows in found.items() if rows} == {
            "a": [ids[6], ids[3]],
            "c": [ids[8], ids[5]],
        }
        assert not any((await store.recent_executions([], 2)).values())

    async def test_those_that_ended_come_in_the_order_of_their_ends(self, store: Store) -> None:
        await begin(store, [started(1)])
        ids = [await ended(store, at, status) for at, status in ((50.0, SUCCESS), (30.0, FAILED), (40.0, CANCELLED))]

        assert [row.id for row in await store.ended_executions(0.0)] == [ids[1], ids[2], ids[0]]
        assert [row.id for row in await store.ended_executions(40.0)] == [ids[2], ids[0]]
        assert [row.id for row in await store.ended_executions(0.0, limit=1)] == [ids[1]]
        assert await store.ended_executions(50.5) == []

    async def test_what_is_under_way_is_counted_by_status_and_place(self, store: Store) -> None:
        for status, path in ((RUNNING, "a"), (RUNNING, "a/b"), (WAITING, "ab"), (INCIDENT, "a/b"), (SUCCESS, "a")):
            await begin(store, [], status=status, path=path)

        assert dict(await store.count_live()) == {RUNNING: 2, WAITING: 1, INCIDENT: 1}
        assert dict(await store.count_live(Paths(exact=("a",), prefixes=("a/",)))) == {RUNNING: 2, INCIDENT: 1}
        assert dict(await store.count_live(Paths(exact=("c",)))) == {}

    async def test_what_ended_is_counted_by_hour_status_and_place(self, store: Store) -> None:
        await begin(store, [started(1)])
        ends = ((10 * HOUR - 1, "a"), (10 * HOUR, "a"), (11 * HOUR - 0.5, "a/b"), (11 * HOUR, "ab"))
        for at, path in ends:
            await ended(store, at, FAILED, path)
        await ended(store, 10.5 * HOUR, SUCCESS, "a")

        everywhere, below = await store.count_ended(10 * HOUR), Paths(exact=("a",), prefixes=("a/",))

        assert dict(everywhere) == {(10, FAILED): 2, (10, SUCCESS): 1, (11, FAILED): 1}
        assert dict(await store.count_ended(0.0, below)) == {(9, FAILED): 1, (10, FAILED): 2, (10, SUCCESS): 1}
        assert dict(await store.count_ended(12 * HOUR)) == {}

    async def test_titles_are_the_newest_versions_by_path_page_by_page(self, store: Store) -> None:
        for sha, path in (("a1", "b"), ("a2", "a/x"), ("a3", "b"), ("a4", "B_c"), ("a5", "a")):
            await store.register(playbook(sha, path=path, label=f"v{sha}", name=f"{sha}.yaml", is_legacy=True))

        async def found(*given: Any, **wanted: Any) -> list[tuple[str, int]]:
            return [(title.path, title.version) for title in await store.titles(*given, **wanted)]

        assert await found(10) == [("B_c", 1), ("a", 1), ("a/x", 1), ("b", 2)]
        assert await found(2) == [("B_c", 1), ("a", 1)]
        assert await found(2, "a") == [("a/x", 1), ("b", 2)]
        assert await found(9, paths=Paths(exact=("a",), prefixes=("a/",))) == [("a", 1), ("a/x", 1)]
        assert await found(9, text="b") == [("B_c", 1), ("b", 2)]
        assert await found(9, text="_") == [("B_c", 1)]
        (last,) = await store.titles(1, "a/x")
        assert last == Title(
            path="b",
            version=2,
            sha="a3",
            name="a3.yaml",
            label="va3",
            is_legacy=True,
            is_upstream=False,
            created_at=0.0,
        )

    async def test_the_catalog_grows_by_each_new_version(self, store: Store) -> None:
        sizes = [await store.catalog_size()]
        for sha, path in (("a1", "b"), ("a2", "b"), ("a2", "b"), ("a2", "c")):
            await store.register(playbook(sha, path=path))
            sizes.append(await store.catalog_size())

        assert sizes == [0, 1, 2, 2, 3]

    @pytest.mark.parametrize("limit", [0, 1])
    async def test_a_list_has_as_many_as_asked_for(self, store: Store, limit: int) -> None:
        for status in STATUSES:
            await begin(store, [], status=status)

        for wanted in (Wanted(), Wanted(statuses=(FAILED, SUCCESS)), Wanted(text="orders")):
            assert len(await store.executions(limit, wanted=wanted)) == limit
