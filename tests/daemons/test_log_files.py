"""Log files of programs without a terminal: appended to by many, rotated, and read from their end."""

import os
import subprocess
import sys

import pytest

from noetl.daemons.log_files import FILES_KEPT_MAX, numbered, opened, rotate, tail

INHERITED = """
import os, sys
sys.stdin.readline()
os.write(1, b"after\\n")
"""


def test_a_rotated_log_keeps_its_lines_and_goes_on_empty(tmp_path):
    log = tmp_path / "server-1.log"
    for round_ in range(FILES_KEPT_MAX + 2):
        log.write_text(f"round {round_}\n")
        rotate(log)

    kept = [numbered(log, number).read_text() for number in range(1, FILES_KEPT_MAX + 1)]

    assert log.read_text() == ""
    assert kept == [f"round {FILES_KEPT_MAX + 1 - number}\n" for number in range(FILES_KEPT_MAX)]
    assert not numbered(log, FILES_KEPT_MAX + 1).exists()


def test_a_child_that_inherited_the_file_goes_on_in_the_new_one(tmp_path):
    log = tmp_path / "server-1.log"
    descriptor = opened(log)
    os.write(descriptor, b"before\n")
    child = subprocess.Popen([sys.executable, "-c", INHERITED], stdin=subprocess.PIPE, stdout=descriptor)
    rotate(log)
    child.communicate(b"\n")
    os.write(descriptor, b"last\n")
    os.close(descriptor)

    assert numbered(log, 1).read_text() == "before\n"
    assert log.read_text() == "after\nlast\n"


def test_logs_are_for_their_owner_only(tmp_path):
    log = tmp_path / "run" / "server-1.log"
    os.close(opened(log))
    rotate(log)

    modes = [path.stat().st_mode & 0o777 for path in (log, numbered(log, 1), log.parent)]

    assert modes == [0o600, 0o600, 0o700]


@pytest.mark.parametrize(
    ("text", "after", "end"),
    [
        ("", 0, ""),
        ("one\ntwo\n", 0, "one\ntwo"),
        ("one\ntwo\n", 4, "two"),
        ("rotated\n", 1_000_000, "rotated"),
        ("\n".join(map(str, range(100))), 0, "\n".join(map(str, range(80, 100)))),
    ],
)
def test_the_end_of_a_log_is_its_last_lines(tmp_path, text, after, end):
    log = tmp_path / "server-1.log"
    log.write_text(text)

    assert tail(log, after) == end


def test_a_log_that_is_not_there_has_no_end(tmp_path):
    assert tail(tmp_path / "none.log") == ""
