"""What somebody can do who holds a worker's session, a copy of the database, or the right to write playbooks
(security 12, 22, 26)."""

import asyncio
import json
import logging
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from noetl.control import worker_service
from noetl.control.live import folded
from noetl.errors import Forbidden, Unauthenticated, Unreachable
from noetl.identity.tokens import PREFIX, REMEMBERED_SECONDS, Grant
from noetl.keychain.opening import open_keychain
from noetl.queues.contract import Member, Profile
from tests.integration.cluster_canaries import tables
from tests.integration.servers import Server, serving

pytestmark = pytest.mark.slow

POLL_SECONDS = 5.0
SECRETS = {"NOETL_SECRET_DB": '{"value": "s3cret-of-db"}', "NOETL_SECRET_OTHER": '{"value": "s3cret-of-other"}'}
USES_DB = """
keychain: [{name: db, kind: secret_manager}]
workflow: [{step: only, spec: {pool: %s}, tool: {kind: noop}}]
"""
USES_OTHER = USES_DB.replace("name: db", "name: other")
ONE = "workflow: [{step: only, spec: {pool: %s}, tool: {kind: noop}}]"
CALLS_ITSELF = "workflow: [{step: again, tool: {kind: playbook, path: bombs/again}}]"


def entrusted(server: Server, *allowed: str) -> Server:
    """The server with credentials."""
    keychain = open_keychain(server.settings, SECRETS, server.cluster.clock)
    server.cluster.desk.keychain = server.cluster.service.keychain = keychain
    server.cluster.service.allowed = allowed or ("*",)
    return server


async def member_of(server: Server, worker: str, pool: str = "default", **grant: Any) -> Member:
    """A worker that was let in."""
    issued = await server.cluster.tokens.create(Grant(role="worker", **grant), by="test")
    profile = Profile(worker=f"{worker}-{uuid4().hex[:6]}", pool=pool, slots=1, host="h", pid=1, version="0")
    session = await server.cluster.service.enrol(issued.token, profile)
    return await server.cluster.service.member(session.token)


