"""Every example runs for real, against the API beside them, and gives what it promises."""

import json
import os
import re
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


# --- the jobs --------------------------------------------------------------------------------------------------------

JOBS = sorted((EXAMPLES / "jobs").glob("*.yaml"))
JOB_TESTS = "".join(path.read_text("utf-8") for path in (ROOT / "tests" / "integration" / "jobs").glob("test_*.py"))
PLAYBOOKS_OF_JOBS = [path for path in JOBS if path.suffixes == [".yaml"]]
CALLED = {"backfill_day", "credentials_check_mail"}  # by others, with which they are run


def test_there_are_ten_jobs_and_more_and_each_is_run_for_real():
    names = {path.stem for path in PLAYBOOKS_OF_JOBS}

    assert len(names - CALLED) >= 10
    assert [name for name in sorted(names - CALLED) if f'.run("{name}"' not in JOB_TESTS] == ["webhook_ingest"]
    assert "call_hook(server.url, order)" in JOB_TESTS  # which a request starts


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.name)
def test_a_job_checks_strictly_and_is_laid_out(path, tmp_path):
    name = str(path.relative_to(ROOT))

    checked = noetl("check", "--strict", "--format", "json", name, home=tmp_path)
    laid_out = noetl("fmt", "--check", name, home=tmp_path)

    assert (checked.returncode, json.loads(checked.stdout)) == (0, [])
    assert laid_out.returncode == 0, laid_out.stdout


@pytest.mark.parametrize("path", PLAYBOOKS_OF_JOBS, ids=lambda path: path.stem)
def test_the_head_of_a_job_says_what_it_needs_and_how_it_is_run(path):
    head = path.read_text("utf-8").partition("apiVersion")[0]

    assert "\n# Needs  " in head
    assert re.search(rf"^# Run .*{path.name}|^#  .*{path.name}", head, re.MULTILINE)


def test_the_page_of_examples_lists_every_one_of_them():
    page = (EXAMPLES / "README.md").read_text("utf-8")
    names = [path.relative_to(EXAMPLES).as_posix() for path in (*EXAMPLES.glob("*.yaml"), *JOBS)]

    assert [name for name in names if f"]({name})" not in page] == []


@pytest.mark.slow
def test_jobs_without_a_database_run_against_the_api_beside_them(api_url, tmp_path):
    review = run_example("jobs/press_review", api_url, tmp_path)
    waiting = run_example("jobs/payout_approval", api_url, tmp_path)
    noetl("signal", "last", "--set", "ctx.approved=true", "--set", "ctx.approved_by=ada", home=tmp_path)
    paid = json.loads(noetl("resume", "last", "--format", "json", home=tmp_path).stdout)

    assert review["output"]["data"] == {"read": 4, "gone": ["gone"], "published": ["lakes", "pipes"]}
    assert (waiting["status"], paid["output"]["data"]["paid"]) == ("waiting", 1500)


@pytest.mark.slow
def test_the_tests_of_the_examples_pass_without_any_service(tmp_path):
    done = noetl("test", "examples/tests", "--format", "json", home=tmp_path)
    checked = noetl("check", "--strict", "--format", "json", "examples/tests", home=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(checked.stdout) == []
