"""Playbooks with credentials from each source, run by whole processes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from noetl.testing.http_server import Answer, running_api
from tests.stores.unpacked import unpacked

CANARY = "CANARY-s3cr3t-99887766"
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: signed}\n"
CALL = """
workflow:
  - step: ask
    tool: {kind: http, url: "{{ workload.url }}/echo", auth: api}
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def api():
    with running_api() as running:
        yield running


@pytest.fixture
def noetl(tmp_path):
    """Runs a command in an empty home; its variables are keywords."""

    def command(*words, text=None, **variables):
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("NOETL_")}
        environ = {**inherited, "NOETL_HOME": str(tmp_path / "home"), **variables}
        return subprocess.run(
            [sys.executable, "-m", "noetl", *words],
            cwd=tmp_path,
            env=environ,
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return command


def written(folder, keychain, rest=CALL):
    file = folder / "signed.yaml"
    file.write_text(f"{HEAD}keychain:\n  - {keychain}\nworkload: {{url: ''}}{rest}")
    return str(file)


def assert_unseen(folder, *runs):
    """Neither what was printed nor a byte of the home shows the canary."""
    stored = b"".join(unpacked(file) for file in (folder / "home").rglob("*") if file.is_file())
    assert CANARY.encode() not in stored
    assert [done for done in runs if CANARY in done.stdout + done.stderr] == []


@pytest.mark.spec("KC-01", "KC-04")
@pytest.mark.parametrize(
    ("keychain", "variables", "message"),
    [
        ("{name: api, kind: bearer}", {}, "NOETL_SECRET_API"),
        (
            "{name: api, kind: basic}",
            {"NOETL_SECRET_API": json.dumps({"username": CANARY})},
            "a basic needs username, password; it has: username",
        ),
        ("{name: api, kind: bearer, provider: env, variable: APP}", {"APP": CANARY}, "keychain.env_allow"),
        (
            "{name: api, kind: oauth2}",
            {
                "NOETL_SECRET_API": json.dumps(
                    {"token_url": "http://127.0.0.1:1", "client_id": "a", "client_secret": CANARY}
                )
            },
            'the token endpoint of credential "api"',
        ),
    ],
)
def test_an_entry_that_cannot_be_resolved_fails_the_request_and_no_step_runs(
    tmp_path, noetl, keychain, variables, message
):
    file = written(tmp_path, keychain)

    done = noetl("run", file, **variables)
    listed = noetl("list", "--format", "json")

    assert done.returncode == 2
    assert "the credential api cannot be resolved" in done.stderr
    assert message in done.stderr
    assert json.loads(listed.stdout) == []
    assert_unseen(tmp_path, done, listed)


@pytest.mark.spec("KC-01", "KC-03", "KC-04")
def test_a_stored_credential_and_one_of_a_vault_sign_requests(tmp_path, noetl, api):
    api.script("/v1/secret/data/app", Answer(json={"data": {"data": {"token": CANARY}, "metadata": {"version": 1}}}))
    stored = noetl("keychain", "set", "api", "--kind", "bearer", "--from-json", "-", text=json.dumps({"token": CANARY}))
    words = ("--set", f"url={api.url}", "--format", "json")
    vault = {"NOETL_KEYCHAIN_VAULT_URL": api.url, "NOETL_VAULT_TOKEN": "t0ken-of-vault"}

    first = noetl("run", written(tmp_path, "{name: api, kind: bearer}"), *words)
    removed = noetl("keychain", "remove", "api")
    second = noetl("run", written(tmp_path, "{name: api, kind: bearer, provider: vault, path: app}"), *words, **vault)

    assert [done.returncode for done in (stored, first, removed, second)] == [0] * 4
    assert [seen.headers["authorization"] for seen in api.requests("/echo")] == [f"Bearer {CANARY}"] * 2
    assert json.loads(second.stdout)["output"]["data"]["headers"]["authorization"] == "Bearer ***"
    assert_unseen(tmp_path, stored, first, removed, second)


@pytest.mark.spec("KC-04", "KC-05")
def test_two_hundred_parallel_tasks_share_one_token(tmp_path, noetl, api):
    api.script("/token", Answer(json={"access_token": CANARY, "expires_in": 3600}, delay_seconds=0.1))
    entry = {"token_url": f"{api.url}/token", "client_id": "me", "client_secret": "another-s3cret"}
    loop = """
workflow:
  - step: ask
    loop: {in: "{{ range(200) | list }}", iterator: number, spec: {mode: parallel, max_in_flight: 200}}
    tool: {kind: http, url: "{{ workload.url }}/echo", auth: api}
"""

    file = written(tmp_path, "{name: api, kind: oauth2}", loop)
    done = noetl("run", file, "--set", f"url={api.url}", "--format", "json", NOETL_SECRET_API=json.dumps(entry))

    assert done.returncode == 0, done.stderr
    assert len(api.requests("/echo")) == 200
    assert len(api.requests("/token")) == 1
    assert_unseen(tmp_path, done)


@pytest.mark.spec("KC-01", "TK-07")
def test_a_credential_that_is_away_for_a_moment_is_asked_for_again_if_the_rules_say_so(tmp_path, noetl, api):
    tokens = [Answer(json={"access_token": CANARY, "expires_in": seconds}) for seconds in (1e-6, 3600)]
    api.script("/token", tokens[0], Answer(status=503), tokens[1])
    entry = {"token_url": f"{api.url}/token", "client_id": "me", "client_secret": "another-s3cret"}
    retried = """
workflow:
  - step: ask
    tool:
      - name: sign
        kind: python
        input: {t: "{{ keychain.api.token }}", code: result = len(t)}
        spec:
          policy:
            rules:
              - when: "{{ output.status == 'error' and output.error.retryable }}"
                then: {do: retry, attempts: 3, delay: 0.01}
              - else: {then: {do: continue}}
      - name: after
        kind: python
        input: {n: "{{ sign.data }}", code: result = n + 1}
"""

    file = written(tmp_path, "{name: api, kind: oauth2}", retried)
    done = noetl("run", file, "--format", "json", NOETL_SECRET_API=json.dumps(entry))

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["output"]["data"] == len(CANARY) + 1
    assert len(api.requests("/token")) == 3
    assert_unseen(tmp_path, done)


@pytest.mark.spec("KC-01")
def test_a_credential_that_is_lost_during_a_run_fails_the_task_that_reads_it(tmp_path, noetl, api):
    api.script("/token", Answer(json={"access_token": CANARY, "expires_in": 1e-6}), Answer(status=503))
    entry = {"token_url": f"{api.url}/token", "client_id": "me", "client_secret": "another-s3cret"}
    late = """
workflow:
  - step: ask
    tool: {kind: python, input: {t: "{{ keychain.api.token }}", code: result = 1}}
"""

    file = written(tmp_path, "{name: api, kind: oauth2}", late)
    done = noetl("run", file, "--format", "json", NOETL_SECRET_API=json.dumps(entry))

    error = json.loads(done.stdout)["error"]
    assert (error["kind"], error["step"]) == ("auth", "ask")
    assert (
        'the credential "api" cannot be resolved: the token endpoint of credential "api" answered HTTP 503'
        in error["message"]
    )
    assert_unseen(tmp_path, done)


@pytest.mark.spec("TL-01", "KC-06")
def test_the_example_of_kind_secrets_runs_as_its_page_says(tmp_path, noetl):
    example = str(Path(__file__).parents[2] / "examples" / "tools" / "secrets.yaml")

    refused = noetl("run", example)
    done = noetl("run", example, "--format", "json", SHOP_TOKEN=CANARY, NOETL_KEYCHAIN_ENV_ALLOW="SHOP_*")

    assert refused.returncode == 2
    assert "keychain.env_allow" in refused.stderr
    assert json.loads(done.stdout)["output"]["data"]["renewed"] is True
    assert_unseen(tmp_path, refused, done)


@pytest.mark.spec("KC-05")
def test_a_secret_that_a_task_left_behind_before_a_crash_is_not_seen_after_it(tmp_path, noetl):
    steps = """
workflow:
  - step: leave
    tool: {kind: shell, command: 'printf %s "$TOKEN" > left', env: {TOKEN: "{{ keychain.api.token }}"}}
    next: {arcs: [{step: find}]}
  - step: find
    tool: {kind: shell, command: 'if [ -e killed ]; then cat left; else touch killed; kill -9 $PPID; fi'}
"""
    file = written(tmp_path, "{name: api, kind: bearer}", steps)

    killed = noetl("run", file, NOETL_SECRET_API=CANARY)
    resumed = noetl("resume", "1", NOETL_SECRET_API=CANARY)

    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "left").read_text() == CANARY
    assert "***" in resumed.stdout
    assert_unseen(tmp_path, killed, resumed)
