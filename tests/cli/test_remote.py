"""The command line against a server: as locally, in documents, words and exit codes, over a real server process."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from noetl.cli import exits
from noetl.cli.group import _load
from noetl.cli.main import VERBS, main
from tests.cli.cutting_proxy import cutting
from tests.cli.remote_server import serving
from tests.cli.running import BAD, FAIL, GREET, HEAD, LOOP, WAIT, document, noetl
from tests.tools.tls_parts import Authority

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("remote")]

CALLS = (
    HEAD.replace("tests/trial", "tests/caller") + "workflow:\n  - step: start\n    tool: {kind: playbook, path: %s}\n"
)
TALKS = (
    HEAD
    + """workflow:
  - step: talk
    tool:
      kind: python
      code: |
        print("one line")
        print("another")
        return {"said": 2}
"""
)
LINGERS = (
    HEAD.replace("tests/trial", "tests/lingers")
    + """workflow:
  - step: linger
    tool: {kind: shell, command: sleep 60}
"""
)
TEXTS = {
    "greet": GREET,
    "fail": FAIL,
    "wait": WAIT,
    "loop": LOOP,
    "bad": BAD,
    "talks": TALKS,
    "lingers": LINGERS,
    "child": GREET.replace("tests/trial", "tests/child"),
    "calls": CALLS % "child",
}
VARIES = re.compile(r"\d+(\.\d+)? (ms|s)\b|execution \d+|(noetl \w+) \d+|\"trace\": \".*\"|\d{10}\.\d+|trace_id.*")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server over the store in a home of its own."""
    folder = tmp_path_factory.mktemp("remote")
    with serving(folder / ".noetl") as running:
        yield running


@pytest.fixture(scope="module")
def here(server):
    """The folder of playbooks beside the server's home: the token file there is found by itself."""
    folder = server.home.parent
    for name, text in TEXTS.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def ask(server, here):
    """Run a verb against the server."""
    return lambda *words, **more: noetl(*words, "--server", server.url, home=here, **more)


@pytest.fixture(scope="module")
def ran(ask):
    """The id of one execution of each playbook."""
    return {
        name: document(ask("run", f"{name}.yaml", "--format", "json"))["execution_id"]
        for name in ("greet", "fail", "wait", "loop", "talks", "calls")
    }


# --- the same documents ----------------------------------------------------------------------------------------------

LOOKING = [
    ("list",),
    ("list", "--limit", "2"),
    ("list", "--status", "failed"),
    ("list", "--status", "failed,success", "--path", "t*", "--q", "T", "--since", "24h", "--root"),
    *(("show", name) for name in ("greet", "fail", "wait", "loop", "calls")),
    *(("events", name) for name in ("greet", "loop", "calls")),
    ("events", "loop", "--after", "50"),
    ("events", "greet", "--follow"),
    ("events", "greet", "--follow", "--after", "9999"),
    ("replay", "greet"),
    ("replay", "wait"),
    ("replay", "greet", "--at", "5"),
    ("replay", "loop", "--verify"),
    ("why", "greet", "never"),
    ("why", "wait", "approve"),
    ("diff", "greet", "greet"),
    ("eval", "greet", "ctx.text ~ workload.greeting", "--at", "9"),
    ("eval", "loop", "ctx", "--step", "each"),
    ("catalog", "list"),
    ("catalog", "show", "tests/trial"),
    ("catalog", "show", "tests/trial@1"),
    ("token", "list"),
]


@pytest.mark.parametrize("words", LOOKING, ids=" ".join)
@pytest.mark.parametrize("form", ["json", "text"])
def test_a_verb_says_of_an_execution_what_it_says_locally(words, form, said, server, ran):
    meant = [ran.get(word, word) for word in words]

    local = said(*meant, "--format", form)
    code, output, told = remote = said(*meant, "--format", form, "--server", server.url)

    assert (code, output, without_place(told)) == local
    assert remote[0] == exits.DONE


def test_two_executions_differ_by_a_server_as_they_do_here(said, server, ran):
    words = ("diff", ran["greet"], ran["fail"])

    local, remote = said(*words), said(*words, "--server", server.url)

    assert (*remote[:2], without_place(remote[2])) == local
    assert (remote[0], "first difference" in remote[1]) == (exits.FAILED, True)


