"""Every example runs for real, against the API beside them, and gives what it promises."""

import json
import os
import subprocess
import sys
from urllib.request import urlopen

import pytest

from tests.dsl.front import PLAYBOOKS

ROOT = PLAYBOOKS.parent.parent
EXAMPLES = ROOT / "examples"
WITH_A_DATABASE = {"paging_postgres"}  # tests/integration/test_postgres_examples.py runs it
OUTPUTS = {
    "admission": "hello, 12 visitors",
    "fan_out_join": 81,
    "hello": "hello, world",
    "large_results": 20000,
    "nested_loops": {"rooms": 86},
    "paging": {"lists": 3, "rows": {"/orders": 120, "/users": 230}, "missing": ["/invoices"]},
    "polling": {"id": "1", "state": "ready"},
}


@pytest.fixture
def api_url():
    command = [sys.executable, str(EXAMPLES / "api.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as api:
        yield api.stdout.readline().strip()
        api.terminate()


def noetl(*words, home):
    environ = {**os.environ, "NOETL_HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-m", "noetl", *words], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60
    )


def run_example(name, api_url, home):
    words = ["run", f"examples/{name}.yaml", "--format", "json"]
    done = noetl(*words, "--set", f"api_url={api_url}", home=home)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_every_example_is_run_here():
    assert {path.stem for path in EXAMPLES.glob("*.yaml")} == {*OUTPUTS, "saga", *WITH_A_DATABASE}


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_example_runs_and_gives_what_it_promises(name, api_url, tmp_path):
    found = run_example(name, api_url, tmp_path)

    assert (found["status"], found["output"]["data"]) == ("success", OUTPUTS[name])


@pytest.mark.spec("ST-12")
def test_the_saga_gives_its_flight_back_when_the_hotel_is_full(api_url, tmp_path):
    found = run_example("saga", api_url, tmp_path)
    events = [
        json.loads(line) for line in noetl("events", "last", "--format", "json", home=tmp_path).stdout.splitlines()
    ]

    assert (found["status"], found["error"]["step"], found["ctx"]) == ("failed", "book_hotel", {"flight": "F1"})
    assert "workflow.compensating" in [event["name"] for event in events]
    with urlopen(f"{api_url}/flights") as answer:  # noqa: S310 - the API of this test
        assert json.load(answer) == {"booked": {}}
