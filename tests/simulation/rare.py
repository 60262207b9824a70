"""Moves that few drawn worlds make, each made on purpose: a scene for every one, so that the coverage table has it
whatever the seeds are. What is checked in any world is checked in these, too."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from zlib import crc32

from noetl.control.requests import RerunRequest
from noetl.control.rerun import rerun
from noetl.errors import WrongState
from noetl.testing.simulator.coverage import Counters
from noetl.testing.simulator.runs import ALL_GENERATIONS, clear_away
from noetl.testing.simulator.users import nothing_to_read
from tests.simulation.scenes import Scene

POISONED = next(name for name in ("one", "two", "three", "four") if not crc32(name.encode()) % 2)
BEST_EFFORT = """\
executor: {spec: {policy: {failure: {mode: best_effort}}}}
workflow:
  - step: start
    tool: {kind: noop}
    next: {spec: {mode: inclusive}, arcs: [{step: bad}, {step: slow}]}
  - {step: bad, tool: {name: bad, kind: python, code: scripted, input: {plays: {salt: 1, fails_always: client_error}}}}
  - {step: slow, tool: {name: slow, kind: python, code: scripted, input: {plays: {salt: 1, seconds: 9.0}}}}
"""
LOOPED = """\
workflow:
  - step: start
    loop: {in: [0, 1], iterator: n, spec: {mode: sequential}}
    tool: {name: one, kind: python, code: scripted, input: {plays: {salt: 1, seconds: 5.0}}}
"""
UNDONE = f"""\
workflow:
  - step: start
    spec:
      policy:
        compensation:
          tool: [{{name: {POISONED}, kind: python, code: scripted, input: {{plays: {{salt: 1}}}}}}]
    tool: {{kind: noop}}
    next: {{arcs: [{{step: bad}}]}}
  - step: bad
    tool: {{name: bad, kind: python, code: scripted, input: {{plays: {{salt: 1, fails_always: client_error}}}}}}
"""
LOSING = """\
workflow:
  - step: start
    loop: {in: [0, 1, 2], iterator: n, spec: {mode: sequential}}
    tool:
      name: one
      kind: python
      code: scripted
      input: {of: ["{{ iter.index }}"], plays: {salt: 1, fails_always: client_error, only: [1]}}
"""
NESTED = """\
workflow:
  - step: start
    loop:
      in: [0, 1]
      iterator: n
      loop: {in: [0, 1], iterator: m}
    tool:
      name: one
      kind: python
      code: scripted
      input: {of: ["{{ iter.index }}"], plays: {salt: 1, fails_always: client_error, only: [1]}}
"""
Play = Callable[[Scene], Awaitable[None]]


async def cancelled_while_failing(scene: Scene) -> None:
    execution_id = await scene.start()
    await asyncio.sleep(3.0)
    with suppress(WrongState):  # somebody else heard of it
        await scene.ask(lambda desk: desk.cancel(execution_id, "it fails anyway"))
    await scene.ended(execution_id)


async def iteration_lost(scene: Scene) -> None:
    """Whoever runs it dies in the middle of it, until it is given up."""
    execution_id = await scene.start()
    while not scene.names(execution_id).count("loop.iteration.failed"):
        await asyncio.sleep(0.5)
        if scene.world.ledger.invocations and scene.world.ledger.invocations[-1].state == "open":
            await asyncio.sleep(1.0)
            scene.kill_workers()
    await scene.ended(execution_id)


async def undoing_lost(scene: Scene) -> None:
    scene.world.trouble.poison = 1
    await scene.ended(await scene.start())


async def gone_on_with(scene: Scene) -> None:
    """A loop that failed in a fork, which fails as well."""
    execution_id = await scene.start()
    await scene.ended(execution_id)
    request = RerunRequest(execution_id=execution_id, from_step="start")
    await scene.ended((await scene.ask(lambda desk: rerun(desk, nothing_to_read, request))).execution_id)


SCENES: dict[str, tuple[str, Play]] = {  # by the move that each is for
    "execution failing: playbook.cancel.requested": (BEST_EFFORT, cancelled_while_failing),
    "job open: loop.iteration.failed": (LOOPED, iteration_lost),
    "compensation scheduled: step.failed": (UNDONE, undoing_lost),
    "step run looping: loop.reopened": (LOSING, gone_on_with),
    "put back started: loop.reopened": (LOSING, gone_on_with),
    "inner loop looping: loop.reopened": (NESTED, gone_on_with),
}


def met(move: str) -> Counters:
    """What the scene of a move met. Raises what was violated in it."""
    text, play = SCENES[move]
    try:
        return played(text, play)
    finally:
        clear_away(ALL_GENERATIONS)


def played(text: str, play: Play) -> Counters:
    scene = Scene({"rare": text}, workers=1)
    scene.play(play)
    return scene.world.covered()
