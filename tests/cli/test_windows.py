"""What a Windows machine needs, as far as it can be proved elsewhere: no module that it lacks, paths with letters."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import PureWindowsPath

import pytest

from noetl import lasting
from noetl.cli.sentences import error_sentence
from noetl.cli.targets import catalog_name, target_of
from noetl.config.values import url_of
from tests.cli.running import GREET

LACKED = "fcntl resource pwd grp termios tty pty readline _posixshmem"
# The standard library is imported as it is here; then noetl sees a Windows that has none of these modules.
START = f"""
import asyncio, logging, selectors, socket, sqlite3, subprocess, ssl, shutil, tempfile, getpass, types, sys
import click, click.shell_completion, rich.live
for name in {LACKED.split()!r}:
    sys.modules[name] = None
windows = types.ModuleType("msvcrt")
windows.LK_NBLCK, windows.locking = 2, lambda *_: None
sys.modules["msvcrt"] = windows
sys.platform = "win32"
def unknown(*_):
    raise NotImplementedError
asyncio.SelectorEventLoop.add_signal_handler = asyncio.SelectorEventLoop.remove_signal_handler = unknown
from noetl.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def on_windows(*words, home):
    return subprocess.run(
        [sys.executable, "-c", START, *words],
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "NOETL_HOME": str(home / ".noetl")},
    )


@pytest.mark.parametrize(
    "words",
    [
        ("check", "greet.yaml"),
        ("run", "greet.yaml"),
        ("list",),
        ("show", "last"),
        ("events", "last"),
        ("why", "last", "start"),
        ("replay", "last"),
        ("explain", "NL303"),
        ("graph", "greet.yaml"),
        ("cancel", "--help"),
    ],
    ids=" ".join,
)
def test_verbs_need_no_module_that_windows_lacks(tmp_path, words):
    (tmp_path / "greet.yaml").write_text(GREET)
    assert on_windows("run", "greet.yaml", "-q", home=tmp_path).returncode == 0

    done = on_windows(*words, home=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "fault of NoETL" not in done.stderr


def test_ctrl_c_is_heard_where_the_event_loop_knows_no_signals(monkeypatch):
    heard = []

    async def waited():
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(type(loop), "add_signal_handler", unsupported)
        undo = lasting.on_signal(signal.SIGTERM, lambda: heard.append(1))
        os.kill(os.getpid(), signal.SIGTERM)
        while not heard:
            await asyncio.sleep(0)
        undo()

    def unsupported(*_):
        raise NotImplementedError

    before = signal.getsignal(signal.SIGTERM)
    asyncio.run(asyncio.wait_for(waited(), 10))

    assert heard == [1]
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("file", "url"),
    [
        (r"C:\data\noetl.db", "sqlite:///C:/data/noetl.db"),
        (r"C:\Program Files\n.db", "sqlite:///C:/Program Files/n.db"),
        (r"\\server\share\n.db", "sqlite://///server/share/n.db"),
    ],
)
def test_the_url_of_a_store_on_windows_reads_as_it_was_written(file, url):
    assert url_of(PureWindowsPath(file)) == url
    assert PureWindowsPath(url.removeprefix("sqlite:///")) == PureWindowsPath(file)


@pytest.mark.parametrize("word", [r"C:\books\a@b.yaml", r"C:\books\a b@2.5.yaml", r"\\server\share\x@y.yaml"])
def test_a_windows_file_with_an_at_sign_is_no_version(word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception, match="is no file, and as a name in the catalog"):
        catalog_name(word)
    (tmp_path / word).write_text(GREET)  # here a file of this very name, backslashes and all

    assert target_of(word).data == GREET.encode()


@pytest.mark.parametrize("path", [r"C:\books\a.yaml", r"C:\my books\a.yaml", "my books/a.yaml", r"\\s\x\a.yaml"])
def test_a_message_that_names_its_place_is_not_given_another(path):
    error = {"step": "load", "task": "fetch", "message": f"{path}:3:14: undefined"}

    said = error_sentence(error, f"{path}:2:9")

    assert said == f'step "load", task "fetch": {path}:3:14: undefined'
