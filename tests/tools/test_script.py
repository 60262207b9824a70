"""kind: script — which files may be run, what runs them, and what they get."""

import os
import string
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from noetl.engine.output import Output
from noetl.testing.hands import call, hands, run
from noetl.tools import script
from noetl.tools.beside import find_file
from noetl.tools.contract import Tool, ToolSettings
from noetl.tools.refused import Refused

KIND = script.KIND


@pytest_asyncio.fixture
async def tool(tmp_path: Path) -> AsyncIterator[Tool]:
    made = script.make(hands(settings=ToolSettings(script_roots=(tmp_path / "shared",))))
    yield made
    await made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The playbook's folder; beside it a root, and files that are in neither."""
    for name in ("playbooks", "shared", "private"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.sh").write_text(f"#!/bin/sh\necho {name}\n")
    return tmp_path / "playbooks"


def error_of(output: Output) -> tuple[str, str]:
    assert output.error is not None, output.data
    return output.error.kind, output.error.message


@pytest.mark.spec("TL-01")
@pytest.mark.parametrize("name", ["playbooks", "shared"])
async def test_a_file_beside_the_playbook_or_under_a_root_is_run(tool, folder, name):
    assert (await run(tool, call(KIND, path=f"{name}.sh", folder=folder))).data == name


async def test_a_file_under_a_root_may_be_named_in_full(tool, folder):
    path = str(folder.parent / "shared" / "shared.sh")

    assert (await run(tool, call(KIND, path=path, folder=folder))).data == "shared"


async def test_arguments_environment_and_input_reach_the_script(tool, folder, monkeypatch):
    monkeypatch.setenv("NOETL_TOKEN", "x")
    (folder / "all.sh").write_text('#!/bin/sh\necho "$1|$2|$NAME|$NOETL_TOKEN|$(cat)|$(pwd -P)"\n')
    given_values = {"arguments": ["a b", 2], "env": {"NAME": "n"}, "stdin": {"k": 1}}

    output = await run(tool, call(KIND, path="all.sh", folder=folder, **given_values))

    assert output.data == f'a b|2|n||{{"k":1}}|{folder.resolve()}'


@pytest.mark.parametrize(
    ("text", "is_executable", "interpreter"),
    [
        ("import sys\nprint(sys.flags.utf8_mode)\n", False, f"'{sys.executable}' -X utf8"),
        ("#!/bin/sh\necho 1\n", True, None),
        ("#!/bin/sh\necho 1\n", False, None),
        ("#!/bin/sh -e\nfalse || echo 1\n", False, None),
        ("#!/usr/bin/env sh\necho 1\n", False, None),
    ],
)
async def test_the_interpreter_is_named_or_in_the_first_line(tool, folder, text, is_executable, interpreter):
    file = folder / "file"
    file.write_text(text)
    file.chmod(0o755 if is_executable else 0o644)

    assert (await run(tool, call(KIND, path="file", interpreter=interpreter, folder=folder))).data == 1


async def test_a_failing_script_is_called_by_its_name(tool, folder):
    (folder / "load.sh").write_text("#!/bin/sh\necho broken >&2\nexit 5\n")

    output = await run(tool, call(KIND, path="load.sh", folder=folder))

    assert error_of(output) == ("exit_code", "load.sh ended with exit code 5: broken")


@pytest.mark.parametrize(
    ("fields", "kind", "message"),
    [
        ({"path": "none.sh"}, "not_found", 'there is no file "none.sh" in: '),
        ({"path": "plain"}, "type", "nothing says what runs plain"),
        ({"path": "plain", "interpreter": "'open"}, "type", "quotes that do not close"),
        ({"path": "plain", "interpreter": "no-such-program"}, "not_found", 'there is no program "no-such-program"'),
        ({"path": "plain", "interpreter": "x" * 2_000_000}, "type", "1000 characters at most"),
        ({"path": 5}, "type", "path must be text"),
        ({"path": "playbooks.sh", "arguments": "a"}, "type", "arguments must be a list"),
        ({"path": "playbooks.sh", "spec": {"isolation": "sandbox"}}, "exception", "never run without"),
    ],
)
async def test_a_call_that_cannot_be_run_says_why(tool, folder, fields, kind, message):
    (folder / "plain").write_text("text\n")

    output = await run(tool, call(KIND, folder=folder, **fields))

    assert error_of(output)[0] == kind
    assert message in error_of(output)[1]


async def test_without_folder_and_root_there_is_no_file():
    tool = script.make(hands())

    output = await run(tool, call(KIND, path="a.sh"))

    assert error_of(output)[0] == "not_found"
    await tool.close()


@pytest.mark.parametrize(
    "path",
    [
        "../private/private.sh",
        "inner/../../private/private.sh",
        "./../private/private.sh",
        "link.sh",
        "linked/private.sh",
        "loop.sh",
        "/proc/self/fd/0",
        "/bin/sh",
        "/dev/null",
        "playbooks.sh\0",
        "..%2fprivate%2fprivate.sh",
        "\udcff.sh",
        "x" * 2000,
        "x" * 300,
        "",
        ".",
        "..",
    ],
)
async def test_a_path_that_leads_out_is_refused(tool, folder, path):
    (folder / "inner").mkdir()
    (folder / "link.sh").symlink_to(folder.parent / "private" / "private.sh")
    (folder / "linked").symlink_to(folder.parent / "private")
    (folder / "loop.sh").symlink_to(folder / "loop.sh")

    output = await run(tool, call(KIND, path=path, folder=folder))

    assert error_of(output)[0] in ("type", "not_found")
    assert output.data is None


async def test_a_link_that_stays_inside_is_followed(tool, folder):
    (folder / "link.sh").symlink_to(folder / "playbooks.sh")

    assert (await run(tool, call(KIND, path="link.sh", folder=folder))).data == "playbooks"


PARTS = st.sampled_from(["..", ".", "inner", "out", "in", "file", "/", "//", "\0", "~", "%2e%2e", "…", "proc", "self"])
PATHS = st.one_of(
    st.lists(PARTS, max_size=6).map("/".join),
    st.text(alphabet=string.printable + "\u2024\uff0e\x00", max_size=30),
)


@given(path=PATHS)
def test_whatever_the_path_is_the_file_found_is_below_the_folder(tmp_path_factory, path):
    base = tmp_path_factory.getbasetemp() / "paths"
    folder = base / "folder"
    if not folder.exists():
        (folder / "inner").mkdir(parents=True)
        (base / "file").write_text("private")
        (folder / "inner" / "file").write_text("fine")
        (folder / "out").symlink_to(base)
        (folder / "in").symlink_to(folder / "inner")

    try:
        found = find_file(path, folder, ())
    except Refused:
        return
    assert os.path.commonpath([found.resolve(), folder.resolve()]) == str(folder.resolve())
    assert found.read_text() == "fine"
