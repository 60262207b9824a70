"""Every tool kind keeps the contract of tools: the suite of noetl.testing.tool_suite, run over each of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from noetl.testing.hands import call, hands
from noetl.testing.processes import Processes
from noetl.testing.tool_suite import PLANTED_SECRET, Entry, Specimen, pair_name, pairs
from noetl.tools import noop, python, script, shell
from tests.contracts.duckdb_specimen import DUCKDB
from tests.contracts.http_specimens import HTTP, RESOLVE
from tests.contracts.nats_specimen import NATS
from tests.contracts.secrets_specimen import SECRETS
from tests.contracts.transfer_specimen import TRANSFER

CREDENTIALS = {"api": {"token": PLANTED_SECRET}}
LATE_SECONDS = 0.2


@asynccontextmanager
async def noop_specimen(folder: Path) -> AsyncIterator[Specimen]:
    yield Specimen(
        kind=noop.KIND,
        make=noop.make,
        hands=hands(),
        good=call(noop.KIND, page=1),
        expected={"page": 1},
        left_over=Processes(),
    )


# A process of its own inside the code's process, so that a stop that reaches only the first is seen.
ENDLESS_CODE = """
import pathlib, subprocess
subprocess.Popen(["sleep", "1000"])
pathlib.Path(marker).touch()
while True:
    pass
"""


@asynccontextmanager
async def python_specimen(folder: Path) -> AsyncIterator[Specimen]:
    marker = folder / "under_way"
    yield Specimen(
        kind=python.KIND,
        make=python.make,
        hands=hands(),
        good=call(python.KIND, code="result = {'sum': a + b}", a=1, b=2),
        expected={"sum": 3},
        final=call(python.KIND, code="1 / 0"),
        late=call(python.KIND, code="while True: pass", total_seconds=LATE_SECONDS),
        endless=call(python.KIND, code=ENDLESS_CODE, marker=str(marker)),
        is_under_way=marker.exists,
        with_secret=(
            call(python.KIND, code="result = len(input['auth']['token'])", credentials=CREDENTIALS, auth="api"),
            call(python.KIND, code="raise KeyError('no such field')", credentials=CREDENTIALS, auth=["api"]),
            call(python.KIND, code="result = auth['token'].encode()", credentials=CREDENTIALS, auth="api"),
            call(python.KIND, code="import os; os._exit(1)", credentials=CREDENTIALS, auth={"mine": "api"}),
            call(python.KIND, code="import os; result = dict(os.environ)"),
        ),
        left_over=Processes(),
    )


@asynccontextmanager
async def shell_specimen(folder: Path) -> AsyncIterator[Specimen]:
    marker = folder / "under_way"
    secret = {"TOKEN": PLANTED_SECRET}
    yield Specimen(
        kind=shell.KIND,
        make=shell.make,
        hands=hands(),
        good=call(shell.KIND, command=["echo", "[1, 2]"]),
        expected=[1, 2],
        final=call(shell.KIND, command="exit 3"),
        late=call(shell.KIND, command="sleep 1000 & sleep 1000", total_seconds=LATE_SECONDS),
        endless=call(shell.KIND, command='sleep 1000 & : > "$MARKER"; wait', env={"MARKER": str(marker)}),
        is_under_way=marker.exists,
        with_secret=(
            call(shell.KIND, command='test -n "$TOKEN"', env=secret),
            call(shell.KIND, command="exit 1", env=secret, stdin=secret),
            call(shell.KIND, command=["no-such-program"], env=secret, stdin=secret),
            call(shell.KIND, command="sleep 1000", env=secret, total_seconds=LATE_SECONDS),
            call(shell.KIND, command="env"),
        ),
        left_over=Processes(),
    )


@asynccontextmanager
async def script_specimen(folder: Path) -> AsyncIterator[Specimen]:
    marker = folder / "under_way"
    (folder / "add.sh").write_text("#!/bin/sh\necho $(($1 + $2))\n")
    (folder / "fail.sh").write_text("#!/bin/sh\nexit 4\n")
    (folder / "wait.sh").write_text(f"#!/bin/sh\nsleep 1000 &\n: > '{marker}'\nwait\n")
    secret = {"TOKEN": PLANTED_SECRET}
    yield Specimen(
        kind=script.KIND,
        make=script.make,
        hands=hands(),
        good=call(script.KIND, path="add.sh", arguments=[1, 2], folder=folder),
        expected=3,
        final=call(script.KIND, path="fail.sh", folder=folder),
        late=call(script.KIND, path="wait.sh", folder=folder, total_seconds=LATE_SECONDS),
        endless=call(script.KIND, path="wait.sh", folder=folder),
        is_under_way=marker.exists,
        with_secret=(
            call(script.KIND, path="fail.sh", env=secret, stdin=secret, folder=folder),
            call(script.KIND, path="missing.sh", env=secret, folder=folder),
            call(script.KIND, path="add.sh", interpreter="env", env={}, folder=folder),
        ),
        left_over=Processes(),
    )


SPECIMENS = [
    DUCKDB,
    HTTP,
    NATS,
    RESOLVE,
    SECRETS,
    TRANSFER,
    Entry(
        name="noop",
        open=noop_specimen,
        without=frozenset(("final", "retryable", "late", "endless", "with_secret")),
    ),
    Entry(name="python", open=python_specimen, without=frozenset(("retryable",))),
    Entry(name="shell", open=shell_specimen, without=frozenset(("retryable",))),
    Entry(name="script", open=script_specimen, without=frozenset(("retryable",))),
]


@pytest.mark.spec("TK-04", "TK-18", "TK-19")
@pytest.mark.parametrize(("entry", "check"), pairs(SPECIMENS), ids=pair_name)
async def test_a_tool_keeps_the_contract(entry, check, tmp_path):
    async with entry.open(tmp_path) as specimen:
        await check(specimen)
