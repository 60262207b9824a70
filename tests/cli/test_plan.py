"""noetl plan, as whole processes: nothing is run, nothing is kept, what is unknown is said, connections are tried."""

import json
import socket

import pytest

from noetl.cli import exits
from noetl.testing.http_server import running_api
from tests.cli.remote_server import serving
from tests.cli.running import BAD, HEAD, document, noetl

ORDERS = (
    HEAD
    + """workload: {pages: [1, 2, 3, 4], url: "https://shop.example.com"}
workflow:
  - step: fetch
    loop: {in: "{{ workload.pages }}", iterator: page, spec: {mode: parallel, max_in_flight: 2}}
    tool:
      - name: get
        kind: http
        url: "{{ workload.url }}/orders?page={{ iter.page }}"
        spec:
          timeout: 10
          policy:
            rules:
              - when: "{{ output.status == 'error' and output.error.retryable }}"
                then: {do: retry, attempts: 3, backoff: exponential, delay: 1}
              - when: "{{ output.status == 'error' }}"
                then: {do: fail}
    next:
      arcs:
        - {step: report, when: "{{ event.name == 'loop.done' }}"}
  - step: report
    tool: {kind: noop}
"""
)
CALLER = (
    HEAD.replace("tests/trial", "tests/caller")
    + """workflow:
  - step: call
    tool:
      kind: playbook
      path: orders
      input: {pages: [1, 2]}
"""
)
SIGNED = (
    HEAD
    + """keychain:
  - {name: shop, kind: bearer}
  - {name: warehouse, kind: postgres_credential}
workflow:
  - step: start
    tool: {kind: noop}
"""
)
CANARY = "canary-7f3a9c51"


@pytest.fixture
def home(tmp_path):
    (tmp_path / "orders.yaml").write_text(ORDERS)
    (tmp_path / "caller.yaml").write_text(CALLER)
    (tmp_path / "signed.yaml").write_text(SIGNED)
    return tmp_path


def planned(*words, home, **environ):
    done = noetl("plan", *words, "--format", "json", home=home, **environ)
    assert done.returncode == exits.DONE, done.stderr
    return document(done)


def test_a_plan_has_the_worst_case_of_each_step_and_of_the_whole(home):
    found = planned("orders.yaml", home=home)

    fetch = next(step for step in found["steps"] if step["step"] == "fetch")
    one = 3 * 10 + (1 + 2)
    assert (fetch["loop"]["iterations_max"], fetch["attempts_max"], fetch["seconds_max"]) == (4, 12, 2 * one)
    assert (found["status"], found["attempts_max"], found["seconds_max"]) == ("planned", 13, 2 * one)
    assert found["unknown"] == []


def test_nothing_is_run_and_nothing_is_kept(home):
    planned("orders.yaml", home=home)

    assert not (home / ".noetl").exists()


def test_the_payload_counts(home):
    assert planned("orders.yaml", "--set", "pages=[1]", home=home)["attempts_max"] == 4


def test_the_table_fits_eighty_columns_and_ends_with_the_next_command(home):
    done = noetl("plan", "orders.yaml", home=home)

    lines = done.stdout.splitlines()
    assert lines[0] == "trial  2 steps; at worst 13 attempts, 1 m 06 s"
    assert [line.split() for line in lines if line.startswith("  get: http")] == [
        ["get:", "http", "3", "10.0", "s", "3.0", "s", "33.0", "s"]
    ]
    assert max(map(len, lines)) <= 80
    assert done.stderr.splitlines() == ["next: noetl plan orders.yaml --connect", "next: noetl run orders.yaml"]


def test_what_only_the_run_tells_is_unknown_with_its_reason(home):
    (home / "pages.yaml").write_text(ORDERS.replace("workload.pages }}", "ctx.pages }}"))

    done = noetl("plan", "pages.yaml", home=home)

    assert done.returncode == exits.DONE
    assert 'the number of iterations of step "fetch" depends on ctx.pages' in " ".join(done.stdout.split())


def test_a_playbook_that_does_not_check_is_refused_with_its_findings(home):
    (home / "bad.yaml").write_text(BAD)

    text, data = noetl("plan", "bad.yaml", home=home), noetl("plan", "bad.yaml", "--format", "json", home=home)

    assert (text.returncode, data.returncode) == (exits.WRONG_INPUT, exits.WRONG_INPUT)
    assert "does not check, so nothing was planned" in text.stderr
    assert document(data)["status"] == "invalid"


def test_a_child_beside_its_caller_is_planned_with_the_payload_it_gets(home):
    found = planned("caller.yaml", home=home)

    (call,) = found["calls"]
    assert (call["path"], call["from"], call["plan"]["attempts_max"]) == ("orders", "file", 7)
    assert found["seconds_max"] == 33


