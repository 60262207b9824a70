"""Worker sessions: short, bound to one worker and its pool, ended with the token they began with (security 12)."""

import logging

import msgspec
import pytest

from noetl.errors import Forbidden, RequestError, Unauthenticated
from noetl.identity.roles import ADMIN, WORKER
from noetl.identity.roster import KEPT_SECONDS, SILENT_SECONDS, WRITTEN_EVERY_SECONDS
from noetl.identity.sessions import LIFE_SECONDS, PER_WORKER_MAX
from noetl.identity.tokens import LEEWAY_SECONDS, REMEMBERED_SECONDS, Grant
from noetl.queues.contract import Member
from tests.identity.access_parts import HOUR_SECONDS, World, profile

HOST_A = Member(worker="host-1-a", pool="default")


@pytest.fixture
def world():
    return World()


async def token_of(world, role=WORKER, **grant):
    return (await world.tokens.create(Grant(role=role, **grant), "a test")).token


async def test_a_session_says_which_worker_of_which_pool_shows_it(world):
    session = await world.sessions.enrol(await token_of(world), profile(pool="gpu"))

    assert await world.sessions.member(session.token) == Member(worker="host-1-a", pool="gpu")
    assert await world.another_server().sessions.member(session.token) == Member(worker="host-1-a", pool="gpu")


async def test_a_session_keeps_the_key_that_its_worker_enrolled_with(world):
    token, keys = await token_of(world), (b"1" * 32, b"2" * 32)

    sessions = [await world.sessions.enrol(token, profile(public_key=key)) for key in keys]

    members = [await world.another_server().sessions.member(session.token) for session in sessions]
    assert [member.public_key for member in members] == list(keys)


async def test_a_session_lasts_an_hour_at_most(world):
    session = await world.sessions.enrol(await token_of(world), profile())
    world.clock.seconds += HOUR_SECONDS - 1
    await world.sessions.member(session.token)

    world.clock.seconds += 1

    with pytest.raises(Unauthenticated, match="enrol again"):
        await world.sessions.member(session.token)
    assert session.expires_at == world.clock.now() - LEEWAY_SECONDS


async def test_enrolling_again_renews_and_the_old_session_lasts_while_it_is_in_use(world):
    token = await token_of(world)
    first = await world.sessions.enrol(token, profile())
    world.clock.seconds += LIFE_SECONDS / 2

    second = await world.sessions.enrol(token, profile())

    assert await world.sessions.member(first.token) == await world.sessions.member(second.token) == HOST_A
    assert second.expires_at > first.expires_at


async def test_a_worker_that_enrols_again_and_again_keeps_its_newest_sessions(world):
    token = await token_of(world)
    sessions = []
    for _ in range(PER_WORKER_MAX + 2):
        sessions.append(await world.sessions.enrol(token, profile()))
        world.clock.seconds += 1

    kept = [record.name for record in await world.records.records("session")]

    assert len(kept) == PER_WORKER_MAX
    with pytest.raises(Unauthenticated):
        await world.sessions.member(sessions[0].token)
    assert await world.sessions.member(sessions[-1].token)


async def test_only_a_token_for_workers_opens_a_session(world):
    token = await token_of(world, ADMIN)

    with pytest.raises(Forbidden, match="role worker"):
        await world.sessions.enrol(token, profile())


async def test_a_token_for_one_pool_opens_no_other(world):
    token = await token_of(world, pool="gpu")
    await world.sessions.enrol(token, profile(pool="gpu"))

    with pytest.raises(Forbidden, match='for pool "gpu"'):
        await world.sessions.enrol(token, profile("host-2-b", pool="default"))


@pytest.mark.parametrize("grant", [{"pool": "default"}, {}])
async def test_a_worker_cannot_take_the_name_of_one_of_another_token(world, grant):
    await world.sessions.enrol(await token_of(world, pool="gpu"), profile(pool="gpu"))
    other = await token_of(world, **grant)

    with pytest.raises(Forbidden, match="choose another"):
        await world.another_server().sessions.enrol(other, profile())


async def test_a_name_is_free_again_when_its_token_was_revoked(world):
    token = await token_of(world)
    await world.sessions.enrol(token, profile())
    await world.tokens.revoke((await world.tokens.identify(token)).token_id, "ops")

    session = await world.sessions.enrol(await token_of(world), profile())

    assert await world.sessions.member(session.token) == HOST_A


async def test_sessions_end_with_the_token_that_they_began_with(world):
    token = await token_of(world)
    session = await world.sessions.enrol(token, profile())
    other = world.another_server()
    await other.sessions.member(session.token)

    await world.tokens.revoke((await world.tokens.identify(token)).token_id, "ops")

    with pytest.raises(Unauthenticated, match="was revoked"):
        await world.sessions.member(session.token)
    world.clock.seconds += REMEMBERED_SECONDS
    with pytest.raises(Unauthenticated, match="was revoked"):
        await other.sessions.member(session.token)


