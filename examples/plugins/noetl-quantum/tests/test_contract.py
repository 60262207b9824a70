"""The kind keeps the contract of tools: NoETL's own suite, run over it."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from noetl.testing.hands import call, hands
from noetl.testing.tool_suite import Entry, Specimen, pair_name, pairs
from noetl_quantum import KIND, make
from noetl_quantum.tool import THREAD_NAME

LONG = [f"h {qubit}" for qubit in range(20)] * 500  # 10,000 gates on 20 qubits: minutes


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith(THREAD_NAME)]


@asynccontextmanager
async def quantum(folder: Path) -> AsyncIterator[Specimen]:
    yield Specimen(
        kind=KIND,
        make=make,
        hands=hands(),
        good=call(KIND, circuit="x 0; cx 0 1", shots=10),
        expected={"counts": {"11": 10}, "probabilities": {"11": 1.0}},
        final=call(KIND, circuit="no such gate"),
        late=call(KIND, circuit=LONG, total_seconds=0.1),
        endless=call(KIND, circuit=LONG),
        is_under_way=lambda: bool(threads()),
        left_over=threads,
    )


# It runs on this machine alone: nothing that passes can make it fail, and it handles no secret.
ENTRY = Entry(name="quantum", open=quantum, without=frozenset(("retryable", "with_secret")))


@pytest.mark.parametrize(("entry", "check"), pairs([ENTRY]), ids=pair_name)
async def test_the_kind_keeps_the_contract(entry, check, tmp_path):
    async with entry.open(tmp_path) as specimen:
        await check(specimen)
