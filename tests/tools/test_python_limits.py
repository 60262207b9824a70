"""kind: python — its limits: nothing of a task outlives them, its child or the worker, and none sees another."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from noetl.testing.hands import call, run
from noetl.testing.processes import Processes
from noetl.testing.tool_suite import until
from noetl.tools import isolation
from noetl.tools.contract import Tool
from tests.tools.python_parts import KIND, error_of, failed, one_slot_tool, value

FLOOD = """
import os
for descriptor in range(3, 1024):
    try:
        os.write(descriptor, bytes([255] * 9))
    except OSError:
        pass
while True:
    pass
"""
DESCRIPTORS = """
import os
folder = "/proc/self/fd"
result = [os.readlink(f"{folder}/{name}") for name in os.listdir(folder) if os.path.lexists(f"{folder}/{name}")]
"""


@pytest_asyncio.fixture
async def tool() -> AsyncIterator[Tool]:
    async with one_slot_tool() as made:
        yield made


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("import os\nos._exit(3)", "ended with exit code 3"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "was killed by SIGSEGV"),
        ("import os\nos.closerange(3, 100)", "before there was a result"),
    ],
)
async def test_code_that_ends_its_process_fails_and_the_next_call_gets_another(tool, code, how):
    kind, message = error_of(await failed(tool, code))

    assert kind == "exception"
    assert how in message
    assert await value(tool, "result = 1") == 1


async def test_a_child_that_died_while_idle_is_replaced(tool):
    first = await value(tool, "import os; result = os.getpid()")
    await until(lambda: tool.runners.children.idle, "the child does not come back")
    os.kill(first, signal.SIGKILL)
    await until(lambda: not tool.runners.children.idle[0].is_alive, "the child does not die")

    assert await value(tool, "import os; result = os.getpid()") != first


# what limits it


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts a process's memory this way")
async def test_code_over_its_memory_is_stopped(tool):
    output = await failed(tool, "x = bytearray(200 * 2**20)", spec={"memory_mb": 64})

    assert error_of(output)[0] == "limit"
    assert "may use 64 MiB" in error_of(output)[1]
    assert await value(tool, "result = len(bytearray(200 * 2**20))") == 200 * 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts a process's memory this way")
async def test_code_that_takes_memory_bit_by_bit_is_stopped_too(tool):
    output = await failed(tool, "kept = []\nwhile True:\n    kept.append('x' * 100)", spec={"memory_mb": 64})

    assert error_of(output)[0] == "limit"
    assert output.error.details["line"] == 3


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time\ntime.sleep(1000)",
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass",
        "import re\nre.match('(a+)+b', 'a' * 64)",
        "try:\n    while True: pass\nexcept BaseException:\n    while True: pass",
    ],
    ids=["busy", "asleep in C", "deaf to SIGTERM", "busy in C", "catches all"],
)
@pytest.mark.spec("TK-18")
async def test_no_code_outlives_its_time(tool, code):
    output = await run(tool, call(KIND, code=code, total_seconds=0.2), seconds_max=10)

    assert error_of(output)[0] == "timeout"
    assert not output.is_definite
    assert await value(tool, "result = 1") == 1


@pytest.mark.slow
async def test_a_gigabyte_of_printing_is_kept_nowhere(tool):
    code = "for _ in range(1024): print('x' * 2**20)\nimport os\nfor _ in range(64): os.write(1, bytes(2**20))"

    output = await run(tool, call(KIND, code=code, spec={"memory_mb": 64}))

    assert output.error is None
    assert len(output.helpers["py"]["stdout"]) == 16 * 1024


async def test_code_that_forgets_to_close_its_files_fails_by_itself(tool):
    output = await failed(tool, "kept = []\nwhile True:\n    kept.append(open('/dev/null'))")

    assert output.helpers["py"]["exception_type"] == "OSError"
    assert await value(tool, "result = 1") == 1


async def test_code_leaves_no_core_file(tool):
    assert await value(tool, "import resource; result = resource.getrlimit(resource.RLIMIT_CORE)") == [0, 0]


async def test_a_result_over_the_limit_never_reaches_the_worker(tool):
    kind, message = error_of(await failed(tool, "result = 'x' * 100_000"))

    assert kind == "limit"
    assert message == "the result may have 65536 bytes as JSON, but has 100002"


async def test_a_child_that_sends_more_than_it_may_is_ended(tool):
    output = await run(tool, call(KIND, code=FLOOD))

    assert error_of(output) == ("limit", "the result may have 65536 bytes, but has more")
    assert not tool.runners.children.idle


@pytest.mark.spec("TK-18")
async def test_code_over_its_time_is_stopped_with_all_it_started(tool):
    probe = Processes()
    await value(tool, "result = 1")
    code = "import subprocess\nsubprocess.run(['sleep', '1000'])"
    running = asyncio.ensure_future(run(tool, call(KIND, code=code, total_seconds=0.5)))
    await until(lambda: len(probe()) == 3, "the watcher, the child and its sleep")

    output = await running

    assert error_of(output) == ("timeout", "the code was stopped: it ran longer than 0.5 s (spec.timeout)")
    assert output.error.retryable
    await until(lambda: len(probe()) == 1, "only the watcher stays")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is looked at")
async def test_a_hundred_processes_that_code_forked_end_with_its_time(tool):
    probe = Processes()
    code = "import os, time\nfor _ in range(100):\n    if os.fork() == 0: break\ntime.sleep(1000)"
    running = asyncio.ensure_future(run(tool, call(KIND, code=code, total_seconds=2)))
    await until(lambda: len(probe()) > 100, "the code does not fork")

    output = await running

    assert error_of(output)[0] == "timeout"
    await until(lambda: len(probe()) <= 1, "only the watcher stays")


async def test_calls_beyond_the_slots_wait(tool):
    codes = [call(KIND, code="import os; result = os.getpid()") for _ in range(10)]

    outputs = await asyncio.gather(*(run(tool, code) for code in codes))

    assert len({output.data for output in outputs}) == 1


async def test_a_cancelled_wait_for_a_slot_takes_none(tool):
    running = [asyncio.ensure_future(run(tool, call(KIND, code="while True: pass"))) for _ in range(3)]
    await asyncio.sleep(0)
    for each in running:
        each.cancel()
    await asyncio.wait(running)

    assert await value(tool, "result = 1") == 1


# that one call does not see another


async def test_a_child_is_used_again(tool):
    pids = [await value(tool, "import os; result = os.getpid()") for _ in range(3)]

    assert len(set(pids)) == 1


async def test_a_child_is_replaced_after_so_many_calls(tool, monkeypatch):
    monkeypatch.setattr(isolation.OpenFence, "questions_max", 2)

    pids = [await value(tool, "import os; result = os.getpid()") for _ in range(4)]

    assert pids[0] == pids[1] != pids[2] == pids[3]


@pytest.mark.parametrize(
    "code",
    [
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
        "import subprocess\nsubprocess.Popen(['sleep', '1000'])",
    ],
)
async def test_what_code_leaves_running_ends_with_its_child(tool, code):
    probe = Processes()
    first = await value(tool, f"{code}\nimport os\nresult = os.getpid()")

    await until(lambda: len(probe()) <= 1, "only the watcher stays")
    assert await value(tool, "import os; result = os.getpid()") != first


async def test_variables_environment_and_paths_of_one_call_are_not_seen_by_the_next(tool):
    await value(tool, "import os, sys\nleft = 1\nos.environ['LEFT'] = '1'\nos.chdir('/')\nsys.path.append('/left')")

    code = "import os, sys\nresult = ['left' in globals(), 'LEFT' in os.environ, os.getcwd(), '/left' in sys.path]"
    assert await value(tool, code) == [False, False, str(Path.cwd()), False]


async def test_a_child_sees_none_of_the_workers_settings(tool, monkeypatch):
    monkeypatch.setenv("NOETL_TOKEN", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")

    names = await value(tool, "import os; result = sorted(os.environ)")

    assert [name for name in names if "NOETL" in name or "AWS" in name] == []
    assert "PATH" in names


async def test_a_child_has_no_descriptors_of_the_worker(tool, tmp_path):
    with (tmp_path / "open").open("w") as held:
        os.set_inheritable(held.fileno(), True)

        links = await value(tool, DESCRIPTORS)

    assert str(tmp_path / "open") not in links


# that nothing outlives the worker

WORKER = """
import asyncio, sys
from noetl.testing.hands import call, hands
from noetl.tools import python

asyncio.run(python.make(hands()).run(call(python.KIND, code=sys.argv[1], file=sys.argv[2])))
"""
CODE_OF_WORKER = """
import os, subprocess
started = subprocess.Popen(["sleep", "1000"])
with open(file, "w") as pids:
    pids.write(f"{os.getpid()} {started.pid} ")
while True:
    pass
"""


async def test_code_and_what_it_started_die_with_a_killed_worker(tmp_path):
    file = tmp_path / "pids"
    probe = Processes()
    with subprocess.Popen([sys.executable, "-c", WORKER, CODE_OF_WORKER, str(file)]) as worker:
        await until(lambda: file.exists() and file.read_text().endswith(" "), "the code does not start")
        assert {int(pid) for pid in file.read_text().split()} < set(probe())
        worker.kill()

    await until(lambda: not probe(), "the code goes on")
