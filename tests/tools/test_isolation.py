"""kind: python — the levels of spec.isolation: what code can reach at each of them (security 11), and what it cannot.

The table ATTEMPTS says what comes of each attempt at level process, which stops accidents only, and at level sandbox,
which is a boundary. It runs where bubblewrap can make namespaces; that a task is refused where it cannot always runs.
"""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from noetl.testing.hands import call, hands, run
from noetl.testing.processes import Processes
from noetl.testing.tool_suite import until
from noetl.tools import python
from noetl.tools.contract import Tool, ToolSettings
from noetl.tools.isolation import Launch
from noetl.tools.sandbox import Sandbox, _run
from noetl.tools.seccomp import PROCESSORS, filter_program
from tests.tools.python_parts import KIND, error_of, value

needs_sandbox = pytest.mark.usefixtures("sandbox")
SANDBOX = {"isolation": "sandbox"}
REACHED, STOPPED = True, False

# Each sets result to "reached" or raises. `worker`, `secret_file`, `port`, `descriptor`: where to look.
ATTEMPTS = {
    "the worker's environment": ("open(f'/proc/{worker}/environ').read()", REACHED, STOPPED),
    "the worker's memory": ("open(f'/proc/{worker}/mem', 'rb').close()", REACHED, STOPPED),
    "a file of another job": ("open(secret_file).read()", REACHED, STOPPED),
    "the worker's signals": ("import os\nos.kill(worker, 0)", REACHED, STOPPED),
    "the network": ("import socket\nsocket.create_connection(('127.0.0.1', port), 5).close()", REACHED, STOPPED),
    "a file system to write to": ("open(f'{home}/left', 'w').close()", REACHED, STOPPED),
    "the worker's home": ("import os\nassert os.listdir(home)", REACHED, STOPPED),
    "a descriptor of the worker": ("import os\nos.fstat(descriptor)", STOPPED, STOPPED),
    "a variable of the worker": ("import os\nassert 'NOETL_PLANTED' in os.environ", STOPPED, STOPPED),
    "a file of its own": ("import tempfile\nopen(tempfile.mktemp(), 'w').close()", REACHED, REACHED),
    "a program of the system": ("import subprocess\nsubprocess.run(['true'], check=True)", REACHED, REACHED),
    "its own threads": ("import threading\nt = threading.Thread(target=int)\nt.start()\nt.join()", REACHED, REACHED),
}
PTRACE = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
result = [libc.ptrace(16, {pid}, 0, 0), ctypes.get_errno()]
"""
NAMESPACE = (
    "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nresult = [libc.unshare(0x10000000), ctypes.get_errno()]"
)
WHO = """
import os
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
result = {
    "uid": os.getuid(),
    "capabilities": sum(int(status[name], 16) for name in ("CapEff", "CapPrm", "CapAmb")),
    "no_new_privileges": status["NoNewPrivs"].strip(),
    "filter": status["Seccomp"].strip(),
    "processes": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
    "interfaces": [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]],
    "root": sorted(os.listdir("/")),
}
"""
FORK_BOMB = """
import os, time
count = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(1000)
        count += 1
except OSError:
    result = count
