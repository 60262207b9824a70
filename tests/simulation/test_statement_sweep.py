"""Each statement of a run of 50 steps fails once: nothing acknowledged is lost, and every step is done exactly once.

A sample of the statements, every one of their texts among them; NOETL_SWEEP=all takes each single one.
"""

import os
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from noetl.control.live import folded
from noetl.control.requests import Nobody
from noetl.control.verify import verify
from noetl.engine.events import Event, StepDone, TaskDone
from noetl.errors import DiskFull, StoreUnusable
from noetl.stores.contract import Store
from tests.simulation.crash_parts import MEMORY, Ledger, all_ended, at_work, attempt_of, started
from tests.simulation.faulty_statements import (
    AFTER,
    BEFORE,
    DISK_FAILED,
    DISK_FULL,
    EVER_AFTER,
    Statements,
    Trouble,
    failing,
)

pytestmark = pytest.mark.slow

STEPS = 50
STRIDE = 1 if os.environ.get("NOETL_SWEEP") == "all" else 31
KEY = "fifty"
EVENTS_MAX = 10_000


def fifty_steps() -> str:
    """A chain; each step counts itself."""
    lines = [
        f"      - {{step: s{number}, tool: {{kind: noop, input: {{n: {number}}}}}, "
        f'set: {{ctx.count: "{{{{ (ctx.count | default(0)) + 1 }}}}"}}'
        + (f", next: {{arcs: [{{step: s{number + 1}}}]}}}}" if number < STEPS else "}")
        for number in range(1, STEPS + 1)
    ]
    return "\n    workflow:\n" + "\n".join(lines) + "\n"


class Told(Nobody):
    """Remembers how far a log was said to reach."""

    def __init__(self) -> None:
        self.heads: dict[int, int] = {}

    def committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None:
        self.heads[execution_id] = first_seq + len(events) - 1


class Run(NamedTuple):
    """What one process came to."""

    told: Told
    ledger: Ledger


async def run(home: Path) -> Run:
    """One process, as far as it comes: it is asked for the run, or goes on with it."""
    process = Run(Told(), [])
    async with at_work(home, process.ledger, process.told) as parts:
        await parts.take_up_all()
        await started(parts, fifty_steps(), "fifty", KEY)
        await all_ended(parts)
    return process


async def run_that_fails(home: Path, statements: Statements) -> Run:
    process = Run(Told(), [])
    with failing(statements), suppress(StoreUnusable, DiskFull):
        async with at_work(home, process.ledger, process.told) as parts:
            await started(parts, fifty_steps(), "fifty", KEY)
            await all_ended(parts)
    return process


async def events_of(store: Store, execution_id: int) -> list[Event]:
    return [event for _, event in await store.events(execution_id, limit=EVENTS_MAX)]


async def swept(home: Path, statements: Statements) -> list[str]:
    """Let a statement fail, go on in another process, and say what is wrong then."""
    before = await run_that_fails(home, statements)
    async with at_work(home, [], Nobody()) as parts:
        rows = await parts.store.executions()
        heads = {row.id: row.head for row in rows}
        lost = [(one, head) for one, head in before.told.heads.items() if heads.get(one, 0) < head]
        recorded = {
            attempt_of(row.id, event)
            for row in rows
            for event in await events_of(parts.store, row.id)
            if isinstance(event, TaskDone)
        }
    after = await run(home)
    return [
        *(f"execution {execution_id}: event {head} was acknowledged and is gone" for execution_id, head in lost),
        *(f"{one} was on record, and was done again" for one in sorted(recorded & set(after.ledger))),
        *await end_faults(home),
    ]


async def end_faults(home: Path) -> list[str]:
    """One execution, which ended well, with every step done once."""
    async with at_work(home, []) as parts:
        rows = await parts.store.executions()
        if [row.status for row in rows] != ["success"]:
            return [f"executions: {[(row.id, row.status) for row in rows]}"]
        report = await verify(parts.store, rows[0].id)
        events = await events_of(parts.store, rows[0].id)
        state = await folded(parts.store, rows[0].id)
    done = Counter(event.step for event in events if isinstance(event, StepDone))
    wanted = Counter(f"s{number}" for number in range(1, STEPS + 1))
    return [
        *(f"{one['name']}: {one['detail']}" for one in report["checks"] if not one["ok"]),
        *(() if done == wanted else (f"steps done otherwise than once: {done - wanted}, {wanted - done}",)),
        *(() if state.ctx == {"count": STEPS} else (f"ctx: {state.ctx}",)),
    ]


def chosen(texts: list[str]) -> list[int]:
    """The numbers of the statements that fail: each text's first, middle and last, and every so many."""
    places: dict[str, list[int]] = {}
    for number, text in enumerate(texts, 1):
        places.setdefault(text, []).append(number)
    marked = {one for found in places.values() for one in (found[0], found[len(found) // 2], found[-1])}
    return sorted(marked | set(range(1, len(texts) + 1, STRIDE)))


async def undisturbed() -> list[str]:
    """The statements of a run in which none fails."""
    statements = Statements()
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        home = Path(name) / "home"
        await run_that_fails(home, statements)
        assert await end_faults(home) == []
    return statements.texts


@pytest.mark.spec("EV-05", "EV-06", "TK-15")
@pytest.mark.parametrize(
    ("trouble", "moment"),
    [
        (DISK_FAILED, BEFORE),
        (DISK_FAILED, AFTER),
        (DISK_FAILED, EVER_AFTER),
        (DISK_FULL, BEFORE),
        (DISK_FULL, EVER_AFTER),
    ],
    ids=lambda one: getattr(one, "message", one),
)
async def test_whichever_statement_fails_the_run_ends_once_and_nothing_told_is_lost(
    trouble: Trouble, moment: str
) -> None:
    numbers = chosen(await undisturbed())

    faults: list[str] = []
    struck = 0
    for k in numbers:
        with tempfile.TemporaryDirectory(dir=MEMORY) as name:
            statements = Statements(k, moment, trouble)
            found = await swept(Path(name) / "home", statements)
            struck += statements.has_struck
            faults += [f"statement {k} ({statements.texts[k - 1 : k]}): {fault}" for fault in found]

    assert faults == []
    assert struck >= 0.9 * len(numbers)  # a run with other batches may have a few statements less