@pytest.fixture
def said(here, monkeypatch, capfd):
    """Run a verb in this process: exit code, standard output, standard error."""
    monkeypatch.chdir(here)
    monkeypatch.setenv("NOETL_HOME", str(here / ".noetl"))

    def run(*words):
        code = main(words)
        return code, *capfd.readouterr()

    return run


@pytest.mark.parametrize("name", ["greet", "fail", "wait", "loop", "talks", "calls", "bad"])
@pytest.mark.parametrize("form", ["json", "text"])
def test_run_says_what_it_says_locally(name, form, said, server, tmp_path):
    code, output, told = said("run", f"{name}.yaml", "--format", form, "--store", f"sqlite:///{tmp_path}/own.db")

    remote_code, remote_output, remote_told = said("run", f"{name}.yaml", "--format", form, "--server", server.url)

    assert settled(remote_output) == settled(output)
    assert settled(remote_told) == settled(told)
    assert remote_code == code


def without_place(text):
    """Advice repeats where the user asked, so that it can be pasted."""
    return re.sub(r"(?m)^(next: .*?) --(?:server|store) \S+$", r"\1", text)


def settled(text):
    """Text without what is another each time."""
    without = re.sub(r'"(execution_id|duration_ms|pid)": .*', "", without_place(text))
    return sorted(VARIES.sub("…", without).splitlines())


LOCAL = {"init", "test", "check", "explain", "fmt", "migrate", "schema", "graph", "completion", "server", "worker"}


def test_every_verb_about_executions_takes_a_server():
    commands = {name: _load(verb.target) for name, verb in VERBS.items() if name not in LOCAL}
    leaves = [leaf for command in commands.values() for leaf in getattr(command, "commands", {"": command}).values()]

    without = [leaf.name for leaf in leaves if not any("--server" in option.opts for option in leaf.params)]

    assert len(leaves) > len(commands)
    assert without == []


# --- running ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("run", "greet.yaml"), exits.DONE),
        (("run", "fail.yaml"), exits.FAILED),
        (("run", "bad.yaml"), exits.WRONG_INPUT),
        (("run", "no/such/playbook"), exits.WRONG_INPUT),
        (("run", "wait.yaml"), exits.WAITING),
        (("run", "tests/child"), exits.DONE),
        (("show", "999999"), exits.WRONG_INPUT),
        (("cancel", "1"), exits.WRONG_INPUT),
        (("sweep",), exits.WRONG_INPUT),
        (("import", "greet.yaml"), exits.WRONG_INPUT),
        (("catalog", "register", "bad.yaml"), exits.WRONG_INPUT),
        (("keychain", "rotate"), exits.WRONG_INPUT),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_exit_codes_are_those_of_local_runs(words, code, said, server, ran):
    assert said(*words, "--server", server.url)[0] == code


def test_the_same_request_key_is_the_same_execution(ask, here):
    first, second = (document(ask("run", "greet.yaml", "--request-key", "k1", "--format", "json")) for _ in range(2))

    assert first["execution_id"] == second["execution_id"]


def test_a_signal_and_a_resume_bring_a_waiting_execution_to_its_end(ask, here):
    waiting = document(ask("run", "wait.yaml", "--format", "json"))["execution_id"]

    signalled = ask("signal", waiting, "--set", "ctx.approved=true")
    resumed = ask("resume", waiting, "--format", "json")

    assert signalled.returncode == exits.DONE, signalled.stderr
    assert "next: noetl show " in signalled.stderr  # the server goes on by itself: nothing is to be resumed
    assert (resumed.returncode, document(resumed)["status"]) == (exits.DONE, "success")


def test_a_rerun_goes_on_from_a_step_with_another_value(ask, here, ran):
    again = ask("rerun", ran["greet"], "--from", "end", "--set", "ctx.text=never", "--format", "json")
    failing = ask("rerun", ran["fail"], "--from-failed")
    misplaced = ask("rerun", ran["greet"], "--from", "nowhere")

    assert (again.returncode, document(again)["ctx"]) == (exits.DONE, {"text": "never"})
    assert document(again)["execution_id"] != ran["greet"]
    assert failing.returncode == exits.FAILED
    assert (misplaced.returncode, "did not run" in misplaced.stderr) == (exits.WRONG_INPUT, True)


def test_all_that_a_rerun_does_is_told_however_quick_it_is(ask, here, ran):
    begun, kept = (ask("rerun", ran["greet"], *point).stderr for point in ([], ["--from", "end"]))

    assert ["▸ start: started" in said for said in (begun, kept)] == [True, False]
    assert all("▸ end: started" in said for said in (begun, kept))


