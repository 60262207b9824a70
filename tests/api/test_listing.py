"""The filters of the list of executions, over the API and from the command line's words; only what a token is for."""

import json

import pytest

from noetl.control.filters import Filters, paths_of, wanted_of
from noetl.stores.wanted import ANY_PATH, Paths
from tests.api.site import HELLO, WAITING
from tests.control.parts import text_of

EXECUTIONS = "/api/v1/executions"
FAILING = "workflow: [{step: start, tool: {kind: python, code: 'raise ValueError(1)'}}]"


async def listed(api, query="", role="admin"):
    """All ids of a list, read in pages of two."""
    found, cursor = [], ""
    while cursor is not None:
        where = f"{EXECUTIONS}?limit=2{query and f'&{query}'}{cursor and f'&cursor={cursor}'}"
        status, page = await api.ask("GET", where, role=role)
        assert status == 200, page
        found += [row["execution_id"] for row in page["executions"]]
        cursor = page["next"]
    return found


async def test_several_statuses_prefixes_and_texts_are_found_page_by_page(api):
    names = ("team/a", "team/b", "teams", "team/a", "Team/a")
    ids = [await api.run(HELLO, name) for name in names]
    waiting, failed = await api.run(WAITING, "team/w"), await api.run(FAILING, "other")

    assert await listed(api, "status=waiting,failed") == [failed, waiting]
    assert await listed(api, "status=success,waiting&path=team/*") == [waiting, ids[3], ids[1], ids[0]]
    assert await listed(api, "path=team*") == [waiting, ids[3], ids[2], ids[1], ids[0]]
    assert await listed(api, "path=*") == [failed, waiting, *ids[::-1]]
    assert await listed(api, "q=TEAM/A") == [ids[4], ids[3], ids[0]]
    assert await listed(api, "q=%25") == await listed(api, "q=_") == []
    assert await listed(api, f"q={failed}") == [failed]


async def test_an_id_names_its_execution_or_those_that_begin_so(api):
    ids = [await api.run(HELLO, "team/a") for _ in range(11)]
    api.tokens["other"] = await api.token(role="viewer", path_prefix="other")
    both = [one for one in reversed(ids) if one.startswith("1") and one != "1"]

    assert [await listed(api, f"id={one}") for one in ids] == [[one] for one in ids]
    assert ids[0] != "1" or await listed(api, "id=1") == ["1"]
    assert await listed(api, "id=99999") == []
    assert await listed(api, f"id={ids[0]}", role="other") == []
    assert both
    for query in ("id=1&status=failed", "id=1&q=a", "id=x", "id=01", "id="):
        status, _ = await api.ask("GET", f"{EXECUTIONS}?{query}")
        assert status == 400, query


async def test_roots_and_those_that_they_called_are_told_apart(api):
    child, parent = text_of(HELLO, "child"), "workflow: [{step: start, tool: {kind: playbook, path: child}}]"
    await api.ask("POST", "/api/v1/catalog", {"text": child.decode()})
    root = await api.run(parent, "parent")

    (called,) = await listed(api, f"parent={root}")

    assert await listed(api, "is_root=true") == [root]
    assert await listed(api, "is_root=false") == [called]


async def test_a_token_of_a_path_lists_nothing_outside_of_it_whatever_it_asks_for(api):
    inside = [await api.run(HELLO, name) for name in ("team", "team/a", "team/b")]
    for name in ("teams", "tea", "other/team/a", "team-a"):
        await api.run(HELLO, name)
    api.tokens["team"] = await api.token(role="viewer", path_prefix="team")

    for query in ("", "path=*", "path=t*", "path=team*", "q=t", "status=success", "is_root=true", "q=team"):
        assert await listed(api, query, role="team") == inside[::-1], query
    assert await listed(api, "path=team/*", role="team") == [inside[2], inside[1]]
    assert await listed(api, "path=team/a", role="team") == [inside[1]]
    for query in ("path=teams", "path=teams*", "path=team-*", "path=other*", "q=other"):
        assert await listed(api, query, role="team") == [], query


@pytest.mark.parametrize(
    "query",
    [
        "status=lost",
        "status=failed,",
        "status=,failed",
        "status=failed;waiting",
        f"status={','.join(['failed'] * 7)}",
        "q=",
        "q=%00",
        f"q={'x' * 256}",
        "is_root=maybe",
        "path=",
    ],
)
async def test_a_filter_that_means_nothing_is_refused(api, query):
    status, problem = await api.ask("GET", f"{EXECUTIONS}?{query}")

    assert (status, problem["code"]) == (400, "bad-query")


async def test_names_with_markup_come_back_as_they_are(api):
    name = "<img src=x onerror=alert(1)>/';--"
    await api.run(HELLO, json.dumps(name))

    assert len(await listed(api, "q=%3Cimg%20src")) == 1
    assert len(await listed(api, "path=%3Cimg*")) == 1


@pytest.mark.parametrize(
    ("given", "sight", "found"),
    [
        (None, "", ANY_PATH),
        (None, "a", Paths(exact=("a",), prefixes=("a/",))),
        ("b", "", Paths(exact=("b",))),
        ("b*", "", Paths(prefixes=("b",))),
        ("*", "", ANY_PATH),
        ("*", "a", Paths(exact=("a",), prefixes=("a/",))),
        ("a", "a", Paths(exact=("a",))),
        ("a/b", "a", Paths(exact=("a/b",))),
        ("ab", "a", None),
        ("a/*", "a", Paths(prefixes=("a/",))),
        ("a/b*", "a", Paths(prefixes=("a/b",))),
        ("a*", "a", Paths(exact=("a",), prefixes=("a/",))),
        ("ab*", "a", None),
        ("b*", "a", None),
        ("a/b*", "a/bc", Paths(exact=("a/bc",), prefixes=("a/bc/",))),
        ("a/b/*", "a/bc", None),
    ],
)
def test_of_what_is_asked_for_only_what_is_in_sight_is_meant(given, sight, found):
    assert paths_of(given, sight) == found


def test_filters_that_can_find_nothing_ask_for_nothing():
    assert wanted_of(Filters(path="b"), "a") is None
    assert wanted_of(Filters(status="failed,waiting,failed")).statuses == ("failed", "waiting")
