"""Tokens: made once, known by their hash, refused when they have ended (security 12, 17, 26)."""

import hashlib
import logging
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from noetl.errors import RequestError, TokenUnusable, Unauthenticated
from noetl.identity import first_tokens, token_files
from noetl.identity.roles import ADMIN, AUTHOR, RANKS, RUNNER, VIEWER, WORKER, Identity
from noetl.identity.tokens import LEEWAY_SECONDS, REMEMBERED_MAX, REMEMBERED_SECONDS, Grant, Tokens
from tests.identity.access_parts import World


@pytest.fixture
def world():
    return World()


async def made(world, role=RUNNER, **grant):
    return await world.tokens.create(Grant(role=role, **grant), "a test")


# --- what a token is -------------------------------------------------------------------------------------------------


async def test_a_token_says_who_shows_it(world):
    issued = await made(world, label="nightly", path_prefix="team/etl")

    found = await world.tokens.identify(issued.token)

    assert found == Identity(name="nightly", role=RUNNER, path_prefix="team/etl", token_id=issued.row["id"])


async def test_a_token_has_256_bits_and_a_beginning_that_scanners_know(world):
    issued = await made(world)

    assert issued.token.startswith("noetl_")
    assert len(issued.token) - len("noetl_") == 43  # 32 bytes in base64


async def test_the_store_holds_nothing_that_opens_anything(world):
    issued = await made(world)

    kept = await world.records.records("token")

    assert [record.name for record in kept] == [hashlib.sha256(issued.token.encode()).hexdigest()]
    assert issued.token[len("noetl_") :].encode() not in b"".join(msgspec.json.encode(record) for record in kept)


async def test_a_list_shows_what_tokens_are_for_and_never_one(world):
    runner, admin = await made(world, label="nightly"), await made(world, ADMIN)

    rows = await world.tokens.listed()

    assert {(row["role"], row["label"], row["status"]) for row in rows} == {
        ("runner", "nightly", "active"),
        ("admin", "admin", "active"),
    }
    assert not any(issued.token in str(rows) or issued.token in repr(issued) for issued in (runner, admin))


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "token", ["", "noetl_", "noetl_" + "A" * 43, "noetl_" + "A" * 44, "Bearer x", "noetl_" + "é" * 43, "x" * 100_000]
)
async def test_what_is_no_token_of_ours_is_refused_in_the_same_words(world, token):
    await made(world)

    with pytest.raises(Unauthenticated, match="not known here, has expired or was revoked"):
        await world.tokens.identify(token)


async def test_a_token_expires_with_a_leeway_for_clocks_that_differ(world):
    issued = await made(world, expires_at=world.clock.now() + 100)
    world.clock.seconds += 100 + LEEWAY_SECONDS - 1
    await world.tokens.identify(issued.token)

    world.clock.seconds += 1

    with pytest.raises(Unauthenticated):
        await world.tokens.identify(issued.token)
    assert [row["status"] for row in await world.tokens.listed()] == ["expired"]


async def test_a_revoked_token_is_refused_at_once(world):
    issued = await made(world)
    await world.tokens.identify(issued.token)

    await world.tokens.revoke(issued.row["id"], "a test")

    with pytest.raises(Unauthenticated):
        await world.tokens.identify(issued.token)


async def test_another_server_hears_of_a_revocation_within_half_a_minute(world):
    issued, other = await made(world), world.another_server()
    await other.tokens.identify(issued.token)

    await world.tokens.revoke(issued.row["id"], "a test")

    assert await other.tokens.identify(issued.token)  # it is still remembered there
    world.clock.seconds += REMEMBERED_SECONDS
    with pytest.raises(Unauthenticated):
        await other.tokens.identify(issued.token)


async def test_revoking_twice_changes_nothing_more(world):
    issued = await made(world)
    first = await world.tokens.revoke(issued.row["id"], "a test")
    world.clock.seconds += 10

    second = await world.tokens.revoke(issued.row["id"], "another test")

    assert second == first