@pytest.mark.spec("RO-03", "KC-01")
async def test_a_worker_gets_only_what_the_job_it_holds_declares(
    database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        service = entrusted(server, "cpu:*").cluster.service
        mine, thief = await member_of(server, "mine", "cpu"), await member_of(server, "thief", "gpu")
        await server.start(USES_DB % "cpu", "uses/db")
        [work] = await service.poll(mine, 1, POLL_SECONDS)
        await server.start(USES_OTHER % "cpu", "uses/other")
        await server.start(USES_DB % "gpu", "uses/db_on_gpu")
        [theirs] = await service.poll(thief, 10, POLL_SECONDS)

        with caplog.at_level(logging.INFO, "noetl.audit"):
            given = await service.credential(mine, work.key, work.lease, "db")
            for member, key, lease, name, why in (
                (mine, work.key, work.lease, "other", "declares no credential"),
                (mine, work.key, work.lease + 1, "db", "does not hold that job"),
                (mine, theirs.key, theirs.lease, "db", "does not hold that job"),
                (thief, work.key, work.lease, "db", "does not hold that job"),
                (thief, theirs.key, theirs.lease, "db", "keychain.pools_allow"),
            ):
                with pytest.raises(Forbidden, match=why):
                    await service.credential(member, key, lease, name)

        deeds = [(line.deed, line.who, line.credential) for line in caplog.records if "credential" in line.deed]
        assert given["value"] == "s3cret-of-db"
        assert deeds[0] == ("credential_resolved", f"worker {mine.worker}", "db")
        assert [deed for deed, _, _ in deeds[1:]] == ["credential_refused"] * 5
        assert "s3cret" not in json.dumps([str(vars(line)) for line in caplog.records])


@pytest.mark.spec("RO-03")
async def test_a_worker_neither_extends_nor_gives_back_what_another_holds(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        service = server.cluster.service
        mine, thief = await member_of(server, "mine", "held"), await member_of(server, "thief", "held")
        await server.start(ONE % "held")
        [work] = await service.poll(mine, 1, POLL_SECONDS)

        gone = await service.heartbeat(thief, [(work.key, work.lease)])
        await service.release(thief, [(work.key, work.lease)])

        assert gone == [work.key]
        assert await service.heartbeat(mine, [(work.key, work.lease)]) == []


async def test_a_stolen_session_ends_with_the_token_it_began_with(database_url: str, tmp_path: Path) -> None:
    async with (
        serving(database_url, tmp_path, "one", is_working=False) as one,
        serving(database_url, tmp_path, "two", is_working=False) as two,
    ):
        issued = await one.cluster.tokens.create(Grant(role="worker"), by="test")
        profile = Profile(worker="w", pool="default", slots=1, host="h", pid=1, version="0")
        stolen = (await one.cluster.service.enrol(issued.token, profile)).token
        await two.cluster.service.member(stolen)

        await one.cluster.tokens.revoke(issued.row["id"], by="test")

        with pytest.raises(Unauthenticated, match="was revoked"):
            await one.cluster.service.member(stolen)
        two.cluster.tokens._remembered.clear()  # as it does by itself after REMEMBERED_SECONDS
        with pytest.raises(Unauthenticated, match="was revoked"):
            await two.cluster.service.member(stolen)
        assert REMEMBERED_SECONDS <= 30


async def test_one_worker_cannot_take_all_places_where_polls_wait(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_service, "POLLS_MAX", 3)
    async with serving(database_url, tmp_path, is_working=False) as server:
        service = server.cluster.service
        greedy, modest = await member_of(server, "greedy"), await member_of(server, "modest")

        polls = [service.poll(greedy, 1, 0.2) for _ in range(5)]
        answers = await asyncio.gather(*polls, service.poll(modest, 1, 0.2), return_exceptions=True)

        assert [type(answer) for answer in answers] == [list] * 3 + [Unreachable] * 2 + [list]
        assert await service.poll(greedy, 1, 0.01) == []


# --- a copy of the database ------------------------------------------------------------------------------------------


async def test_nothing_in_a_copy_of_the_database_opens_a_door(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        member = await member_of(server, "w")
        issued = await server.cluster.tokens.create(Grant(role="admin", label="boss"), by="test")
        copy = b"\n".join([data for _, data in await asyncio.to_thread(lambda: list(tables(database_url)))]).decode(
            "utf-8", "replace"
        )
        words = set(re.findall(r"[A-Za-z0-9_+/=-]{20,}", copy))

        opened = [word for word in words if await opens(server, member.worker, word)]

        assert issued.row["id"] in copy
        assert len(words) > 3
        assert opened == []


async def opens(server: Server, worker: str, word: str) -> bool:
    """Whether a word is, or can be made into, a token or a session by whoever knows how they look."""
    tries = [word, f"{PREFIX}{word}", f"{PREFIX}{word[:43]}"]
    for token in tries:
        try:
            await server.cluster.tokens.identify(token)
        except Unauthenticated:
            continue
        return True
    for session in (word, f"noetl_session_{word[:43]}.{worker}"):
        try:
            await server.cluster.sessions.member(session)
        except Unauthenticated:
            continue
        return True
    return False


# --- playbooks -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TL-04")
async def test_a_playbook_that_calls_itself_for_ever_ends_with_a_clear_error(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path) as server:
        await server.register(CALLS_ITSELF, "bombs/again")
        execution_id = await server.start(CALLS_ITSELF, "bombs/again")

        row = await server.ended(execution_id)

        deepest = execution_id
        depth = 0
        while children := await server.store.children(deepest):
            deepest, depth = children[0].id, depth + 1
        error = (await folded(server.store, deepest)).error or {}
        assert (row.status, depth) == ("failed", 32)
        assert "children may be nested 32 deep" in str(error.get("message"))
        assert await server.store.jobs(execution_id) == []
