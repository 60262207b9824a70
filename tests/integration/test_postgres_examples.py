"""The examples with a database run as their pages say, from the credential to the rows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

ROOT = Path(__file__).parent.parent.parent
ROBERT = {"customer": "Robert'); DROP TABLE orders; --", "amount": "99.00", "tags": ["new"]}


@pytest.fixture
def noetl(tmp_path, database_url):
    """The command line over a new home in which the credential `warehouse` is stored."""

    def run(*words, stdin=""):
        environ = {**os.environ, "NOETL_HOME": str(tmp_path)}
        command = [sys.executable, "-m", "noetl", *words]
        done = subprocess.run(
            command, cwd=ROOT, env=environ, input=stdin, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(
        *"keychain set warehouse --kind postgres_credential --from-json -".split(),
        stdin=json.dumps({"dsn": database_url}),
    )
    return run


@pytest.fixture
def api_url():
    command = [sys.executable, str(ROOT / "examples" / "api.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as api:
        yield api.stdout.readline().strip()
        api.terminate()


@pytest.mark.slow
@pytest.mark.spec("TL-01")
def test_the_example_of_the_kinds_page_gives_what_the_page_says(noetl):
    noetl("check", "--strict", "examples/tools/postgres.yaml")
    all_rows = json.loads(noetl("run", "examples/tools/postgres.yaml", "--format", "json"))
    large = json.loads(noetl("run", "examples/tools/postgres.yaml", "--format", "json", "--set", "least_amount=50"))

    assert [row["customer"] for row in all_rows["output"]["data"]] == ["Ada", "Linus", ROBERT["customer"]]
    assert large["output"]["data"] == [ROBERT]


@pytest.mark.slow
def test_the_example_of_transfer_gives_what_its_page_says(noetl):
    found = json.loads(noetl("run", "examples/tools/transfer.yaml", "--format", "json"))
    more = json.loads(noetl("run", "examples/tools/transfer.yaml", "--format", "json", "--set", "least_amount=5"))

    assert [row["name"] for row in found["output"]["data"]] == ["Ada", "Grace"]
    assert [row["name"] for row in more["output"]["data"]] == ["Ada", "Grace", "Edsger"]


def test_pages_of_an_api_are_streamed_into_a_table(noetl, api_url, database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE rows (list text, page int, body jsonb)")
        found = json.loads(
            noetl("run", "examples/paging_postgres.yaml", "--format", "json", "--set", f"api_url={api_url}")
        )
        stored = connection.execute(
            "SELECT list, count(*), sum(jsonb_array_length(body)) FROM rows GROUP BY list ORDER BY list"
        ).fetchall()

    assert (found["status"], found["output"]["data"]) == ("success", {"done": 2, "failed": 0, "missing": []})
    assert stored == [("/orders", 3, 120), ("/users", 3, 230)]


SERVICES = [sys.executable, "-m", "noetl.testing.services"]


@pytest.mark.slow
def test_a_server_to_try_things_with_runs_until_it_is_stopped():
    with subprocess.Popen([*SERVICES, "postgres"], stdout=subprocess.PIPE, text=True) as server:
        url = server.stdout.readline().strip()
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        server.terminate()

    assert server.returncode == 0
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)


def test_a_service_that_is_not_there_is_named_with_those_that_are():
    done = subprocess.run([*SERVICES, "oracle"], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert "postgres|nats|s3" in done.stderr