async def test_a_worker_that_leaves_leaves_nothing_behind(world):
    token = await token_of(world)
    session = await world.sessions.enrol(token, profile())
    namesake = await world.sessions.enrol(token, profile("host-1-a.b"))

    await world.sessions.leave(HOST_A)

    with pytest.raises(Unauthenticated):
        await world.sessions.member(session.token)
    assert (await world.sessions.member(namesake.token)).worker == "host-1-a.b"
    assert [seen.profile.worker for seen in await world.sessions.roster.list()] == ["host-1-a.b"]


@pytest.mark.parametrize("spoilt", ["", "noetl_session_", "noetl_" + "A" * 43, "x" * 10_000])
async def test_what_is_no_session_is_refused(world, spoilt):
    await world.sessions.enrol(await token_of(world), profile())

    with pytest.raises(Unauthenticated):
        await world.sessions.member(spoilt)


async def test_a_session_cannot_be_bent_to_another_workers_name(world):
    token = await token_of(world)
    session = await world.sessions.enrol(token, profile())
    await world.sessions.enrol(token, profile("host-2-b"))

    with pytest.raises(Unauthenticated):
        await world.sessions.member(session.token.replace("host-1-a", "host-2-b"))


@pytest.mark.parametrize(
    "said",
    [
        profile("a/b"),
        profile(""),
        profile("a" * 129),
        profile(pool="g p u"),
        profile(kinds=("k" * 300,)),
        profile(public_key=b"k"),
    ],
)
async def test_a_profile_that_nobody_could_use_is_refused(world, said):
    token = await token_of(world)

    with pytest.raises(RequestError):
        await world.sessions.enrol(token, said)

    assert await world.sessions.roster.list() == []


async def test_neither_token_nor_session_is_kept_or_logged(world, caplog):
    with caplog.at_level(logging.INFO, "noetl"):
        token = await token_of(world)
        session = await world.sessions.enrol(token, profile())

    kept = [await world.records.records(room) for room in ("token", "session", "worker")]
    written = msgspec.json.encode(kept).decode() + "".join(str(vars(line)) for line in caplog.records)
    secrets = (token.removeprefix("noetl_"), session.token.removeprefix("noetl_session_").partition(".")[0])
    assert "worker_enrolled" in written
    assert not any(secret in written for secret in secrets)


async def test_expired_sessions_and_silent_workers_are_swept(world):
    await world.sessions.enrol(await token_of(world), profile())
    world.clock.seconds += HOUR_SECONDS

    swept = await world.sessions.sweep()

    assert swept == 2
    assert [await world.records.records(room) for room in ("session", "worker")] == [[], []]


# --- the roster ------------------------------------------------------------------------------------------------------


async def test_the_roster_knows_who_is_there_and_what_they_hold(world):
    await world.sessions.enrol(await token_of(world), profile(kinds=("http", "python")))

    await world.sessions.roster.seen(HOST_A, 3)

    (seen,) = await world.sessions.roster.list()
    assert (seen.profile, seen.jobs, seen.seen_at) == (profile(kinds=("http", "python")), 3, world.clock.now())
    assert world.sessions.roster.is_alive(seen)


async def test_a_worker_that_speaks_often_is_written_down_seldom(world):
    await world.sessions.enrol(await token_of(world), profile())
    versions = []
    for _ in range(5):
        await world.sessions.roster.seen(HOST_A, 1)
        versions.append((await world.records.record("worker", "host-1-a")).version)
        world.clock.seconds += WRITTEN_EVERY_SECONDS / 2

    assert versions == [2, 2, 3, 3, 4]


async def test_a_silent_worker_is_not_alive_and_is_swept_after_an_hour(world):
    await world.sessions.enrol(await token_of(world), profile())
    roster = world.sessions.roster
    world.clock.seconds += SILENT_SECONDS
    (silent,) = await roster.list()
    assert not roster.is_alive(silent)

    world.clock.seconds += KEPT_SECONDS - SILENT_SECONDS

    assert await roster.sweep() == 1
    assert await roster.list() == []


async def test_two_servers_that_hear_a_worker_at_once_both_go_on(world):
    await world.sessions.enrol(await token_of(world), profile())

    await world.sessions.roster.seen(HOST_A, 1)
    await world.another_server().sessions.roster.seen(HOST_A, 2)

    (seen,) = await world.sessions.roster.list()
    assert seen.jobs == 2
