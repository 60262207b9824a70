"""Tokens and sessions over a store that several servers share, and the verbs over it."""

import asyncio
import json

import pytest

from noetl.clock import SystemClock
from noetl.errors import Forbidden
from noetl.identity import first_tokens, token_files
from noetl.identity.roles import ADMIN, WORKER
from noetl.stores.postgres import PostgresStore
from tests.cli.running import noetl
from tests.identity.access_parts import World, profile

SERVERS = 8


@pytest.fixture
async def stores(database_url):
    """One store for each server, over one empty room of tokens."""
    opened = [await PostgresStore.open(database_url) for _ in range(SERVERS)]
    for room in ("token", "session", "worker"):
        for record in await opened[0].records(room):
            await opened[0].remove_record(room, record.name)
    yield opened
    for store in opened:
        await store.close()


async def test_servers_that_start_at_once_in_one_home_agree_on_its_tokens(stores, tmp_path):
    worlds = [World(store, SystemClock(), seed=str(number)) for number, store in enumerate(stores)]

    await asyncio.gather(*(first_tokens.ensure(world.tokens, tmp_path / "home") for world in worlds))

    token = token_files.read_own(tmp_path / "home" / "server.token")
    roles = {(await world.tokens.identify(token)).role for world in worlds}
    assert roles == {ADMIN}
    assert sorted(row["role"] for row in await worlds[0].tokens.listed()) == [ADMIN, WORKER]


async def test_of_many_that_claim_one_workers_name_one_pool_gets_it(stores, tmp_path):
    worlds = [World(store, SystemClock(), seed=str(number)) for number, store in enumerate(stores)]
    await first_tokens.ensure(worlds[0].tokens, tmp_path / "home")
    token = token_files.read_own(tmp_path / "home" / "worker.token")
    pools = [f"pool{number}" for number in range(SERVERS)]

    answers = await asyncio.gather(
        *(world.sessions.enrol(token, profile(pool=pool)) for world, pool in zip(worlds, pools, strict=True)),
        return_exceptions=True,
    )

    taken = [pool for pool, answer in zip(pools, answers, strict=True) if not isinstance(answer, Exception)]
    (seen,) = await worlds[0].sessions.roster.list()
    assert taken == [seen.profile.pool]
    assert {type(answer) for answer in answers if isinstance(answer, Exception)} == {Forbidden}


async def test_the_verbs_make_and_revoke_tokens_of_a_shared_store(stores, database_url, tmp_path):
    made = await asyncio.to_thread(
        noetl, "token", "create", "--role", "viewer", "--format", "json", "--store", database_url, home=tmp_path
    )
    token = json.loads(made.stdout)
    world = World(stores[0], SystemClock())
    identity = await world.tokens.identify(token["token"])

    revoked = await asyncio.to_thread(noetl, "token", "revoke", token["id"], "--store", database_url, home=tmp_path)

    assert (identity.role, identity.token_id) == ("viewer", token["id"])
    assert revoked.returncode == 0, revoked.stderr
    assert await World(stores[1], SystemClock()).tokens.has_any("viewer") is False
