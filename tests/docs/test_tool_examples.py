"""The examples of the kinds' pages run for real, as the pages say, and give what they promise."""

import json
import shutil
import subprocess
import sys

import pytest

from noetl.testing.services import running_nats
from tests.cli.running import document, noetl
from tests.dsl.front import PLAYBOOKS

EXAMPLES = PLAYBOOKS.parent.parent / "examples" / "tools"
OUTPUTS = {
    "noop": {"message": "order 7 needs an approval"},
    "playbook": [{"id": 1, "is_large": False}, {"message": "order 2 needs an approval"}],
    "python": {"rows": 5, "mean": 0.227, "least": -0.757, "most": 0.909},
    "resolve": [{"id": 9998, "square": 99960004}, {"id": 9999, "square": 99980001}],
    "script": {"total": 24.51, "currency": "EUR"},
    "shell": {"text": "hello, Ada; rm -rf /", "lines": 3},
    "workbook": {"book": 12.0, "food": 11.0},
}


@pytest.mark.slow
@pytest.mark.spec("TL-01")
@pytest.mark.parametrize("kind", OUTPUTS)
def test_the_example_of_a_kind_gives_what_its_page_shows(kind, tmp_path):
    found = document(noetl("run", str(EXAMPLES / f"{kind}.yaml"), "--format", "json", home=tmp_path))

    assert (found["status"], found["output"]["data"]) == ("success", OUTPUTS[kind])


@pytest.mark.slow
@pytest.mark.spec("UP-09", "TL-01")
def test_the_example_of_nats_counts_its_runs(tmp_path):
    with running_nats() as url:
        words = ("run", str(EXAMPLES / "nats.yaml"), "--format", "json")
        secret = {"NOETL_SECRET_LAB": json.dumps({"url": url})}
        found = [document(noetl(*words, home=tmp_path, **secret)) for _ in range(2)]

    assert [one["output"]["data"] for one in found] == [{"visits": 1}, {"visits": 2}]


@pytest.mark.slow
@pytest.mark.spec("TL-01")
def test_the_example_of_duckdb_gives_what_its_page_shows(tmp_path):
    shutil.copy(EXAMPLES / "duckdb.yaml", tmp_path)  # its database is made beside it

    found = document(noetl("run", str(tmp_path / "duckdb.yaml"), "--format", "json", home=tmp_path))

    assert found["output"]["data"] == [{"customers": 1, "most": "26.20"}]


@pytest.mark.slow
@pytest.mark.spec("TL-01")
def test_the_example_of_http_gives_what_its_page_shows(tmp_path):
    command = [sys.executable, str(EXAMPLES.parent / "api.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as api:
        url = api.stdout.readline().strip()
        words = ("run", str(EXAMPLES / "http.yaml"), "--format", "json", "--set", f"api_url={url}")
        found = document(noetl(*words, home=tmp_path))
        api.terminate()

    assert found["output"]["data"] == {"orders": [1, 2, 3], "users_bytes": 2520, "sent": 201}
