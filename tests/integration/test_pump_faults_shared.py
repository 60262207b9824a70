"""A server whose store fails at any moment: before a call is done, after it was done, or late (protocol §5, §9).

Small executions of every kind run while calls fail. Whoever waits asks again, as clients and workers do. When the
faults stop everything must end, once, and every log must hold.
"""

import asyncio
import logging
import random
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from noetl.control.live import folded
from noetl.control.verify import verify
from noetl.engine.events import NAMES
from noetl.errors import PASSING, WrongState
from noetl.runner import execute
from noetl.stores.contract import INCIDENT, LIVE
from noetl.stores.postgres import PostgresStore
from tests.integration.faulty import AFTER, BEFORE, FROZEN, LATE, WELL, Faults, FaultyStore
from tests.integration.servers import Server, serving

pytestmark = pytest.mark.slow

LEASE_SECONDS = 1.0
SECONDS_MAX = 30.0
FAULTS_MIN, FAULTS_MAX = 4, 20
LOOK_SECONDS = 0.02
BODIES = {
    "loop": """
    workflow:
      - step: each
        loop: {in: "{{ range(12) }}", iterator: n, spec: {mode: parallel, max_in_flight: 4}}
        tool: {kind: noop}
        next: {arcs: [{step: after}]}
      - step: after
        tool: {kind: noop}
        set: {ctx.seen: "{{ each.loop.done }}"}
    """,
    "chain": """
    workflow:
      - {step: a, tool: {kind: noop}, next: {arcs: [{step: b}]}}
      - {step: b, tool: {kind: noop}, next: {arcs: [{step: c}]}}
      - {step: c, tool: {kind: noop}, set: {ctx.seen: 12}}
    """,
    "call": """
    workflow:
      - step: call
        tool: {kind: playbook, path: faults/child}
        set: {ctx.seen: "{{ 12 if output.status == 'ok' else 0 }}"}
    """,
    "retry": """
    workflow:
      - step: again
        tool:
          - name: often
            kind: noop
            spec: {policy: {rules: [{when: "{{ _attempt < 3 }}", then: {do: retry, attempts: 3, delay: 0}}]}}
        set: {ctx.seen: 12}
    """,
    "park": """
    workflow:
      - step: later
        tool:
          - name: twice
            kind: noop
            spec: {policy: {rules: [{when: "{{ _attempt < 2 }}", then: {do: retry, attempts: 2, delay: 0.3}}]}}
        set: {ctx.seen: 12}
    """,
    "spill": """
    executor: {spec: {policy: {limits: {max_payload_bytes: 4096}}}}
    workflow:
      - step: each
        loop: {in: "{{ range(12) }}", iterator: n, spec: {mode: parallel}}
        tool: {kind: shell, command: "printf '%0700d' 7"}
        next: {arcs: [{step: after}]}
      - step: after
        tool: {kind: noop}
        set: {ctx.seen: "{{ each.loop.done }}"}
    """,
}
CHILD = "workflow: [{step: only, tool: {kind: noop}, next: {arcs: [{step: more}]}}, {step: more, tool: {kind: noop}}]"
ENDLESS = """
workflow: [{step: call, tool: {kind: playbook, path: faults/endless}}]
"""
ENDLESS_CHILD = """
workflow: [{step: only, tool: [{name: long, kind: noop,
  spec: {policy: {rules: [{else: {then: {do: retry, attempts: 1000, delay: 100}}}]}}}]}]
"""


