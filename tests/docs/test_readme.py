"""The first five minutes of README.md, as they stand there."""

import re
import signal
import subprocess
import sys

import pytest

from tests.cli.running import document, noetl
from tests.dsl.front import PLAYBOOKS

README = (PLAYBOOKS.parent.parent / "README.md").read_text("utf-8")
SHOWN = dict(re.findall(r"^\$ noetl (.*)\n((?:(?!^\$|```).*\n)*)", README, re.MULTILINE))


@pytest.fixture
def home(tmp_path):
    (playbook,) = re.findall(r"^```yaml\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    (tmp_path / "cities.yaml").write_text(playbook)
    return tmp_path


def lines_of(text):
    """Lines without times, which differ."""
    return re.sub(r"\d+(\.\d+)? (ms|s)\b", "a while", text).splitlines()


def test_the_playbook_checks_as_shown(home):
    done = noetl("check", "cities.yaml", home=home)

    assert (done.returncode, done.stdout + done.stderr) == (0, SHOWN["check cities.yaml"])


@pytest.mark.slow
def test_a_run_says_the_lines_that_are_shown(home):
    shown = lines_of(README.partition("$ noetl run cities.yaml\n")[2].partition("```")[0])

    done = noetl("run", "cities.yaml", home=home)

    said = lines_of(done.stderr) + done.stdout.splitlines()
    assert [line for line in shown if line != "…" and line not in said] == []


@pytest.mark.slow
@pytest.mark.spec("TK-15")
def test_a_run_that_was_interrupted_goes_on_and_looks_as_shown(home):
    command = [sys.executable, "-m", "noetl", "run", "cities.yaml", "--home", str(home / ".noetl")]
    with subprocess.Popen(command, cwd=home, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as run:
        next(line for line in run.stderr if "Oslo has been counted" in line)
        run.send_signal(signal.SIGINT)
        rest = run.stderr.read()
    resumed = noetl("resume", "last", home=home)
    shown = noetl("show", "last", home=home)

    assert (run.returncode, rest.splitlines()[-1]) == (130, "stopped; noetl resume 1 goes on where it stopped")
    assert "▸ going on where it stopped" in resumed.stderr
    assert "Lima has been counted" not in resumed.stderr
    rows = [line for line in SHOWN["show last"].splitlines() if line.startswith("✓")]
    assert [row for row in rows if row.split()[1] not in shown.stdout] == []
    assert document(noetl("replay", "last", "--verify", "--format", "json", home=home))["is_equal"] is True
