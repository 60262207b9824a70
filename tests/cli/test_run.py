"""noetl run, as a whole process: what goes where, exit codes, payloads, playbooks that do not check."""

import os
import pty
import re
import select
import subprocess
import sys

import pytest

from tests.cli.running import BAD, FAIL, GREET, LOOP, WAIT, document, noetl

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def home(tmp_path):
    for name, text in {"greet": GREET, "fail": FAIL, "wait": WAIT, "loop": LOOP, "bad": BAD}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def test_the_output_goes_to_standard_output_and_progress_to_standard_error(home):
    done = noetl("run", "greet.yaml", home=home)

    assert done.returncode == 0, done.stderr
    assert done.stdout == '{\n  "text": "hello",\n  "city": "Rome"\n}\n'
    assert "✓ start: done in " in done.stderr
    assert re.search(r"✓ success in .* · execution (\d+)\nnext: noetl show \1\n\Z", done.stderr)
    assert "\x1b" not in done.stderr


@pytest.mark.spec("RT-13")
def test_json_is_one_document_and_nothing_else(home):
    done = noetl("run", "greet.yaml", "--format", "json", home=home)

    found = document(done)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(found) == ["execution_id", "status", "output", "ctx", "error", "steps", "duration_ms"]
    assert (found["status"], found["error"], found["ctx"]) == ("success", None, {"text": "hello"})
    assert found["output"]["data"] == {"text": "hello", "city": "Rome"}
    assert found["steps"] == [
        {"step": "start", "runs": 1, "status": "success"},
        {"step": "end", "runs": 1, "status": "success"},
        {"step": "never", "runs": 0, "status": "not_run"},
    ]
    assert found["duration_ms"] >= 0


@pytest.mark.spec("SC-01")
def test_the_payload_and_set_are_laid_over_the_workload(home):
    payload = '{"greeting": "hi", "extra": 1}'

    done = noetl("run", "greet.yaml", "--payload", payload, "--set", "place.city=Oslo", "--format", "json", home=home)

    assert document(done)["output"]["data"] == {"text": "hi", "city": "Oslo"}


def test_a_playbook_comes_from_standard_input(home):
    done = noetl("run", "-", "--set", "greeting=ciao", home=home, stdin=GREET.encode())

    assert done.returncode == 0, done.stderr
    assert '"ciao"' in done.stdout


def test_quiet_says_only_how_it_ended(home):
    done = noetl("run", "greet.yaml", "--quiet", home=home)

    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("✓ success in ")


@pytest.mark.spec("RT-05")
def test_a_failure_leaves_with_1_and_names_step_task_and_place(home):
    done = noetl("run", "fail.yaml", home=home)

    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(r'^error: step "start", task "refuse" \(fail\.yaml:7:9\): ', done.stderr, re.MULTILINE)
    assert re.search(r"^next: noetl show (\d+)\nnext: noetl rerun \1 --from-failed\n\Z", done.stderr, re.MULTILINE)


@pytest.mark.spec("RT-05")
def test_a_failure_as_json_has_the_error(home):
    done = noetl("run", "fail.yaml", "--format", "json", home=home)

    found = document(done)
    assert (done.returncode, found["status"]) == (1, "failed")
    assert (found["error"]["step"], found["error"]["task"]) == ("start", "refuse")
    assert found["error"]["message"]


@pytest.mark.spec("ST-06")
def test_a_run_that_waits_leaves_with_4_and_says_how_to_go_on(home):
    done = noetl("run", "wait.yaml", home=home)

    assert done.returncode == 4, done.stderr
    assert "approve: waits for a signal" in done.stderr
    assert "noetl signal" in done.stderr


def test_a_loop_is_told_with_counts_not_iteration_by_iteration(home):
    done = noetl("run", "loop.yaml", home=home)

    assert done.returncode == 0, done.stderr
    assert "each: 20 iterations" in done.stderr
    assert "(20 of 20 iterations)" in done.stderr
    assert len(done.stderr.splitlines()) <= 8


def test_a_playbook_that_does_not_check_leaves_with_2_and_starts_nothing(home):
    done = noetl("run", "bad.yaml", home=home)

    assert (done.returncode, done.stdout) == (2, "")
    assert "bad.yaml:" in done.stderr
    assert "error NL303" in done.stderr
    assert done.stderr.endswith('"bad.yaml" does not check, so nothing was started\nnext: noetl explain NL303\n')
    assert noetl("list", "--format", "json", home=home).stdout.strip() == "[]"


def test_a_playbook_that_does_not_check_gives_its_findings_as_json(home):
    done = noetl("run", "bad.yaml", "--format", "json", home=home)

    found = document(done)
    assert (done.returncode, done.stderr, found["status"]) == (2, "", "invalid")
    assert [(one["code"], one["severity"]) for one in found["findings"]] == [("NL303", "error")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing.yaml",), 'there is no file "nothing.yaml", and the catalog has no playbook "nothing.yaml"'),
        (("reports/daily@x",), "PATH@VERSION with a number"),
        ((".",), '"." is a folder; name one playbook file in it'),
        (("greet.yaml", "--set", "a"), 'has no "="'),
        (("greet.yaml", "--payload", "[1]"), "must be a JSON mapping, but is a list"),
        (("greet.yaml", "--payload", "@nope.json"), '"nope.json": No such file'),
        (("-", "--payload", "-"), "cannot both come from standard input"),
        (("greet.yaml", "--store", "postgresql://a:hunter2@b/c"), "PostgreSQL, which belongs to servers"),
        (("greet.yaml", "--store", "x.db"), "store.url (from --store) must be sqlite:///"),
        (("greet.yaml", "--home", "greet.yaml"), "home (from --home) must be a folder"),
    ],
)
def test_wrong_input_leaves_with_2_and_starts_nothing(home, words, message):
    done = noetl("run", *words, home=home)

    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.spec("EV-06")
def test_the_same_request_key_gives_the_same_execution(home):
    words = ("run", "greet.yaml", "--request-key", "order-17", "--format", "json")

    first, second = (document(noetl(*words, home=home)) for _ in range(2))

    assert first["execution_id"] == second["execution_id"]


def test_data_cannot_talk_to_the_terminal(home):
    done = noetl("run", "greet.yaml", "--payload", '{"greeting": "\\u001b[2J\\u009b31m"}', home=home)

    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert "\x9b" not in done.stdout + done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_on_a_terminal_the_status_is_coloured_unless_no_color_is_set(home):
    plain, coloured = (on_terminal(home, **environ) for environ in ({"NO_COLOR": "1"}, {}))

    assert "success" in plain
    assert "\x1b[3" not in plain
    assert "\x1b[3" in coloured
    assert "success" in ANSI.sub("", coloured)


def on_terminal(home, **environ):
    """What `noetl run greet.yaml` shows on a terminal."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "noetl", "run", "greet.yaml"],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        cwd=home,
        env={**os.environ, "TERM": "xterm", "NOETL_HOME": str(home / ".noetl"), **environ},
    )
    os.close(terminal)
    shown = b""
    while select.select([controller], [], [], 30)[0]:
        try:
            piece = os.read(controller, 65536)
        except OSError:  # Linux says so when the last writer has gone
            break
        if not piece:
            break
        shown += piece
    os.close(controller)
    assert process.wait(timeout=30) == 0
    return shown.decode()
