"""Playbooks over the API."""

import pytest

from tests.api.site import HELLO
from tests.control.parts import text_of

CATALOG = "/api/v1/catalog"


def playbook(greeting: str, name: str = "orders") -> str:
    return text_of(HELLO.replace("hello", greeting), name).decode()


async def register(api, text, **more):
    status, found = await api.ask("POST", CATALOG, {"text": text, **more}, role="author")
    assert status == 201, found
    return found


@pytest.mark.spec("PB-07")
async def test_each_text_is_a_version_and_the_same_text_keeps_the_one_it_has(api):
    first = await register(api, playbook("one"))
    second = await register(api, playbook("two"))
    again = await register(api, playbook("one"))

    assert (first["path"], first["version"], second["version"], again["version"]) == ("orders", 1, 2, 1)


async def test_a_playbook_is_registered_as_raw_yaml_too(api):
    headers = {"Content-Type": "application/yaml"}

    status, _, _ = await api.raw("POST", CATALOG, data=playbook("raw").encode(), role="author", headers=headers)

    _, shown = await api.ask("GET", f"{CATALOG}/playbook?path=orders")
    assert status == 201
    assert shown["text"] == playbook("raw")


async def test_a_playbook_that_does_not_check_is_refused_with_its_findings_and_not_kept(api):
    text = playbook("x").replace("kind: noop", "kind: nonsense")

    status, problem = await api.ask("POST", CATALOG, {"text": text, "name": "orders.yaml"}, role="author")

    _, listed = await api.ask("GET", CATALOG)
    assert (status, problem["status"], problem["code"]) == (422, 422, "NL303")
    assert [(one["code"], one["path"], one["line"]) for one in problem["findings"]] == [("NL303", "orders.yaml", 7)]
    assert listed["playbooks"] == []


async def test_checking_keeps_nothing(api):
    _, good = await api.ask("POST", f"{CATALOG}/check", {"text": playbook("x")}, role="author")
    _, bad = await api.ask("POST", f"{CATALOG}/check", {"text": "a: 1"}, role="author")

    _, listed = await api.ask("GET", CATALOG)
    assert (good["is_valid"], bad["is_valid"], listed["playbooks"]) == (True, False, [])


async def test_the_list_comes_in_pages_that_together_are_the_whole(api):
    for name in ("a", "b", "c"):
        for greeting in ("one", "two"):
            await register(api, playbook(greeting, name))

    found, cursor = [], ""
    while cursor is not None:
        _, page = await api.ask("GET", f"{CATALOG}?limit=4{cursor and f'&cursor={cursor}'}")
        found += [(one["path"], one["version"]) for one in page["playbooks"]]
        cursor = page["next"]

    assert found == [("a", 2), ("a", 1), ("b", 2), ("b", 1), ("c", 2), ("c", 1)]


async def test_versions_and_their_difference_are_shown(api):
    await register(api, playbook("one"))
    await register(api, playbook("two"))

    _, versions = await api.ask("GET", f"{CATALOG}/versions?path=orders")
    _, difference = await api.ask("GET", f"{CATALOG}/diff?path=orders&old=1")

    assert [one["version"] for one in versions["playbooks"]] == [2, 1]
    assert (difference["old"], difference["new"]) == (1, 2)
    assert difference["diff"].splitlines()[:2] == ["--- orders@1", "+++ orders@2"]
    assert '-    tool: {kind: noop, set: {ctx.greeting: "one"}}' in difference["diff"]


@pytest.mark.parametrize("where", ["playbook?path=none", "playbook?path=orders&version=9", "versions?path=none"])
async def test_what_is_not_there_is_not_found(api, where):
    await register(api, playbook("one"))

    status, problem = await api.ask("GET", f"{CATALOG}/{where}")

    assert (status, problem["code"]) == (404, "unknown-playbook")
