"""The world around a run breaks: disks fill up, files vanish, two come at once, tasks end the process they run in."""

import json
import resource
import shutil
import subprocess
import sys
from contextlib import contextmanager, suppress

import pytest

from noetl.server import verify
from tests.crash.gates import GATED, HEAD, a_gate
from tests.crash.logs import read_record, settings_for
from tests.crash.rounds import ended, noetl

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="signals, limits and mounts")]
DISK_BYTES = 80 * 1024 * 1024  # a little more than a start asks for
FILE_BYTES_MAX = 512 * 1024
RECOVERIES_MAX = 5

LONG = (
    HEAD
    + """workflow:
  - step: each
    loop:
      in: "{{ range(3000) }}"
      iterator: number
      spec: {mode: parallel, max_in_flight: 50}
    tool: {kind: noop, input: {number: "{{ iter.number }}"}}
"""
)
LARGE = (
    HEAD
    + """workflow:
  - step: make
    tool: {kind: python, input: {code: "result = [7] * 600000"}}
"""
)
DEADLY = (
    HEAD
    + """workload: {mended: ""}
workflow:
  - step: shoot
    tool:
      kind: python
      input:
        mended: "{{ workload.mended }}"
        code: |
          import os, signal
          if not os.path.exists(input["mended"]):
              os.kill(os.getppid(), signal.SIGKILL)
          result = "alive"
"""
)
SUICIDAL = (
    HEAD
    + """workflow:
  - step: leave
    tool:
      kind: python
      input: {code: "import os, signal; WAY"}
"""
)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@contextmanager
def a_disk(folder, options):
    """A small disk of its own, where this user may mount one."""
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(words, capture_output=True).returncode:
        pytest.skip("this user may not mount a disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def gate():
    with a_gate() as made:
        yield made


@contextmanager
def at_the_gate(gate, tmp_path, home):
    """A run whose second step waits; it goes on at the end of the block."""
    playbook = tmp_path / "gated.yaml"
    playbook.write_text(GATED)
    process = noetl("run", str(playbook), "--set", f"port={gate.port}", "--format", "json", home=home)
    with gate.reached():
        yield process


def start(tmp_path, home, text, *words, **options):
    playbook = tmp_path / "playbook.yaml"
    playbook.write_text(text)
    return noetl("run", str(playbook), *words, "--format", "json", home=home, **options)


def resumed(home):
    """Resume the only execution; its summary, after its log was verified."""
    process = noetl("resume", "1", "--format", "json", home=home)
    printed, errors = ended(process)
    assert verify(settings_for(home), 1)["is_equal"]
    return process.returncode, json.loads(printed) if printed else errors


# --- disks and files -------------------------------------------------------------------------------------------------


@pytest.mark.spec("EV-06")
def test_a_run_on_a_full_disk_stops_and_goes_on_when_there_is_room(tmp_path, gate):
    with a_disk(tmp_path / "disk", f"size={DISK_BYTES}") as disk:
        home = disk / "home"
        with at_the_gate(gate, tmp_path, home) as process:
            fill(disk / "filler")
        _, errors = ended(process)
        (disk / "filler").unlink()
        again = noetl("resume", "1", "--format", "json", home=home)
        with gate.reached():  # what it gave is not on record, so it is done again
            pass
        printed, _ = ended(again)

        assert process.returncode == 1, errors
        assert "is full" in errors
        assert "noetl resume" in errors
        assert "Traceback" not in errors
        assert json.loads(printed)["output"]["data"] == {"count": 60000}
        assert verify(settings_for(home), 1)["is_equal"]


def fill(file):
    with file.open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(bytes(4096))


@pytest.mark.spec("EV-06", "RS-01")
@pytest.mark.parametrize("text", [LONG, LARGE], ids=["log", "results"])
def test_a_run_over_a_file_size_limit_stops_and_goes_on_without_it(text, tmp_path, home):
    limited = start(tmp_path, home, text, preexec_fn=limit_files)
    _, errors = ended(limited)

    code, summary = resumed(home)

    assert limited.returncode == 1, errors
    assert "is full" in errors
    assert "Traceback" not in errors
    assert (code, summary["status"]) == (0, "success")


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, FILE_BYTES_MAX))


