"""Credentials over the API: in, and never out (security 13, 14)."""

import json

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
    assert listed == {"credentials": [replaced]}
    assert (replaced["version"], proof["is_ok"]) == (2, True)
    assert SECRET not in json.dumps([kept, replaced, listed, proof])
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and SECRET.encode() in unpacked(file)]


async def test_a_name_may_hold_a_slash(api):
    await api.ask("PUT", f"{KEYCHAIN}/team%2Forders", BODY)

    status, _ = await api.ask("DELETE", f"{KEYCHAIN}/team%2Forders")

    assert status == 204
    assert (await api.ask("GET", KEYCHAIN))[1] == {"credentials": []}


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
