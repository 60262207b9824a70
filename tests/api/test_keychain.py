"""Credentials over the API: in, and never out (security 13, 14)."""

import json

from noetl.api import keychain
from tests.control.parts import text_of
from tests.stores.unpacked import unpacked

SECRET = "correct-horse-battery-staple"
BODY = {"kind": "bearer", "fields": {"token": SECRET}}
KEYCHAIN = "/api/v1/keychain"


async def test_what_is_stored_can_be_used_and_listed_and_not_read(api, tmp_path):
    _, kept = await api.ask("PUT", f"{KEYCHAIN}/orders_api", BODY)
    _, replaced = await api.ask("PUT", f"{KEYCHAIN}/orders_api", BODY)
    _, listed = await api.ask("GET", KEYCHAIN, role="author")
    _, proof = await api.ask("POST", f"{KEYCHAIN}/orders_api/test", {})

    assert (kept["name"], kept["kind"], kept["version"], kept["fields"]) == ("orders_api", "bearer", 1, ["token"])
    assert listed["credentials"] == [{**replaced, "is_stored": True, "used_by": [], "uses": 0}]
    assert (replaced["version"], proof["is_ok"]) == (2, True)
    assert SECRET not in json.dumps([kept, replaced, listed, proof])
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and SECRET.encode() in unpacked(file)]


async def test_a_name_may_hold_a_slash(api):
    await api.ask("PUT", f"{KEYCHAIN}/team%2Forders", BODY)

    status, _ = await api.ask("DELETE", f"{KEYCHAIN}/team%2Forders")

    assert status == 204
    assert (await api.ask("GET", KEYCHAIN))[1] == {"credentials": [], "missing": []}


async def test_what_is_not_there_cannot_be_removed_or_tried(api):
    for method, path, body in (("DELETE", f"{KEYCHAIN}/none", None), ("POST", f"{KEYCHAIN}/none/test", {})):
        status, problem = await api.ask(method, path, body)
        assert (status, problem["code"]) == (404, "unknown-credential")


async def test_a_server_without_the_keys_says_so_and_keeps_nothing(api, tmp_path):
    await api.ask("PUT", f"{KEYCHAIN}/orders_api", BODY)
    (tmp_path / "keychain.keys").unlink()

    status, problem = await api.ask("PUT", f"{KEYCHAIN}/other", BODY)

    assert (status, problem["code"]) == (503, "keychain-unusable")
    assert "keychain.keys" in problem["detail"]
    assert [row["name"] for row in (await api.ask("GET", KEYCHAIN))[1]["credentials"]] == ["orders_api"]


async def test_a_refusal_does_not_repeat_what_was_sent(api):
    bodies = (
        {"kind": SECRET, "fields": {"token": SECRET}},
        {"kind": "bearer", "fields": {"tokn": SECRET}},
        {"kind": "bearer", "fields": SECRET},
        {"kind": "basic", "fields": {"password": SECRET}},
    )

    for body in bodies:
        status, _, answer = await api.raw("PUT", f"{KEYCHAIN}/x", body)
        assert status == 400, answer
        assert SECRET.encode() not in answer


async def test_who_stores_and_removes_is_in_the_log(api, tmp_path):
    await api.ask("PUT", f"{KEYCHAIN}/orders_api", BODY)
    await api.ask("DELETE", f"{KEYCHAIN}/orders_api")

    lines = [json.loads(line) for line in (tmp_path / "noetl.log").read_text().splitlines()]
    deeds = [(line["deed"], line["credential"]) for line in lines if line.get("credential")]
    assert deeds == [("credential_stored", "orders_api"), ("credential_removed", "orders_api")]


# --- who uses what ---------------------------------------------------------------------------------------------------

NEEDY = """
keychain:
  - {{name: {name}, kind: bearer}}
  - {{name: remote_{name}, kind: bearer, provider: vault, path: secret/a}}
workflow: [{{step: start, tool: {{kind: noop}}}}]
"""
PLAIN = "workflow: [{step: start, tool: {kind: noop}}]"


async def register(api, name, body):
    status, found = await api.ask("POST", "/api/v1/catalog", {"text": text_of(body, name).decode()})
    assert status == 201, found


async def used(api, role="author"):
    _, listed = await api.ask("GET", KEYCHAIN, role=role)
    stored = {row["name"]: row["used_by"] for row in listed["credentials"]}
    missing = {row["name"]: row["used_by"] for row in listed["missing"]}
    return stored, missing


async def test_credentials_tell_which_playbooks_declare_them_in_their_newest_version(api):
    await api.ask("PUT", f"{KEYCHAIN}/orders_api", BODY)
    for path in ("team/a", "team/b"):
        await register(api, path, NEEDY.format(name="orders_api"))
    await register(api, "team/c", NEEDY.format(name="stock"))
    before = await used(api)
    await register(api, "team/b", PLAIN)
    await register(api, "team/c", NEEDY.format(name="other"))

    after = await used(api)

    assert before == (
        {"orders_api": ["team/a", "team/b"]},
        {"remote_orders_api": ["team/a", "team/b"], "remote_stock": ["team/c"], "stock": ["team/c"]},
    )
    assert after == (
        {"orders_api": ["team/a"]},
        {"other": ["team/c"], "remote_orders_api": ["team/a"], "remote_other": ["team/c"]},
    )


async def test_what_nobody_stored_tells_its_kind_and_whom_to_ask_instead(api):
    await register(api, "a", NEEDY.format(name="stock"))

    _, listed = await api.ask("GET", KEYCHAIN, role="author")

    assert listed["missing"] == [
        {
            "name": "remote_stock",
            "kind": "bearer",
            "provider": "vault",
            "is_stored": False,
            "used_by": ["a"],
            "uses": 1,
        },
        {"name": "stock", "kind": "bearer", "provider": None, "is_stored": False, "used_by": ["a"], "uses": 1},
    ]


async def test_a_token_of_a_path_learns_of_no_playbook_outside_of_it(api):
    await api.ask("PUT", f"{KEYCHAIN}/orders_api", BODY)
    await register(api, "team/a", NEEDY.format(name="orders_api"))
    await register(api, "teams", NEEDY.format(name="orders_api"))
    await register(api, "other", NEEDY.format(name="hidden"))
    api.tokens["team"] = await api.token(role="author", path_prefix="team")

    assert await used(api, "team") == ({"orders_api": ["team/a"]}, {"remote_orders_api": ["team/a"]})


async def test_a_credential_that_many_use_names_some_and_counts_all(api, monkeypatch):
    monkeypatch.setattr(keychain, "USED_BY_MAX", 2)
    for number in range(5):
        await register(api, f"team/{number}", NEEDY.format(name="stock"))

    _, listed = await api.ask("GET", KEYCHAIN)

    assert (listed["missing"][1]["used_by"], listed["missing"][1]["uses"]) == (["team/0", "team/1"], 5)