def test_many_are_run_again_and_none_of_them_twice(ask, here, ran):
    words = ("--where", "status=failed", "--where", f"q={ran['fail']}", "--from-failed", "--format", "json")

    first, second = ask("rerun", *words, "--yes"), ask("rerun", *words, "--yes")
    unasked = ask("rerun", *words)

    row, same = ({one["execution_id"]: one for one in document(done)}[ran["fail"]] for done in (first, second))
    assert (first.returncode, row["execution_id"], row["status"]) == (exits.FAILED, ran["fail"], "failed")
    assert (row["is_new"], same["is_new"]) == (True, False)
    assert same["new_execution_id"] == row["new_execution_id"]
    assert unasked.returncode == exits.WRONG_INPUT


def test_a_run_whose_child_waits_is_waiting_too(ask, here):
    (here / "asks.yaml").write_text(WAIT.replace("tests/trial", "tests/asks"))
    (here / "above.yaml").write_text(CALLS % "asks")

    done = ask("run", "above.yaml", "--format", "json")

    assert (done.returncode, document(done)["status"]) == (exits.WAITING, "waiting")


def test_ctrl_c_detaches_and_says_how_to_cancel(server, ask, here):
    running = popen("run", "lingers.yaml", "--server", server.url, here=here)
    started = running.stderr.readline()

    running.stderr.readline()  # the step has started
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=20)

    number = re.search(r"execution (\d+)", started)[1]
    assert running.returncode == exits.INTERRUPTED
    assert f"noetl cancel {number} --server {server.url}" in said
    assert document(ask("show", number, "--format", "json"))["status"] == "running"
    assert ask("cancel", number, "--reason", "test").returncode == exits.DONE
    assert document(ask("show", number, "--format", "json"))["status"] == "cancelled"


def test_a_run_that_nobody_takes_says_why_and_so_does_show(tmp_path):
    (tmp_path / "greet.yaml").write_text(GREET)
    with serving(tmp_path / ".noetl", NOETL_SERVER_WORKERS="false") as server:
        running = popen("run", "greet.yaml", "--server", server.url, here=tmp_path)
        lines = [running.stderr.readline() for _ in range(3)]
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=20)
        shown = [noetl("show", "last", "--server", server.url, *more, home=tmp_path) for more in ((), JSON)]

    reason = '1 job waits and no worker polls the pool "default": start one with `noetl worker start --pool default`'
    assert reason in lines[2]
    assert reason in shown[0].stdout
    [unserved] = document(shown[1])["unserved"]
    assert (unserved["pool"], unserved["jobs"]) == ("default", 1)


JSON = ("--format", "json")