def test_a_run_whose_store_was_removed_says_so_and_does_not_claim_success(tmp_path, home, gate):
    with at_the_gate(gate, tmp_path, home) as process:
        for file in home.glob("noetl.db*"):
            file.unlink()
    printed, errors = ended(process)

    assert (process.returncode, printed) == (2, ""), errors
    assert "was removed or replaced" in errors
    assert "Traceback" not in errors


@pytest.mark.spec("RS-01")
def test_a_stored_result_that_was_removed_fails_the_task_that_reads_it(tmp_path, home, gate):
    with at_the_gate(gate, tmp_path, home) as process:
        shutil.rmtree(home / "noetl.results")
    summary = json.loads(ended(process)[0])

    assert (process.returncode, summary["status"]) == (1, "failed")
    assert (summary["error"]["kind"], summary["error"]["step"]) == ("ref_missing", "after")
    assert verify(settings_for(home), 1)["is_equal"]


def test_a_home_that_cannot_be_written_is_refused_with_what_to_do(tmp_path):
    with a_disk(tmp_path / "disk", "size=1m,ro") as disk:
        process = start(tmp_path, disk / "home", LONG)
        printed, errors = ended(process)

    assert (process.returncode, printed) == (2, ""), errors
    assert "Read-only file system" in errors
    assert "NOETL_HOME" in errors
    assert "Traceback" not in errors


# --- two at once -----------------------------------------------------------------------------------------------------


def test_a_store_in_use_is_refused_with_the_name_of_who_has_it(tmp_path, home, gate):
    with at_the_gate(gate, tmp_path, home) as first:
        second = start(tmp_path, home, LONG)
        printed, errors = ended(second)
    ended(first)

    assert (second.returncode, printed) == (3, "")
    assert f"is in use by process {first.pid} (noetl run" in errors
    assert "--wait SECONDS" in errors
    assert first.returncode == 0


def test_with_wait_the_second_run_begins_when_the_first_has_ended(tmp_path, home, gate):
    with at_the_gate(gate, tmp_path, home) as first:
        second = start(tmp_path, home, LONG, "--wait", "30")
    ended(first)
    printed, errors = ended(second)

    assert second.returncode == 0, errors
    assert json.loads(printed)["output"]["loop"]["done"] == 3000


def test_a_lock_left_by_a_killed_process_stops_nobody(tmp_path, home, gate):
    with at_the_gate(gate, tmp_path, home) as first:
        first.kill()
        ended(first)
        assert (home / "noetl.db.lock").read_bytes()
        second = start(tmp_path, home, LONG)
        ended(second)

    assert second.returncode == 0
    assert [(one.id, one.status) for one in read_record(home).executions] == [(2, "success"), (1, "running")]


# --- tasks that end processes ----------------------------------------------------------------------------------------


@pytest.mark.spec("TK-04")
@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("os._exit(3)", "ended with exit code 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "was killed by SIGKILL"),
        ("os.killpg(0, signal.SIGKILL)", "was killed by SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "was killed by SIGSEGV"),
    ],
)
def test_a_task_that_ends_its_own_process_fails_and_the_run_goes_on(tmp_path, home, way, words):
    process = start(tmp_path, home, SUICIDAL.replace("WAY", way))
    summary = json.loads(ended(process)[0])

    assert (process.returncode, summary["status"]) == (1, "failed")
    assert words in summary["error"]["message"]


ITS_OWN_EVENTS = 2  # step and task began: on a slow machine they may be written before it dies, and count it anew


@pytest.mark.spec("EV-05")
def test_a_task_that_kills_the_run_every_time_becomes_an_incident_and_can_be_resumed_when_mended(tmp_path, home):
    mended = tmp_path / "mended"
    run = start(tmp_path, home, DEADLY, "--set", f"mended={mended}")
    ended(run)
    codes = [resumed_code(home)]
    while codes[-1] == -9 and len(codes) < RECOVERIES_MAX + ITS_OWN_EVENTS:
        codes.append(resumed_code(home))
    incident = read_record(home).root

    mended.touch()
    code, summary = resumed(home)

    assert (run.returncode, codes) == (-9, [*[-9] * (len(codes) - 1), 1])
    assert len(codes) >= RECOVERIES_MAX
    assert incident is not None
    assert incident.status == "incident"
    assert (code, summary["status"], summary["output"]["data"]) == (0, "success", "alive")


def resumed_code(home):
    process = noetl("resume", "1", home=home)
    _, errors = ended(process)
    assert process.returncode == -9 or "incident" in errors
    return process.returncode
