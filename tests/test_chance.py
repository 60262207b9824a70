"""Chance is handed in: one source gives the same choices again, and a process can be built over parts in memory."""

import random
from pathlib import Path

from noetl.chance import NONCE_BITS, SECRET_BYTES, SYSTEM, TAG_BITS, Chance
from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.embedded import Embedded, kinds_of
from noetl.stores.memory import MemoryStore
from noetl.testing.simulator.keychain import SimKeychain
from noetl.testing.simulator.results import Bucket, SimResults
from tests.control.parts import Hurried, run, state_of

BODY = "workflow:\n  - {step: start, tool: {kind: noop}}\n"


def choices_of(chance: Chance) -> list[object]:
    return [
        chance.random(),
        chance.new_secret(),
        chance.new_trace(),
        chance.new_nonce(),
        chance.new_tag(),
        chance.word(3),
    ]


def test_the_same_source_gives_the_same_choices_again():
    one, same, other = (choices_of(Chance(random.Random(seed))) for seed in (1, 1, 2))

    assert one == same
    assert not any(mine == others for mine, others in zip(one, other, strict=True))


def test_choices_of_the_system_are_new_and_as_large_as_they_must_be():
    one, another = choices_of(SYSTEM), choices_of(SYSTEM)

    assert not any(mine == others for mine, others in zip(one, another, strict=True))
    assert len(SYSTEM.new_secret()) == SECRET_BYTES
    assert 0 <= SYSTEM.new_nonce() < 2**NONCE_BITS
    assert 0 <= SYSTEM.new_tag() < 2**TAG_BITS


async def ran_in_memory(folder: Path, seed: int) -> tuple[str, str, list[int]]:
    """How a run ended, its trace, and its leases."""
    settings = Settings(home=folder, store_url=f"sqlite:///{folder / 'noetl.db'}")
    parts = Embedded(
        settings,
        MemoryStore(),
        Hurried(),
        SystemClock(),
        kinds_of(settings),
        results=SimResults(Bucket(), "one"),
        keychain=SimKeychain(),
        chance=Chance(random.Random(seed)),
    )
    async with parts:
        parts.work()
        execution_id = await run(parts, BODY)
        state = await state_of(parts, execution_id)
        events = await parts.store.events(execution_id, 0, 100)
    return state.status, state.trace_id, [event.lease for _, event in events if event.lease]


async def test_one_process_over_parts_in_memory_touches_no_file_and_repeats_itself(tmp_path):
    one, same, other = [await ran_in_memory(tmp_path, seed) for seed in (1, 1, 2)]

    assert one[0] == "success"
    assert one == same
    assert one[1:] != other[1:]
    assert not list(tmp_path.iterdir())