def popen(*words, here):
    return subprocess.Popen(
        [sys.executable, "-m", "noetl", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=here,
        env={**os.environ, "NOETL_HOME": str(here / ".noetl")},
    )


def test_files_that_come_along_are_those_of_this_run(ask, here):
    (here / "deep").mkdir(exist_ok=True)
    (here / "deep" / "leaf.yaml").write_text(GREET.replace("tests/trial", "tests/leaf").replace("hello", "first"))
    (here / "deeper.yaml").write_text((CALLS % "deep/leaf").replace("tests/caller", "tests/deeper"))
    (here / "top.yaml").write_text((CALLS % "deeper").replace("tests/caller", "tests/top"))
    first = document(ask("run", "top.yaml", "--format", "json"))
    (here / "deep" / "leaf.yaml").write_text(GREET.replace("tests/trial", "tests/leaf").replace("hello", "second"))

    second = document(ask("run", "top.yaml", "--format", "json"))

    assert [found["output"]["data"]["text"] for found in (first, second)] == ["first", "second"]


def test_a_child_that_does_not_check_is_named_and_nothing_starts(ask, here):
    (here / "broken.yaml").write_text(BAD.replace("tests/trial", "tests/broken"))
    (here / "caller.yaml").write_text(CALLS % "broken")

    done = ask("run", "caller.yaml")

    assert done.returncode == exits.WRONG_INPUT
    assert "broken.yaml:20:18: error NL303" in done.stderr


def test_a_script_beside_the_playbook_fails_with_a_reason(ask, here):
    (here / "job.sh").write_text("echo hello")
    (here / "scripts.yaml").write_text(HEAD + "workflow:\n  - step: s\n    tool: {kind: script, path: job.sh}\n")

    done = ask("run", "scripts.yaml")

    assert done.returncode == exits.FAILED
    assert "the playbook has no folder" in done.stderr


# --- connections that break ------------------------------------------------------------------------------------------


def test_a_broken_connection_loses_and_doubles_no_event(server, here, ran):
    with cutting(server.port, 4_000) as proxy:
        followed = noetl("events", ran["loop"], "-f", "--format", "json", "--server", proxy.url, home=here)

    whole = noetl("events", ran["loop"], "--format", "json", home=here)
    assert proxy.cuts > 3
    assert followed.stdout == whole.stdout


def test_a_run_over_a_broken_connection_shows_everything_once(server, here, ask):
    with cutting(server.port, 6_000) as proxy:
        broken = noetl("run", "loop.yaml", "--server", proxy.url, home=here)

    whole = ask("run", "loop.yaml")
    assert proxy.cuts > 1
    assert settled(broken.stderr) == settled(whole.stderr)
    assert broken.returncode == exits.DONE


def test_a_start_whose_answer_is_lost_counts_once(server, here, ask):
    with cutting(server.port, 0) as proxy:
        done = noetl("run", "greet.yaml", "--request-key", "lost", "--server", proxy.url, home=here)

    again = document(ask("run", "greet.yaml", "--request-key", "lost", "--format", "json"))
    listed = document(ask("list", "--limit", "1", "--format", "json"))
    assert (done.returncode, "the connection broke" in done.stderr) == (exits.UNREACHABLE, True), done.stderr
    assert listed[0]["execution_id"] == again["execution_id"]


def test_a_run_outlives_its_server(here, tmp_path):
    gate = tmp_path / "gate"
    (tmp_path / "gated.yaml").write_text(GATED)
    with serving(tmp_path / ".noetl") as server:
        running = popen("run", "gated.yaml", "--set", f"gate={gate}", "--server", server.url, here=tmp_path)
        lines = [running.stderr.readline() for _ in range(4)]  # the first step is done, the second has started
        server.kill()
        gate.touch()
        server.start()
        _, said = running.communicate(timeout=60)

    assert running.returncode == exits.DONE, said
    told = [line.split(":")[0] + line.partition(":")[2][:6] for line in [*lines, *said.splitlines(keepends=True)]]
    assert [word for word in told if word.startswith("✓ before")] == ["✓ before done "]
    assert [word for word in told if word.startswith("✓ after")] == ["✓ after done "]


GATED = (
    HEAD
    + """workload: {gate: ""}
workflow:
  - step: before
    tool: {kind: noop}
    next: {arcs: [{step: after}]}
  - step: after
    tool:
      kind: shell
      command: until [ -e "$GATE" ]; do sleep 0.02; done
      env: {GATE: "{{ workload.gate }}"}
"""
)


def test_a_server_with_tls_is_believed_by_its_authority_only(tmp_path):
    authority = Authority()
    certificate, key = authority.issue("127.0.0.1")
    for name, text in {"cert.pem": certificate, "key.pem": key, "ca.pem": authority.pem}.items():
        (tmp_path / name).write_text(text)
    tls = {f"NOETL_SERVER_TLS_{word.upper()}": str(tmp_path / f"{word}.pem") for word in ("cert", "key")}

    with serving(tmp_path / ".noetl", **tls) as server:
        strange = noetl("list", "--server", server.url, home=tmp_path)
        known = noetl("list", "--server", server.url, home=tmp_path, NOETL_SERVER_CA_FILE=str(tmp_path / "ca.pem"))

    assert server.url.startswith("https://")
    assert (strange.returncode, known.returncode) == (exits.UNREACHABLE, exits.DONE), known.stderr
    assert "its certificate is not trusted" in strange.stderr
    assert "no executions" in known.stderr


@pytest.mark.parametrize("words", [("list",), ("run", "greet.yaml"), ("token", "list"), ("events", "1", "--follow")])
def test_a_server_that_is_not_there_leaves_with_3(words, here):
    done = noetl(*words, "--server", "http://127.0.0.1:1", home=here)

    assert (done.returncode, done.stdout) == (exits.UNREACHABLE, "")
    assert "cannot reach the server http://127.0.0.1:1" in done.stderr


# --- tokens ----------------------------------------------------------------------------------------------------------


def test_a_token_is_made_used_and_revoked(ask, server, here, tmp_path):
    made = ask("token", "create", "--role", "viewer", "--label", "someone", "--expires", "30d")
    file = tmp_path / "viewer.token"
    file.write_text(made.stdout)
    file.chmod(0o600)
    words = ("--server", server.url, "--token-file", str(file))
    listed = noetl("list", *words, home=tmp_path)
    refused = noetl("cancel", "1", *words, home=tmp_path)

    token_id = re.search(r"token ([0-9a-f]{12})", made.stderr)[1]
    ask("token", "revoke", token_id)
    after = noetl("list", *words, home=tmp_path)

    assert (listed.returncode, refused.returncode, after.returncode) == (0, exits.WRONG_INPUT, exits.WRONG_INPUT)
    assert "needs the role runner; this token has viewer" in refused.stderr
    assert f"(the token is from {file})" in after.stderr
    assert made.stdout.strip() not in listed.stdout + refused.stderr + after.stderr


def test_a_token_may_come_in_a_variable(ask, server, tmp_path):
    token = ask("token", "create", "--role", "viewer").stdout.strip()

    done = noetl("list", "--server", server.url, home=tmp_path, NOETL_TOKEN=token)

    assert done.returncode == exits.DONE


def test_without_a_token_it_says_where_one_can_come_from(server, tmp_path):
    done = noetl("list", "--server", server.url, home=tmp_path)

    assert done.returncode == exits.WRONG_INPUT
    assert "--token-file" in done.stderr
    assert "NOETL_TOKEN" in done.stderr
    assert f"The first server over a store leaves one in its home, {tmp_path}" in done.stderr


def test_the_homes_token_goes_to_this_machine_only(here):
    done = noetl("list", "--server", "https://noetl.example.com", home=here)

    assert done.returncode == exits.WRONG_INPUT
    assert "wants a token, and there is none" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--store", "sqlite:///x.db"), "give one of them"),
        (("--server", "http://noetl.example.com"), "server.url"),
        (("--server", "ftp://x"), "server.url"),
    ],
)
def test_a_server_that_could_not_be_meant_is_refused(words, says, here):
    done = (
        noetl("list", *words, "--server", "http://127.0.0.1:1", home=here)
        if "--store" in words
        else noetl("list", *words, home=here)
    )

    assert done.returncode == exits.WRONG_INPUT
    assert says in done.stderr


