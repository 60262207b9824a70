"""Tokens over the API: by administrators, and none that may more than whoever makes it (security 12, 17, 26)."""

import pytest

TOKENS = "/api/v1/tokens"
PLAYBOOKS = "/api/v1/catalog"


def bearing(token):
    return {"Authorization": f"Bearer {token}"}


async def test_a_token_that_is_made_opens_what_its_role_may(api):
    status, made = await api.ask("POST", TOKENS, {"role": "viewer", "label": "someone", "expires_in_seconds": 60})

    looked, _ = await api.ask("GET", PLAYBOOKS, role="none", headers=bearing(made["token"]))
    changed, _ = await api.ask("GET", TOKENS, role="none", headers=bearing(made["token"]))
    assert (status, looked, changed) == (201, 200, 403)
    assert (made["role"], made["label"], made["status"]) == ("viewer", "someone", "active")
    assert made["created_by"].startswith("admin")


async def test_a_token_is_shown_once(api):
    _, made = await api.ask("POST", TOKENS, {"role": "viewer"})

    _, listed = await api.ask("GET", TOKENS)

    row = next(row for row in listed["tokens"] if row["id"] == made["id"])
    assert row == {name: value for name, value in made.items() if name != "token"}
    assert made["token"] not in str(listed)


async def test_a_revoked_token_opens_nothing_any_more(api):
    _, made = await api.ask("POST", TOKENS, {"role": "viewer"})

    status, row = await api.ask("DELETE", f"{TOKENS}/{made['id']}")

    after, _ = await api.ask("GET", PLAYBOOKS, role="none", headers=bearing(made["token"]))
    assert (status, row["status"], after) == (200, "revoked", 401)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"role": "root"}, 400),
        ({}, 400),
        ({"role": "viewer", "pool": "gpu"}, 400),
        ({"role": "worker", "path_prefix": "team"}, 400),
        ({"role": "viewer", "expires_in_seconds": 0}, 400),
        ({"role": "viewer", "expires_in_seconds": -1e308}, 400),
        ({"role": "viewer", "token": "noetl_mine"}, 400),
    ],
)
async def test_a_token_that_makes_no_sense_is_not_made(api, body, status):
    _, before = await api.ask("GET", TOKENS)

    found, problem = await api.ask("POST", TOKENS, body)

    assert (found, problem["status"]) == (status, status)
    assert (await api.ask("GET", TOKENS))[1] == before


@pytest.mark.parametrize(("token_id", "status"), [("000000000000", 404), ("abc", 400), ("%2e%2e", 400)])
async def test_what_is_no_token_cannot_be_revoked(api, token_id, status):
    assert (await api.ask("DELETE", f"{TOKENS}/{token_id}"))[0] == status


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"role": "author", "path_prefix": "team/etl"}, 201),
        ({"role": "viewer", "path_prefix": "team"}, 201),
        ({"role": "viewer", "path_prefix": "teamwork"}, 403),
        ({"role": "viewer"}, 403),
        ({"role": "admin"}, 403),
        ({"role": "worker"}, 403),
        ({"role": "worker", "pool": "gpu"}, 403),
    ],
)
async def test_an_admin_of_a_path_makes_tokens_for_that_path_only(api, body, status):
    headers = bearing(await api.token(role="admin", path_prefix="team"))

    found, _ = await api.ask("POST", TOKENS, body, role="none", headers=headers)

    assert found == status


async def test_an_admin_of_a_path_sees_and_revokes_tokens_of_that_path_only(api):
    headers = bearing(await api.token(role="admin", path_prefix="team", label="lead"))
    _, everything = await api.ask("GET", TOKENS)
    other = next(row["id"] for row in everything["tokens"] if row["role"] == "worker")

    _, listed = await api.ask("GET", TOKENS, role="none", headers=headers)
    status, _ = await api.ask("DELETE", f"{TOKENS}/{other}", role="none", headers=headers)

    assert [row["label"] for row in listed["tokens"]] == ["lead"]
    assert status == 403