@pytest.mark.parametrize("token_id", ["", "abc", "0" * 12, "../x", "noetl_" + "A" * 43])
async def test_revoking_names_what_is_wrong_and_never_repeats_a_token(world, token_id):
    await made(world)

    with pytest.raises(RequestError) as refused:
        await world.tokens.revoke(token_id, "a test")

    assert "noetl token list" in str(refused.value)
    assert "A" * 43 not in str(refused.value)


@pytest.mark.parametrize(
    ("grant", "says"),
    [
        (Grant(role="root"), "role is one of"),
        (Grant(role=RUNNER, pool="gpu"), "role worker only"),
        (Grant(role=WORKER, pool="g p u"), "role worker only"),
        (Grant(role=WORKER, path_prefix="team"), "not for workers"),
        (Grant(role=RUNNER, path_prefix="../team"), "path prefix"),
        (Grant(role=RUNNER, label="x" * 101), "label"),
        (Grant(role=RUNNER, label="a\x1b[31m"), "label"),
        (Grant(role=RUNNER, expires_at=1.0), "in the future"),
    ],
)
async def test_a_token_that_could_not_be_used_is_not_made(world, grant, says):
    with pytest.raises(RequestError, match=says):
        await world.tokens.create(grant, "a test")

    assert await world.tokens.listed() == []


async def test_strangers_do_not_push_out_those_that_are_remembered(world):
    issued = await made(world)
    await world.tokens.identify(issued.token)

    for number in range(REMEMBERED_MAX + 10):
        with pytest.raises(Unauthenticated):
            await world.tokens.identify(f"noetl_{number:043d}")

    await world.records.remove_record("token", hashlib.sha256(issued.token.encode()).hexdigest())
    assert await world.tokens.identify(issued.token)  # without the store


async def test_what_ended_long_ago_is_swept(world):
    issued, kept = await made(world), await made(world)
    await world.tokens.revoke(issued.row["id"], "a test")
    world.clock.seconds += 31 * 24 * 3600

    swept = await world.tokens.sweep()

    assert swept == 1
    assert [row["id"] for row in await world.tokens.listed()] == [kept.row["id"]]


async def test_making_and_revoking_are_in_the_audit_log_without_the_token(world, caplog):
    with caplog.at_level(logging.INFO, "noetl.audit"):
        issued = await made(world, label="nightly")
        await world.tokens.revoke(issued.row["id"], "ops")

    lines = [(line.action, line.deed, line.who, line.token, line.label) for line in caplog.records]
    token = issued.row["id"]
    assert lines == [
        ("audit", "token_created", "a test", token, "nightly"),
        ("audit", "token_revoked", "ops", token, "nightly"),
    ]
    assert issued.token not in caplog.text


# --- roles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", [*RANKS, WORKER, "", "root"])
def test_a_role_may_what_those_below_it_may_and_a_worker_nothing_of_it(role):
    order = list(RANKS)
    allowed = {wanted for wanted in (*RANKS, WORKER, "root") if Identity(name="x", role=role).may(wanted)}

    expected = {WORKER} if role == WORKER else set(order[: order.index(role) + 1]) if role in RANKS else set()
    assert allowed == expected


@pytest.mark.parametrize(
    ("path", "is_seen"), [("team", True), ("team/a/b", True), ("teamwork", False), ("other", False), ("", False)]
)
def test_a_path_prefix_ends_at_a_slash(path, is_seen):
    assert Identity(name="x", role=VIEWER, path_prefix="team").sees(path) is is_seen
    assert Identity(name="x", role=AUTHOR).sees(path)


# --- the first ones --------------------------------------------------------------------------------------------------


async def test_the_first_start_makes_a_token_for_admins_and_one_for_workers(world, tmp_path):
    files = await first_tokens.ensure(world.tokens, tmp_path / "home")

    roles = {role: (await world.tokens.identify(token_files.read_own(file))).role for role, file in files.items()}
    assert roles == {ADMIN: ADMIN, WORKER: WORKER}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files.values()} == {0o600}
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == ["server.token", "worker.token"]


async def test_servers_that_share_a_home_agree_on_its_tokens(world, tmp_path):
    first = await first_tokens.ensure(world.tokens, tmp_path)
    said = first[ADMIN].read_bytes()

    second = await first_tokens.ensure(world.another_server().tokens, tmp_path)

    assert (second, second[ADMIN].read_bytes()) == (first, said)
    assert len(await world.tokens.listed()) == 2