@pytest.fixture(autouse=True)
def short_parks(short_waits: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that waits is parked early, so that parking is under fire too."""
    monkeypatch.setattr(execute, "PARK_AFTER_SECONDS", 0.2)


async def insisted(ask: Callable[[], Any]) -> Any:
    """As a client does: ask until it is answered."""
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            try:
                return await ask()
            except PASSING:
                await asyncio.sleep(LOOK_SECONDS)


async def started(server: Server, name: str, body: str, key: str) -> int:
    return await insisted(lambda: server.start(body, name=f"faults/{name}", request_key=key))


async def cancelled(server: Server, execution_id: int) -> None:
    with suppress(WrongState):  # an attempt before stands, and nobody knew
        await insisted(lambda: server.desk.cancel(execution_id, "enough"))


async def all_ended(eye: PostgresStore, ids: list[int]) -> dict[int, str]:
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            rows = [await eye.execution(execution_id) for execution_id in ids]
            statuses = {row.id: row.status for row in rows if row is not None}
            if not set(statuses.values()) & {*LIVE} - {INCIDENT}:
                return statuses
            await asyncio.sleep(LOOK_SECONDS)


async def assert_sound(eye: PostgresStore, execution_id: int) -> None:
    found = await verify(eye, execution_id)
    assert found["is_equal"], [check for check in found["checks"] if not check["ok"]]
    assert await eye.jobs(execution_id) == []


async def told(eye: PostgresStore, execution_id: int) -> str:
    """A log, for whoever reads a failed test."""
    events = [NAMES[type(event)] for _, event in await eye.events(execution_id, limit=500)]
    return f"{execution_id}: {events}, jobs {await eye.jobs(execution_id)}"


PLANS = [
    pytest.param(lambda seed: mixed(seed, {BEFORE: 0.2}), id="before"),
    pytest.param(lambda seed: mixed(seed, {AFTER: 0.2}), id="after"),
    pytest.param(lambda seed: mixed(seed, {LATE: 0.2}), id="late"),
    pytest.param(lambda seed: mixed(seed, {BEFORE: 0.1, AFTER: 0.1, LATE: 0.1}), id="all"),
]


def mixed(seed: int, parts: dict[str, float]) -> Callable[[int], str]:
    chance = random.Random(seed)

    def plan(_number: int) -> str:
        found = chance.random()
        for word, part in parts.items():
            if (found := found - part) < 0:
                return word
        return WELL

    return plan


@pytest.mark.spec("RO-03", "EV-05", "TL-04")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("plan_of", PLANS)
async def test_whatever_call_to_the_store_fails_everything_ends_once(
    database_url: str,
    eye: PostgresStore,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    plan_of: Callable[[int], Callable[[int], str]],
    seed: int,
) -> None:
    caplog.set_level(logging.ERROR)
    faults = Faults(plan_of(seed), FAULTS_MAX)
    store = await FaultyStore.over(database_url, LEASE_SECONDS, faults)
    async with serving(database_url, tmp_path, lease_seconds=LEASE_SECONDS, store=store) as server:
        await server.register(CHILD, "faults/child")
        await server.register(ENDLESS_CHILD, "faults/endless")
        run = f"{plan_of(0)!r}{seed}"
        faults.has_begun = True

        starts = [started(server, name, body, f"{run}{name}") for name, body in BODIES.items()]
        ids = await asyncio.gather(*starts)
        endless = await started(server, "endless-caller", ENDLESS, f"{run}endless")
        await cancelled(server, endless)
        statuses = await all_ended(eye, [*ids, endless])
        children = [child for caller in (*ids, endless) for child in await eye.children(caller)]
        ended = await all_ended(eye, [child.id for child in children])

        assert list(statuses.values()) == ["success"] * len(ids) + ["cancelled"], [
            await told(eye, execution_id) for execution_id, status in statuses.items() if status != "success"
        ]
        assert faults.made >= FAULTS_MIN
        assert [(await folded(eye, execution_id)).ctx for execution_id in ids] == [{"seen": 12}] * len(ids)
        assert set(ended.values()) <= {"success", "cancelled"}
        for execution_id in (*statuses, *ended):
            await assert_sound(eye, execution_id)
        assert [record.message for record in caplog.records if "strand" in str(getattr(record, "action", ""))] == []


# --- a server that stands still --------------------------------------------------------------------------------------

FROZEN_AT = (25, 45, 70)  # of its calls


class Zombie:
    """A server with a worker, in a thread with an event loop of its own, which stands still after some of its calls."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.faults = Faults(lambda number: FROZEN if number in FROZEN_AT else WELL, len(FROZEN_AT))
        self.is_there, self.is_over = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        store = await FaultyStore.over(self.url, LEASE_SECONDS, self.faults)
        async with serving(self.url, self.folder, "zombie", lease_seconds=LEASE_SECONDS, store=store):
            self.faults.has_begun = True
            self.is_there.set()
            await asyncio.to_thread(self.is_over.wait)

    async def __aenter__(self) -> "Zombie":
        self.thread.start()
        assert await asyncio.to_thread(self.is_there.wait, SECONDS_MAX)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.is_over.set()
        await asyncio.to_thread(self.thread.join, SECONDS_MAX)


@pytest.mark.spec("RO-03", "EV-05")
async def test_a_server_that_stood_still_for_longer_than_a_lease_spoils_nothing(
    database_url: str, eye: PostgresStore, tmp_path: Path
) -> None:
    async with (
        Zombie(database_url, tmp_path) as zombie,
        serving(database_url, tmp_path, "other", lease_seconds=LEASE_SECONDS) as server,
    ):
        await server.register(CHILD, "faults/child")

        named = [(f"{name}{turn}", body) for turn in range(3) for name, body in BODIES.items()]
        ids = [await started(server, name, body, f"zombie{name}") for name, body in named]
        statuses = await all_ended(eye, ids)
        async with asyncio.timeout(SECONDS_MAX):
            while not zombie.faults.is_over:
                await asyncio.sleep(LOOK_SECONDS)
        children = [child.id for caller in ids for child in await eye.children(caller)]

        assert set(statuses.values()) == {"success"}
        assert len(children) == 3
        for execution_id in (*ids, *children):
            await assert_sound(eye, execution_id)
