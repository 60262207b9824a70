"""kind: shell — what commands get, what their output becomes, and that they end when they must."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from noetl.engine.output import Output
from noetl.testing.hands import call, hands, run
from noetl.testing.processes import Processes
from noetl.testing.tool_suite import until
from noetl.tools import shell
from noetl.tools.contract import Tool, ToolSettings

KIND = shell.KIND
SETTINGS = ToolSettings(process_slots=2, result_bytes_max=1024 * 1024)


@pytest_asyncio.fixture
async def tool() -> AsyncIterator[Tool]:
    made = shell.make(hands(settings=SETTINGS))
    yield made
    await made.close()


def error_of(output: Output) -> tuple[str, str]:
    assert output.error is not None, output.data
    return output.error.kind, output.error.message


@pytest.mark.spec("TL-01", "TK-04")
@pytest.mark.parametrize(
    ("command", "data"),
    [
        ("echo hello", "hello"),
        ("printf 'two\\nlines\\n\\n'", "two\nlines\n"),
        ("true", ""),
        (["echo", "$HOME; echo more"], "$HOME; echo more"),
        (["echo", 1, 2.5], "1 2.5"),
        ("""echo '{"a": [1, null]}'""", {"a": [1, None]}),
        ("echo 42", 42),
        ("echo 007", "007"),
        ("echo 123456789012345678901234567890", "123456789012345678901234567890"),
        ("echo NaN", "NaN"),
        ("printf '\\377'", "\ufffd"),
    ],
)
async def test_standard_output_is_data(tool, command, data):
    assert (await run(tool, call(KIND, command=command))).data == data


async def test_json_beyond_the_bounds_of_data_stays_text(tool):
    deep = "[" * 65 + "]" * 65

    assert (await run(tool, call(KIND, command=["echo", deep]))).data == deep


async def test_the_helper_has_both_streams_and_the_log_has_what_was_said_beside(tool):
    output = await run(tool, call(KIND, command="echo 1; echo careful >&2"))

    assert output.helpers == {"shell": {"exit_code": 0, "stdout": "1\n", "stderr": "careful\n"}}
    assert output.logs == ("careful",)


async def test_long_streams_are_cut_in_the_helper_only(tool):
    output = await run(
        tool, call(KIND, command="head -c 100000 /dev/zero | tr '\\0' x | tee /dev/stderr; echo end >&2")
    )

    assert output.data == "x" * 100_000
    assert output.helpers["shell"]["stdout"] == "x" * 65536 + "… (cut)"
    assert output.helpers["shell"]["stderr"].startswith("… (cut)x")
    assert output.helpers["shell"]["stderr"].endswith("xend\n")


@pytest.mark.spec("TK-19")
@pytest.mark.parametrize(
    ("command", "exit_code", "message"),
    [
        ("echo first >&2; echo no such table >&2; exit 3", 3, "the command ended with exit code 3: no such table"),
        ("exit 1", 1, "the command ended with exit code 1"),
        ("kill -TERM $$", -15, "the command was killed by SIGTERM"),
    ],
)
async def test_a_command_that_fails_says_how(tool, command, exit_code, message):
    output = await run(tool, call(KIND, command=command))

    assert error_of(output) == ("exit_code", message)
    assert not output.error.retryable
    assert output.helpers["shell"]["exit_code"] == exit_code


@pytest.mark.spec("UP-09")
async def test_several_commands_run_in_order_and_their_output_is_joined(tool):
    output = await run(tool, call(KIND, cmds=["printf '[1,'", ["printf", "2]"]]))

    assert output.data == [1, 2]


@pytest.mark.spec("UP-09")
async def test_the_first_command_that_fails_is_the_last_that_runs(tool, tmp_path):
    output = await run(tool, call(KIND, cmds=["echo before", "exit 2", "touch after"], folder=tmp_path))

    assert error_of(output) == ("exit_code", "command 2 of 3 ended with exit code 2")
    assert output.data == "before"
    assert not (tmp_path / "after").exists()


async def test_commands_run_in_the_folder_of_the_playbook(tool, tmp_path):
    (tmp_path / "inner").mkdir()

    here = await run(tool, call(KIND, command="pwd -P", folder=tmp_path))
    inner = await run(tool, call(KIND, command="pwd -P", cwd="inner", folder=tmp_path))

    assert here.data == str(tmp_path.resolve())
    assert inner.data == str(tmp_path.resolve() / "inner")


async def test_the_environment_is_scrubbed_and_then_what_env_says(tool, monkeypatch):
    monkeypatch.setenv("NOETL_TOKEN", "x")
    monkeypatch.setenv("TZ", "UTC")

    output = await run(tool, call(KIND, command="env", env={"PAGES": 3, "ALL": True, "AS": {"a": 1}, "TZ": None}))

    names = dict(line.split("=", 1) for line in output.data.splitlines())
    assert {"PAGES": "3", "ALL": "true", "AS": '{"a":1}'}.items() <= names.items()
    assert {"PATH", "HOME"} <= names.keys()
    assert not {"NOETL_TOKEN", "TZ"} & names.keys()


@pytest.mark.parametrize(
    ("stdin", "data"), [("as it is", "as it is"), ({"a": [1]}, {"a": [1]}), (None, ""), ("x" * 300_000, "x" * 300_000)]
)
async def test_standard_input_is_text_as_it_is_and_data_as_json(tool, stdin, data):
    assert (await run(tool, call(KIND, command="cat", stdin=stdin))).data == data


async def test_a_command_need_not_read_its_input(tool):
    output = await run(tool, call(KIND, command="exec 0<&-; echo done", stdin="x" * 1_000_000))

    assert output.data == "done"


@pytest.mark.parametrize(
    ("fields", "kind", "message"),
    [
        ({"command": ["no-such-program"]}, "not_found", 'there is no program "no-such-program" on PATH'),
        ({"command": "true", "cwd": "nowhere"}, "not_found", "nowhere, is not there"),
        ({"command": ["/dev/null"]}, "exception", '"/dev/null" may not be executed'),
        ({"command": ["echo", "a\0b"]}, "exception", '"echo" cannot be started'),
        ({"command": []}, "type", "at least the name of a program"),
        ({"command": "  "}, "type", "must be a list of words"),
        ({"command": [["echo"]]}, "type", "must be a list of words"),
        ({"cmds": "echo 1"}, "type", "cmds must be a list"),
        ({"cmds": []}, "type", "cmds must be a list"),
        ({"command": "true", "env": ["A=1"]}, "type", "env must be a mapping"),
        ({"command": "true", "cwd": "x" * 5000}, "not_found", "is not there"),
        ({"command": "true", "cwd": 5}, "type", "cwd must be text"),
        ({"command": "true", "spec": {"isolation": "sandbox"}}, "exception", "never run without"),
    ],
)
async def test_a_call_that_cannot_be_run_says_why(tool, tmp_path, fields, kind, message):
    output = await run(tool, call(KIND, folder=tmp_path, **fields))

    assert error_of(output)[0] == kind
    assert message in error_of(output)[1]


async def test_output_over_the_limit_stops_the_command(tool):
    output = await run(tool, call(KIND, command="yes"))

    assert error_of(output) == (
        "limit",
        "the command may write 1048576 bytes to standard output, but wrote more, and was stopped",
    )


async def test_what_a_command_leaves_in_the_background_ends_with_it(tool):
    probe = Processes()

    output = await run(tool, call(KIND, command="sleep 1000 & echo $!"))

    assert output.data > 0
    await until(lambda: len(probe()) <= 1, "only the watcher stays")


ESCAPE = """
import os, sys, time
os.setsid()
print("out", flush=True)
with open(sys.argv[1], "w") as file:
    file.write(f"{os.getpid()}")