async def test_a_file_that_another_server_makes_while_one_starts_is_found(world, tmp_path):
    class Interrupted(Tokens):
        """Another server of the same home is through with its start before this one looks into the store."""

        async def has_any(self, role):
            await first_tokens.ensure(world.tokens, tmp_path)
            return await super().has_any(role)

    files = await first_tokens.ensure(Interrupted(world.records, world.clock, world.new_secret), tmp_path)

    assert files == {ADMIN: tmp_path / "server.token", WORKER: tmp_path / "worker.token"}
    assert len(await world.tokens.listed()) == 2


async def test_a_file_of_the_home_opens_a_new_store_too(world, tmp_path):
    await first_tokens.ensure(world.tokens, tmp_path)

    other = World(seed="another store")
    await first_tokens.ensure(other.tokens, tmp_path)

    assert (await other.tokens.identify(token_files.read_own(tmp_path / "server.token"))).role == ADMIN


async def test_another_home_over_a_store_with_tokens_gets_none_and_is_told_so(world, tmp_path, caplog):
    await first_tokens.ensure(world.tokens, tmp_path / "one")

    with caplog.at_level(logging.INFO, "noetl.tokens"):
        found = await first_tokens.ensure(world.another_server().tokens, tmp_path / "two")

    missing = [line.file for line in caplog.records if getattr(line, "action", "") == "token_file_missing"]
    assert found == {}
    assert missing == [str(tmp_path / "two" / name) for name in ("server.token", "worker.token")]
    assert len(await world.tokens.listed()) == 2


async def test_a_revoked_token_file_stays_revoked_and_is_logged(world, tmp_path, caplog):
    files = await first_tokens.ensure(world.tokens, tmp_path)
    token = token_files.read_own(files[ADMIN])
    identity = await world.tokens.identify(token)
    await world.tokens.revoke(identity.token_id, "ops")

    await first_tokens.ensure(world.tokens, tmp_path)

    with pytest.raises(Unauthenticated):
        await world.tokens.identify(token)
    assert [line.file for line in caplog.records if getattr(line, "action", "") == "token_file_useless"] == [
        str(files[ADMIN])
    ]


def test_many_that_make_one_file_at_once_agree_on_what_is_in_it(tmp_path):
    file = tmp_path / "server.token"

    with ThreadPoolExecutor(16) as pool:
        found = set(pool.map(lambda number: token_files.create(file, f"noetl_{number:043d}", str(number)), range(64)))

    assert found == {token_files.read_own(file)}
    assert [path.name for path in tmp_path.iterdir()] == ["server.token"]


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o644, 0o666])
def test_a_token_file_that_others_can_read_is_refused(tmp_path, mode):
    file = tmp_path / "server.token"
    file.write_text("noetl_" + "A" * 43)
    file.chmod(mode)

    with pytest.raises(TokenUnusable, match="chmod 600") as refused:
        token_files.read_own(file)

    assert "A" * 43 not in str(refused.value)


def test_a_token_file_of_the_home_is_no_link_but_one_that_was_named_may_be(tmp_path):
    real, link = tmp_path / "mounted", tmp_path / "server.token"
    real.write_text("noetl_x\n")
    real.chmod(0o640)
    link.symlink_to(real)

    with pytest.raises(TokenUnusable, match="it is a link"):
        token_files.read_own(link)

    assert token_files.read_named(link) == "noetl_x"


@pytest.mark.parametrize("content", [b"", b"\n", b"two words", b"a\0b", b"x" * 5000, b"\xff\xfe"])
async def test_a_token_file_without_a_token_is_refused(world, tmp_path, content):
    file = tmp_path / "server.token"
    file.write_bytes(content)
    file.chmod(0o600)

    with pytest.raises(TokenUnusable, match=r"server\.token"):
        await first_tokens.ensure(world.tokens, tmp_path)


def test_a_pipe_in_place_of_a_token_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "server.token", 0o600)

    with pytest.raises(TokenUnusable, match="it is not a file"):
        token_files.read_own(tmp_path / "server.token")
