"""Each statement to PostgreSQL fails once while 50 steps run, and its connection with it: the execution ends once, all
the same, and every step is done exactly once (protocol §5, §9).

A sample of the statements; NOETL_SWEEP=all takes each single one.
"""

import asyncio
import os
from collections import Counter
from pathlib import Path

import pytest

from noetl.control.live import folded
from noetl.control.verify import verify
from noetl.engine.events import StepDone
from noetl.errors import PASSING
from noetl.stores.contract import LIVE, Execution
from noetl.stores.postgres import PostgresStore
from tests.integration.faulty_statements import AFTER, BEFORE, Statements, counted, unwatched
from tests.integration.servers import Server, serving

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_waits")]

STEPS = 50
RUNS_PER_SAMPLE = 20
STATEMENTS_OF_A_START = 12
IS_WHOLE = os.environ.get("NOETL_SWEEP") == "all"
STRUCK_PART_MIN = 0.75  # a run with other batches, or with fewer rounds of the server's own, has fewer statements
LEASE_SECONDS = 1.0
SECONDS_MAX = 30.0
LOOK_SECONDS = 0.01
EVENTS_MAX = 10_000
BODY = "\nworkflow:\n" + "".join(
    f"  - step: s{number}\n    tool: {{kind: noop, input: {{n: {number}}}}}\n"
    '    set: {ctx.count: "{{ (ctx.count | default(0)) + 1 }}"}\n'
    + (f"    next: {{arcs: [{{step: s{number + 1}}}]}}\n" if number < STEPS else "")
    for number in range(1, STEPS + 1)
)


async def ran(server: Server, eye: PostgresStore, key: str) -> Execution:
    """Run the playbook, as a client does: ask for it until that is answered, and look until it has ended."""
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            try:
                execution_id = await server.start(BODY, name="sweep/fifty", request_key=key)
                break
            except PASSING:
                await asyncio.sleep(LOOK_SECONDS)
        with unwatched():
            while (row := await eye.execution(execution_id)) is None or row.status in LIVE:
                await asyncio.sleep(LOOK_SECONDS)
    return row


async def faults_of(eye: PostgresStore, row: Execution) -> list[str]:
    """What is wrong with an execution that has ended."""
    with unwatched():
        report = await verify(eye, row.id)
        state = await folded(eye, row.id)
        events = [event for _, event in await eye.events(row.id, limit=EVENTS_MAX)]
        jobs = await eye.jobs(row.id)
    done = Counter(event.step for event in events if isinstance(event, StepDone))
    wanted = Counter(f"s{number}" for number in range(1, STEPS + 1))
    return [
        *(() if row.status == "success" else (f"it ended as {row.status}",)),
        *(f"{one['name']}: {one['detail']}" for one in report["checks"] if not one["ok"]),
        *(() if done == wanted else (f"steps done otherwise than once: {done - wanted}, {wanted - done}",)),
        *(() if state.ctx == {"count": STEPS} else (f"ctx: {state.ctx}",)),
        *(f"a job is left: {job}" for job in jobs),
    ]


def chosen(count: int) -> list[int]:
    """The numbers of the statements that fail: those of the start, whose loss nothing mends, and every so many."""
    stride = 1 if IS_WHOLE else max(1, count // RUNS_PER_SAMPLE)
    return sorted({*range(1, STATEMENTS_OF_A_START + 1), *range(1, count + 1, stride)})


async def swept(server: Server, eye: PostgresStore, statements: Statements, moment: str) -> tuple[list[str], int]:
    """The faults that were found, and how many runs there were."""
    for key in ("cold", "warm"):  # the first run is slower, and the server's own rounds come by more often
        statements.arm(0, moment)
        faults = await faults_of(eye, await ran(server, eye, f"{moment} {key}"))
        assert faults == []
    count = statements.count
    numbers = chosen(count)
    for k in numbers:
        statements.arm(k, moment)
        row = await ran(server, eye, f"{moment} {k}")
        faults += [f"statement {k} of {count}, {moment}: {fault}" for fault in await faults_of(eye, row)]
    return faults, len(numbers)


@pytest.mark.spec("RO-03", "EV-05", "EV-06")
@pytest.mark.parametrize("moment", [BEFORE, AFTER])
async def test_whichever_statement_fails_every_step_is_done_once(
    database_url: str, eye: PostgresStore, tmp_path: Path, moment: str
) -> None:
    with counted() as statements:
        async with serving(database_url, tmp_path, lease_seconds=LEASE_SECONDS) as server:
            faults, runs = await swept(server, eye, statements, moment)

    assert faults == []
    assert runs >= RUNS_PER_SAMPLE
    assert statements.struck >= STRUCK_PART_MIN * runs