"""


@pytest_asyncio.fixture
async def sandbox() -> None:
    """Skips where there is none."""
    fault = await Sandbox().fault()
    if fault:
        pytest.skip(f"no sandbox here: {fault}")


@pytest.fixture
def planted(monkeypatch) -> None:
    monkeypatch.setenv("NOETL_PLANTED", "x")


@pytest_asyncio.fixture
async def tool(tmp_path) -> AsyncIterator[Tool]:
    made = python.make(hands(settings=ToolSettings(process_slots=1, home=tmp_path)))
    try:
        yield made
    finally:
        await made.close()


async def is_reached(tool: Tool, folder: Path, code: str, level: str) -> bool:
    """Whether code came to its end; else it raised, and did not just die."""
    secret_file = folder / "secret"
    secret_file.write_text("x")
    with socket.create_server(("127.0.0.1", 0)) as server, secret_file.open() as held:
        os.set_inheritable(held.fileno(), True)
        known = {"worker": os.getpid(), "port": server.getsockname()[1], "descriptor": held.fileno()}
        paths = {"secret_file": str(secret_file), "home": str(folder)}
        output = await run(
            tool, call(KIND, code=f"{code}\nresult = 'reached'", spec={"isolation": level}, **known, **paths)
        )
    assert (output.data == "reached") == (output.helpers["py"]["exception_type"] is None), output.error
    return output.data == "reached"


@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.skipif(sys.platform != "linux", reason="/proc is looked at")
async def test_what_code_reaches_in_a_process_of_its_own(tool, tmp_path, planted, attempt):
    code, expected, _ = ATTEMPTS[attempt]

    assert await is_reached(tool, tmp_path, code, "process") is expected


@needs_sandbox
@pytest.mark.parametrize("attempt", ATTEMPTS)
async def test_what_code_reaches_in_a_sandbox(tool, tmp_path, planted, attempt):
    code, _, expected = ATTEMPTS[attempt]

    assert await is_reached(tool, tmp_path, code, "sandbox") is expected


@needs_sandbox
async def test_a_sandbox_shows_its_own_processes_no_interface_and_little_of_the_file_system(tool):
    found = await value(tool, WHO, spec=SANDBOX)

    assert (found["uid"], found["capabilities"], found["no_new_privileges"]) == (65534, 0, "1")
    assert len(found["processes"]) <= 3
    assert found["interfaces"] == ["lo"]
    assert not {"home", "srv", "var", "mnt", "boot"} & set(found["root"])
    if filter_program() is not None:
        assert found["filter"] == "2"


@needs_sandbox
@pytest.mark.skipif(filter_program() is None, reason="no filter of system calls for this processor")
async def test_a_sandbox_refuses_to_trace_processes_and_to_make_namespaces(tool):
    traced = await value(tool, PTRACE.format(pid=1), spec=SANDBOX)
    unshared = await value(tool, NAMESPACE, spec=SANDBOX)

    assert (traced, unshared) == ([-1, 1], [-1, 1])  # EPERM


@needs_sandbox
async def test_a_fork_bomb_in_a_sandbox_is_bounded_and_gone_afterwards(tool):
    probe = Processes()

    count = await value(tool, FORK_BOMB, spec=SANDBOX)

    assert 0 < count < 256
    await until(lambda: len(probe()) <= 1, "only the watcher stays")


@needs_sandbox
async def test_a_sandbox_has_hard_limits_of_memory_files_and_descriptors(tool):
    memory = await run(tool, call(KIND, code="x = bytearray(10 * 2**30)", spec={**SANDBOX, "memory_mb": 64}))
    raised = await run(
        tool,
        call(
            KIND,
            code="import resource as r\nr.setrlimit(r.RLIMIT_DATA, (2**40, 2**40))",
            spec={**SANDBOX, "memory_mb": 64},
        ),
    )
    large = await run(tool, call(KIND, code="open('/tmp/x', 'wb').write(bytes(2**27))", spec=SANDBOX))
    many = await run(tool, call(KIND, code="kept = [open('/dev/null') for _ in range(300)]", spec=SANDBOX))

    assert error_of(memory)[0] == "limit"
    assert "may use 64 MiB" in error_of(memory)[1]
    assert "ValueError" in error_of(raised)[1]
    assert error_of(large)[0] == "exception"
    assert "Too many open files" in error_of(many)[1]


@needs_sandbox
@pytest.mark.spec("TK-18")
async def test_code_in_a_sandbox_is_stopped_at_its_time_and_when_cancelled(tool):
    probe = Processes()
    code = "import subprocess\nsubprocess.run(['sleep', '1000'])"

    late = await run(tool, call(KIND, code=code, spec=SANDBOX, total_seconds=0.5))
    running = asyncio.ensure_future(run(tool, call(KIND, code=code, spec=SANDBOX)))
    await until(lambda: len(probe()) >= 4, "the watcher, bubblewrap twice, the child")
    running.cancel()
    await asyncio.wait({running})

    assert error_of(late)[0] == "timeout"
    await until(lambda: len(probe()) <= 1, "only the watcher stays")


@needs_sandbox
async def test_nothing_of_one_task_is_in_the_sandbox_of_the_next(tool):
    await value(tool, "open('/tmp/left', 'w').write('x')", spec=SANDBOX)

    assert "left" not in await value(tool, "import os; result = os.listdir('/tmp')", spec=SANDBOX)


@needs_sandbox
async def test_code_in_a_sandbox_gives_its_value_libs_prints_and_failures_as_elsewhere(tool):
    good = await run(
        tool,
        call(KIND, code="print('hi')\nasync def main(a): return math.floor(a)", a=1.5, libs=["math"], spec=SANDBOX),
    )
    bad = await run(tool, call(KIND, code="x = 1\nx / 0", spec=SANDBOX))
    died = await run(tool, call(KIND, code="import os\nos._exit(3)", spec=SANDBOX))

    assert (good.data, good.logs) == (1, ("hi",))
    assert bad.error.details["traceback"] == ["line 2: x / 0"]
    assert error_of(died)[0] == "exception"


@pytest.mark.parametrize("path", ["", "/nowhere"])
async def test_without_bubblewrap_a_task_that_asks_for_a_sandbox_is_refused_and_never_run(
    tool, tmp_path, monkeypatch, path
):
    monkeypatch.setenv("PATH", path)
    marker = tmp_path / "marker"

    output = await run(tool, call(KIND, code=f"open({str(marker)!r}, 'w').close()", spec=SANDBOX))

    assert error_of(output)[0] == "exception"
    assert "is never run without" in error_of(output)[1]
    assert not output.error.retryable
    assert not marker.exists()


async def test_a_bubblewrap_that_cannot_make_namespaces_is_no_sandbox(tool, tmp_path, monkeypatch):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    output = await run(tool, call(KIND, code="result = 1", spec=SANDBOX))

    assert "No permissions to create new namespace" in error_of(output)[1]


async def test_a_level_that_there_is_not_is_refused(tool):
    output = await run(tool, call(KIND, code="result = 1", spec={"isolation": "vacuum"}))

    assert error_of(output)[1] == 'spec.isolation must be one of inline, process, sandbox, but is "vacuum"'


def test_each_kind_of_processor_has_a_filter_of_whole_instructions():
    programs = [filter_program(machine) for machine in PROCESSORS]

    assert all(program and len(program) % 8 == 0 and len(program) // 8 < 4096 for program in programs)
    assert filter_program("abacus") is None


async def test_a_trial_of_the_sandbox_that_hangs_is_ended_and_waited_for(monkeypatch):
    monkeypatch.setattr("noetl.tools.sandbox.TRIAL_SECONDS_MAX", 0.1)
    probe = Processes()

    said = await _run(Launch(words=("sleep", "1000"), env={"PATH": os.environ["PATH"]}))

    assert (said, probe()) == ("it did not start within 0.1 s", frozenset())