def test_the_setting_names_a_server_and_a_store_wins_over_it(server, here, ran, tmp_path):
    by_setting = noetl("list", "--limit", "1", home=here, NOETL_SERVER_URL=server.url)
    by_store = noetl("list", "--store", f"sqlite:///{tmp_path}/x.db", home=here, NOETL_SERVER_URL=server.url)

    assert by_setting.stdout.splitlines()[1]
    assert f"no executions in sqlite:///{tmp_path}/x.db" in by_store.stderr


# --- credentials -----------------------------------------------------------------------------------------------------


def test_a_credential_goes_to_the_server_and_never_comes_back(ask):
    fields = b'{"token": "s3cret-canary"}'

    kept = ask(
        "keychain", "set", "orders_api", "--kind", "bearer", "--from-json", "-", "--format", "json", stdin=fields
    )
    listed = ask("keychain", "list", "--format", "json")
    tested = ask("keychain", "test", "orders_api", "--no-connect")
    removed = ask("keychain", "remove", "orders_api")
    again = ask("keychain", "remove", "orders_api")

    assert document(kept)["fields"] == ["token"]
    assert [row["name"] for row in json.loads(listed.stdout)] == ["orders_api"]
    assert [done.returncode for done in (kept, listed, tested, removed, again)] == [0, 0, 0, 0, exits.WRONG_INPUT]
    assert all("canary" not in done.stdout + done.stderr for done in (kept, listed, tested, removed, again))


# --- what it costs ---------------------------------------------------------------------------------------------------


def test_looking_at_a_server_imports_little(server, here, ran):
    command = [sys.executable, "-X", "importtime", "-m", "noetl", "list", "--server", server.url]
    environment = {**os.environ, "NOETL_HOME": str(here / ".noetl")}

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=here, env=environment, check=True)

    modules = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "http" in modules
    assert not modules & {"yaml", "jinja2", "sqlite3", "asyncio", "rich", "aiohttp", "starlette", "logging"}