time.sleep(1000)
"""


@pytest.mark.slow
async def test_a_process_that_escapes_its_group_cannot_hold_the_task(tool, tmp_path):
    pid, code = tmp_path / "pid", tmp_path / "escape.py"
    code.write_text(ESCAPE)
    command = '"$PYTHON" escape.py pid & until [ -s pid ]; do :; done'

    output = await run(tool, call(KIND, command=command, env={"PYTHON": sys.executable}, folder=tmp_path))
    os.kill(int(pid.read_text()), signal.SIGKILL)

    assert output.data == "out"


async def test_calls_beyond_the_slots_wait(tool, tmp_path):
    command = "mkdir a 2>/dev/null || mkdir b || exit 9; sleep 0.05; rmdir a 2>/dev/null || rmdir b"

    outputs = await asyncio.gather(*(run(tool, call(KIND, command=command, folder=tmp_path)) for _ in range(6)))

    assert [output.error for output in outputs] == [None] * 6


WORKER = """
import asyncio, sys
from noetl.testing.hands import call, hands
from noetl.tools import shell

command = "sleep 1000 & echo $! > $FILE; wait"
asyncio.run(shell.make(hands()).run(call(shell.KIND, command=command, env={"FILE": sys.argv[1]})))
"""


async def test_commands_die_with_a_killed_worker(tmp_path: Path):
    file = tmp_path / "pid"
    probe = Processes()
    with subprocess.Popen([sys.executable, "-c", WORKER, str(file)]) as worker:
        await until(lambda: file.exists() and file.read_text().endswith("\n"), "the command does not start")
        assert int(file.read_text()) in probe()
        worker.kill()

    await until(lambda: not probe(), "the command goes on")