def test_a_playbook_that_calls_itself_is_said_and_ends(home):
    (home / "orders.yaml").write_text(CALLER)

    found = planned("orders.yaml", home=home)

    assert "it is called by itself" in found["calls"][0]["why_not"]
    assert found["seconds_max"] is None


def test_a_child_that_is_nowhere_is_said(home):
    (home / "orders.yaml").unlink()

    found = planned("caller.yaml", home=home)

    assert found["calls"][0]["plan"] is None
    assert "orders" in found["calls"][0]["why_not"]


def test_a_registered_playbook_is_planned_by_its_path(home):
    noetl("catalog", "register", "orders.yaml", home=home)

    assert planned("tests/trial@1", home=home)["attempts_max"] == 13
    assert noetl("plan", "tests/other", home=home).returncode == exits.WRONG_INPUT


@pytest.mark.spec("KC-05")
def test_credentials_are_named_and_never_shown(home):
    secret = json.dumps({"token": CANARY})

    done = noetl("plan", "signed.yaml", "--format", "json", home=home, NOETL_SECRET_SHOP=secret)

    states = {one["name"]: one["state"] for one in document(done)["needs"]["credentials"]}
    assert states == {"shop": "found", "warehouse": "missing"}
    assert CANARY not in done.stdout + done.stderr


# --- connections -----------------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_connect_asks_the_hosts_of_http_tasks_and_changes_nothing(home):
    with running_api() as server:
        words = ("plan", "orders.yaml", "--connect", "--set", f"url={server.url}", "--format", "json")
        done = noetl(*words, home=home)

        seen = [(one.method, one.path) for one in server.requests()]

    states = {(one["area"], one["state"]) for one in document(done)["connections"]}
    assert (done.returncode, states) == (exits.DONE, {("http", "ok"), ("results", "ok")})
    assert seen == [("HEAD", "/")]


def test_a_host_that_only_the_run_can_tell_is_said_to_be_not_tried(home):
    (home / "told.yaml").write_text(ORDERS.replace("{{ workload.url }}/orders", "{{ ctx.url }}/orders"))

    done = noetl("plan", "told.yaml", "--connect", "--format", "json", home=home)

    (row,) = [one for one in document(done)["connections"] if one["area"] == "http"]
    assert (done.returncode, row["state"]) == (exits.DONE, "warn")
    assert row["says"] == "not tried: its host depends on ctx.url, iter.page"


def test_a_credential_that_is_not_there_is_said_with_the_command_that_sets_it(home):
    done = noetl("plan", "signed.yaml", "--connect", "--format", "json", home=home)

    fixes = {one["name"]: one["fix"] for one in document(done)["connections"] if one["area"] == "credential"}
    assert fixes["warehouse"] == "noetl keychain set warehouse --kind postgres_credential"


def test_a_host_with_a_users_name_before_it_is_asked_without_it(home):
    with running_api() as server:
        url = server.url.replace("//", f"//ann:{CANARY}@")
        done = noetl("plan", "orders.yaml", "--connect", "--set", f"url={url}", "--format", "json", home=home)

    assert [one["name"] for one in document(done)["connections"] if one["area"] == "http"] == [server.url]
    assert CANARY not in done.stdout + done.stderr


def test_a_host_that_does_not_answer_fails_the_check_and_says_what_to_do(home):
    url = f"http://127.0.0.1:{free_port()}"

    done = noetl("plan", "orders.yaml", "--connect", "--set", f"url={url}", home=home)

    assert done.returncode == exits.FAILED
    assert f"✗ http {url}: no answer to HEAD /" in done.stdout
    assert "do: see whether it runs" in done.stdout


@pytest.mark.spec("KC-05")
def test_a_database_that_cannot_be_reached_fails_without_showing_the_password(home):
    where = {"host": "127.0.0.1", "port": free_port(), "user": "u", "password": CANARY, "database": "d"}
    environ = {"NOETL_SECRET_WAREHOUSE": json.dumps(where), "NOETL_SECRET_SHOP": json.dumps({"token": CANARY})}

    done = noetl("plan", "signed.yaml", "--connect", "--format", "json", home=home, **environ)

    states = {one["name"]: one["state"] for one in document(done)["connections"] if one["area"] == "credential"}
    assert (done.returncode, states) == (exits.FAILED, {"shop": "ok", "warehouse": "fail"})
    assert CANARY not in done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.xdist_group("remote")
def test_with_a_server_its_catalog_is_planned_and_connections_are_refused(home):
    with serving(home / "there") as server:
        ask = ("--server", server.url, "--token-file", str(home / "there" / "server.token"))
        noetl("catalog", "register", "orders.yaml", *ask, home=home)

        found = planned("tests/trial", *ask, home=home)
        refused = noetl("plan", "tests/trial", "--connect", *ask, home=home)

    assert found["attempts_max"] == 13
    assert refused.returncode == exits.WRONG_INPUT
    assert "on a worker's machine" in " ".join(refused.stderr.split())
