"""Pid files: who runs, who only ran, and what happens when several want the same name."""

import os
import subprocess
import sys

import msgspec
import pytest

from noetl.daemons.identity import mark_of, own_mark
from noetl.daemons.pid_files import PidFile, Record, pid_files
from noetl.errors import AlreadyRunning

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pid files are of POSIX systems")

CLAIM = """
import sys
from pathlib import Path
from noetl.daemons.pid_files import PidFile
from noetl.errors import AlreadyRunning
print("here", flush=True)
sys.stdin.readline()
try:
    PidFile(Path(sys.argv[1])).claim("the server on port 1", "0", {})
except AlreadyRunning:
    print("refused", flush=True)
else:
    print("claimed", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def file(tmp_path):
    return PidFile(tmp_path / "run" / "server-1.pid")


def left_behind(file, **changes):
    """What a process that is gone has left in its pid file."""
    file.path.parent.mkdir(parents=True, exist_ok=True)
    record = Record(pid=os.getpid(), mark=own_mark(), since=0.0, version="0")
    file._write(msgspec.structs.replace(record, **changes))


def test_a_claimed_name_says_who_has_it_until_it_is_released(file):
    file.claim("the server on port 1", "1.2", {"store": "sqlite:///a.db"})
    file.tell({"url": "http://127.0.0.1:1"})
    found = file.running()
    file.release()

    assert (found.pid, found.version, found.is_ready) == (os.getpid(), "1.2", True)
    assert found.facts == {"store": "sqlite:///a.db", "url": "http://127.0.0.1:1"}
    assert file.running() is None
    assert not file.path.exists()


def test_the_first_line_is_the_process_id_and_nobody_else_may_read_it(file):
    file.claim("the server on port 1", "1.2", {})

    assert file.path.read_text().splitlines()[0] == str(os.getpid())
    assert file.path.stat().st_mode & 0o777 == 0o600


def test_a_number_that_another_process_has_by_now_is_not_taken_for_the_one_that_ran(file):
    left_behind(file, pid=os.getppid(), mark="another-boot/1")

    assert file.record() is not None
    assert file.running() is None
    file.claim("the server on port 1", "0", {})
    assert file.running().pid == os.getpid()


@pytest.mark.parametrize("text", [b"", b"12", b"12\n{", b"12\n{}\n", b"\xff\xfe\n\xff", b"99999999999999999999\n[]"])
def test_a_damaged_pid_file_is_no_obstacle(file, text):
    file.path.parent.mkdir(parents=True)
    file.path.write_bytes(text)

    assert file.running() is None
    file.claim("the server on port 1", "0", {})
    assert file.running().pid == os.getpid()


def test_a_killed_process_has_not_kept_its_name(file):
    held = subprocess.Popen(
        [sys.executable, "-c", CLAIM, str(file.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    held.stdin.write("go\n")
    held.stdin.flush()
    said = [held.stdout.readline().strip(), held.stdout.readline().strip()]
    before = file.running()
    held.kill()
    held.communicate()

    assert said == ["here", "claimed"]
    assert before.pid == held.pid
    assert file.path.exists()
    assert file.running() is None


def test_a_zombie_does_not_run():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    alive = mark_of(child.pid)
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays a zombie

    dead = mark_of(child.pid)
    child.wait()

    assert alive
    assert dead == ""


def test_of_several_that_start_at_the_same_time_one_gets_the_name(file):
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIM, str(file.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for racer in racers:
        racer.stdout.readline()
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = [racer.stdout.readline().strip() for racer in racers]
    for racer in racers:
        racer.communicate()

    assert sorted(said) == ["claimed", "refused", "refused", "refused"]


def test_a_process_does_not_remove_what_is_not_its_own(file):
    left_behind(file, pid=os.getppid(), mark=mark_of(os.getppid()))

    file.release()
    file.tell({"url": "mine"})

    assert file.running().pid == os.getppid()
    assert file.running().facts == {}
    with pytest.raises(AlreadyRunning, match=rf"the server on port 1 runs already: process {os.getppid()}"):
        file.claim("the server on port 1", "0", {})


def test_the_files_of_one_role_are_found_by_name(tmp_path):
    for name in ("server-2", "server-1", "worker-a", "servers"):
        (tmp_path / f"{name}.pid").touch()

    assert [file.path.stem for file in pid_files(tmp_path, "server")] == ["server-1", "server-2"]
    assert pid_files(tmp_path / "nowhere", "server") == []
