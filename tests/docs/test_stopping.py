"""The guide about stopping and going on, as it stands there."""

import re
import signal
import subprocess
import sys

import pytest

from tests.cli.running import document, noetl
from tests.dsl.front import PLAYBOOKS

PAGE = (PLAYBOOKS.parent.parent / "docs" / "guides" / "stopping.md").read_text("utf-8")
SHOWN = dict(re.findall(r"^\$ noetl (.*)\n((?:(?!^\$|```).*\n)*)", PAGE, re.MULTILINE))


@pytest.fixture
def home(tmp_path):
    (playbook,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "cities.yaml").write_text(playbook)
    return tmp_path


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

    assert (run.returncode, rest.splitlines()[-2]) == (130, "stopped; noetl resume 1 goes on where it stopped")
    assert "▸ going on where it stopped" in resumed.stderr
    assert "Lima has been counted" not in resumed.stderr
    rows = [line for line in SHOWN["show last"].splitlines() if line.startswith("✓")]
    assert [row for row in rows if row.split()[1] not in shown.stdout] == []
    assert document(noetl("replay", "last", "--verify", "--format", "json", home=home))["is_equal"] is True
