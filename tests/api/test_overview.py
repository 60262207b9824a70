"""Who asks, how things stand, which playbooks ran lately, and whether the parts work."""

from noetl import __version__
from noetl.api.checks import queue_check
from tests.api.site import HELLO, WAITING, site
from tests.api.test_listing import FAILING
from tests.api.test_schedules import SCHEDULES, apply, schedule
from tests.control.parts import text_of

OVERVIEW, IDENTITY, RECENT = "/api/v1/overview", "/api/v1/identity", "/api/v1/catalog/recent"


async def test_whoever_asks_is_told_who_they_are_and_where(api):
    api.tokens["team"] = await api.token(role="runner", label="ci", path_prefix="team")

    _, team = await api.ask("GET", IDENTITY, role="team")
    _, viewer = await api.ask("GET", IDENTITY, role="viewer")

    assert (team["name"], team["role"], team["path_prefix"]) == ("ci", "runner", "team")
    assert (team["version"], team["is_embedded"], team["store"]) == (__version__, True, "sqlite")
    assert (viewer["role"], viewer["path_prefix"]) == ("viewer", "")
    assert api.tokens["team"] not in str(team)


async def test_the_overview_counts_what_is_under_way_and_what_ended(api):
    for text, name in ((HELLO, "team/a"), (HELLO, "b"), (FAILING, "team/a"), (WAITING, "team/w"), (WAITING, "w")):
        await api.run(text, name)
    await apply(api, f"{SCHEDULES}/nightly", schedule("nightly", "team/a"))
    await apply(api, f"{SCHEDULES}/hourly", schedule("hourly", "b", "every: 1h"))
    api.tokens["team"] = await api.token(role="viewer", path_prefix="team")

    _, whole = await api.ask("GET", OVERVIEW, role="viewer")
    _, team = await api.ask("GET", OVERVIEW, role="team")

    assert (whole["running"], whole["waiting"], whole["incident"]) == (0, 2, 0)
    assert (whole["success_day"], whole["failed_day"], whole["cancelled_day"]) == (2, 1, 0)
    assert [hour["success"] for hour in whole["hours"]][-2:] in ([0, 2], [2, 0], [1, 1])
    assert len(whole["hours"]) == 24
    assert [(row["name"], row["path"]) for row in whole["schedules"]] == [("hourly", "b"), ("nightly", "team/a")]
    assert (team["waiting"], team["success_day"], team["failed_day"]) == (1, 1, 1)
    assert [row["name"] for row in team["schedules"]] == ["nightly"]


async def test_playbooks_come_with_their_last_runs_page_by_page(api):
    runs = {name: [await api.run(HELLO, name) for _ in range(3)] for name in ("team/a", "b")}
    await api.ask("POST", "/api/v1/catalog", {"text": text_of(WAITING, "team/a").decode()})
    await api.ask("POST", "/api/v1/catalog", {"text": text_of(HELLO, "never").decode()})

    _, page = await api.ask("GET", f"{RECENT}?limit=2&runs=2")
    _, rest = await api.ask("GET", f"{RECENT}?limit=2&runs=2&cursor={page['next']}")

    rows = page["playbooks"] + rest["playbooks"]
    assert [(row["path"], row["version"], row["versions"]) for row in rows] == [
        ("b", 1, 1),
        ("never", 1, 1),
        ("team/a", 2, 2),
    ]
    found = {row["path"]: [run["execution_id"] for run in row["runs"]] for row in rows}
    assert found == {"b": runs["b"][:0:-1], "never": [], "team/a": runs["team/a"][:0:-1]}
    assert rest["next"] is None


async def test_recent_playbooks_are_found_by_text_and_seen_by_path(api):
    for name in ("team/a", "teams", "b"):
        await api.run(HELLO, name)
    api.tokens["team"] = await api.token(role="viewer", path_prefix="team")

    async def paths(query="", role="viewer"):
        _, page = await api.ask("GET", f"{RECENT}?runs=0&{query}", role=role)
        return [row["path"] for row in page["playbooks"]]

    assert await paths("q=TEAM") == ["team/a", "teams"]
    assert await paths("q=%25") == []
    assert await paths(role="team") == ["team/a"]
    assert await paths("q=b", role="team") == []


async def test_health_tells_of_store_queue_and_workers_what_to_do(tmp_path):
    async with site(tmp_path) as api:
        _, well = await api.ask("GET", "/api/v1/health", role="viewer")
    async with site(tmp_path / "idle", server_workers=False) as api:
        _, ill = await api.ask("GET", "/api/v1/health", role="viewer")

    assert [(check["name"], check["is_ok"]) for check in well["checks"]] == [
        ("store", True),
        ("queue", True),
        ("workers", True),
    ]
    assert well["is_ok"]
    assert all(check["detail"] for check in well["checks"])
    workers = ill["checks"][2]
    assert (ill["is_ok"], workers["is_ok"]) == (False, False)
    assert "noetl worker start" in workers["detail"]


def test_a_queue_that_is_away_says_what_to_do():
    away, there = queue_check(is_up=False), queue_check(is_up=True)

    assert (away.is_ok, there.is_ok) == (False, True)
    assert "NOETL_QUEUE_URL" in away.detail
