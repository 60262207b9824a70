"""Every text output of data or deed ends with what to do next, as commands that can be pasted; data never does."""

import contextlib
import io
import json
import re
import shlex

import click
import pytest

from noetl.cli import advice, voice
from noetl.cli.advice import NEXT, PLACE, TAKEN, commands
from noetl.cli.main import main
from tests.cli.running import BAD, FAIL, GREET, HEAD, LOOP, WAIT
from tests.cli.test_help import COMMANDS, assert_parses

FACTS = {
    "id": "4097",
    "child": "4098",
    "step": "load",
    "assignment": "ctx.approved=true",
    "file": "a.yaml",
    "code": "NL301",
    "path": "team/orders",
    "name": "nightly",
    "kind": "bearer",
    "role": "viewer",
    "url": "nats://localhost:4222",
    "pool": "gpu",
    "port": "8643",
    "template": "paging",
    "verb": "schedule",
    "command": ["schedule", "show"],
    "folder": "orders",
}
SCHEDULE = """\
apiVersion: noetl.io/v2
kind: Schedule
metadata: {name: nightly}
spec: {playbook: {path: tests/trial}, every: 1d}
"""
TRIGGER = """\
apiVersion: noetl.io/v2
kind: Trigger
metadata: {name: hooked}
spec: {playbook: {path: tests/trial}, webhook: {auth: token, credential: hook}}
"""
CREDENTIAL = """\
apiVersion: noetl.io/v2
kind: Credential
metadata: {name: mail}
spec: {kind: basic, fields: {username: robot, password: {env: MAIL_PASSWORD}}}
"""
OLD = HEAD + "workflow: [{step: start, tool: [{greet: {kind: noop}}]}]\n"

# In order, in one home. What each is followed by is the beginning of its last line's command.
WALK = (
    ("init --list", "init --template TEMPLATE"),
    ("init begun", "show last"),
    ("test begun", "run begun/orders.yaml"),
    ("list", "run FILE"),
    ("catalog list", "catalog register FILE"),
    ("schedule list", "schedule apply FILE"),
    ("trigger list", "trigger apply FILE"),
    ("keychain list", "keychain set NAME --kind KIND"),
    ("token list", "token create --role ROLE"),
    ("show last", "run FILE"),
    ("show 7", "list"),
    ("run nothing.yaml", "catalog list"),
    ("run greet.yaml", "show 1"),
    ("run bad.yaml", "explain NL303"),
    ("run fail.yaml", "rerun 2 --from-failed"),
    ("run wait.yaml", "resume 3"),
    ("run loop.yaml", "show 4"),
    ("list", "show 3"),
    ("list --status incident", "list"),
    ("show 1", "rerun 1"),
    ("show 2", "rerun 2 --from-failed"),
    ("show 3", "why 3 approve"),
    ("why 1 start", "rerun 1 --from start"),
    ("why 1 never", "show 1"),
    ("diff 1 1", "show 1"),
    ("diff 1 2", "show 2"),
    ("replay-test greet.yaml --against 1", "run greet.yaml"),
    ("replay-test fail.yaml --against 1", "show 1"),
    ("rerun --where status=failed --dry-run", "show 2"),
    ("rerun --where q=none --yes", "list"),
    ("rerun --where status=none", "rerun --help"),
    ("rerun 1 --from nowhere", "rerun --help"),
    ("rerun 1 --at 999", "rerun --help"),
    ("why 1 nowhere", "why --help"),
    ("import nothing.noetl", "import --help"),
    ("import greet.yaml", "import --help"),
    ("run locked.yaml", "keychain list"),
    ("replay 1", "events 1"),
    ("replay 1 --verify", "show 1"),
    ("export 1 -o one.noetl", "import one.noetl"),
    ("import one.noetl", "show 5"),
    ("signal 3 --set ctx.approved=true", "resume 3"),
    ("resume 3", "show 3"),
    ("rerun 1", "show 6"),
    ("run wait.yaml", "resume 7"),
    ("cancel 7", "show 7"),
    ("show 7", "rerun 7"),
    ("sweep --dry-run", "sweep"),
    ("sweep", "doctor"),
    ("catalog register greet.yaml", "run tests/trial"),
    ("catalog list", "catalog show tests/trial"),
    ("schedule apply nightly.yaml", "schedule show nightly"),
    ("schedule list", "schedule show nightly"),
    ("schedule show nightly", "schedule next nightly"),
    ("schedule next nightly", "schedule show nightly"),
    ("schedule pause nightly", "schedule resume nightly"),
    ("schedule resume nightly", "schedule next nightly"),
    ("schedule remove nightly", "schedule list"),
    ("trigger apply hooked.yaml", "trigger show hooked"),
    ("trigger list", "trigger show hooked"),
    ("trigger show hooked", "trigger list"),
    ("trigger remove hooked", "trigger list"),
    ("keychain set api --kind bearer --from-json bearer.json", "keychain test api"),
    ("keychain apply credential.yaml", "keychain test mail"),
    ("keychain list", "keychain test api"),
    ("keychain test api", "keychain list"),
    ("keychain rotate", "keychain list"),
    ("keychain remove api", "keychain list"),
    ("token create --role viewer", "token list"),
    ("token list", "token create --role ROLE"),
    ("token revoke TOKEN", "token list"),
    ("doctor", "run FILE"),
    ("server status", "server start --detach"),
    ("worker status", "worker start --queue URL --detach"),
    ("plan greet.yaml", "run greet.yaml"),
    ("check greet.yaml", "run greet.yaml"),
    ("check bad.yaml", "explain NL303"),
    ("check old.yaml", "check --fix old.yaml"),
    ("explain NL303", "check FILE"),
    ("explain", "explain NL101"),
    ("fmt --check wide.yaml", "fmt wide.yaml"),
    ("fmt wide.yaml", "check wide.yaml"),
    ("migrate --diff old.yaml", "migrate --write old.yaml"),
    ("migrate --write old.yaml", "check old.yaml"),
    ("graph greet.yaml -o greet.svg", "check greet.yaml"),
    ("schema -o schema.json", "check FILE"),
    ("show", "show --help"),
    ("shwo", "show --help"),
    ("frobnicate", "--help"),
    ("version", "--help"),
    ("", "init DIR"),
    ("catalog", "catalog list"),
    ("server", "server status"),
    ("run gret.yaml", "run greet.yaml"),
    ("run gret.yaml --set a=1", "catalog list"),
    ("catalog register gret.yaml", "catalog register greet.yaml"),
    ("check gret.yaml", "check FILE"),
    ("fmt gret.yaml", "check FILE"),
    ("migrate gret.yaml", "check FILE"),
    ("keychain test nobody", "keychain list"),
    ("token revoke none", "token list"),
    ("worker start", "worker start --help"),
    ("events 1", "show 1"),
)
# These do not end so, each for its reason.
SPARED = {
    "eval": "a value, for a script",
    "catalog show": "a playbook's text, to be kept in a file",
    "completion": "a script, for a shell",
    "diff": "proved with its own tests",
    "replay-test": "proved with its own tests",
    "ui": "what comes next is in the browser",
    "server start": "in the foreground it lasts; detached it is proved with the other lifecycles",
    "server stop": "as above",
    "worker start": "as above",
    "worker stop": "as above",
    "worker scale": "as above",
    "schedule run": "needs a server; its line is in the table",
}


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """What each command of the walk said, in one home, one after another."""
    folder = tmp_path_factory.mktemp("walk")
    wide = GREET.replace("workload:\n  greeting", "workload:\n\n\n  greeting")
    files = {"greet": GREET, "fail": FAIL, "wait": WAIT, "loop": LOOP, "bad": BAD, "wide": wide, "old": OLD}
    files["locked"] = GREET + "keychain: [{name: nobody_has_it, kind: bearer}]\n"
    files |= {"nightly": SCHEDULE, "hooked": TRIGGER, "credential": CREDENTIAL}
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    (folder / "bearer.json").write_text('{"token": "abc"}')
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("NOETL_HOME", str(folder / ".noetl"))
        yield [said(line) for line, _ in WALK]


def said(line):
    words = [token_id() if word == "TOKEN" else word for word in line.split()]
    output, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(told):
        code = main(words)
    return code, output.getvalue(), told.getvalue()


def token_id():
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        main(["token", "list", "--format", "json"])
    return json.loads(output.getvalue())[0]["id"]


@pytest.mark.parametrize("number", range(len(WALK)), ids=[line for line, _ in WALK])
def test_every_output_ends_with_the_next_command(walked, number):
    line, following = WALK[number]
    _, output, told = walked[number]

    last = told.splitlines()[-1]
    assert last.startswith(f"next: noetl {following}"), (line, output, told)
    assert "next: " not in output


def test_every_command_is_walked_or_spared_with_a_reason():
    groups = {name.split()[0] for name in COMMANDS if " " in name}
    walked = {name for name in COMMANDS for line, _ in WALK if line == name or line.startswith(f"{name} ")}

    assert set(COMMANDS) - groups == (walked - groups) | set(SPARED)


@pytest.mark.parametrize("words", ["list", "show 1", "check greet.yaml", "explain NL303"])
def test_data_is_never_followed_by_advice(walked, words):
    _, output, told = said(f"{words} --format json")

    assert "next:" not in output + told


def test_quiet_is_quiet(walked):
    assert "next:" not in said("run fail.yaml -q")[2]


@pytest.mark.parametrize("situation", NEXT)
def test_every_command_of_the_table_parses(situation, monkeypatch):
    monkeypatch.setattr(voice, "heard", [])
    made = list(commands(situation, **FACTS))

    assert len(made) == len(NEXT[situation])
    for line in made:
        if not line.endswith("--help"):
            assert_parses(line)


@pytest.mark.parametrize("name", COMMANDS)
def test_advice_repeats_only_the_places_that_a_command_takes(name):
    command = COMMANDS[name]
    if isinstance(command, click.Group):
        return
    taken = {option for parameter in command.params for option in parameter.opts} & set(PLACE)
    verb = name.split()[0]
    if name.endswith(" start") or verb in ("import", "sweep", "replay-test"):
        taken &= {*TAKEN[verb]}  # they take more, which advice does not repeat

    assert set(TAKEN.get(verb, PLACE)) == taken


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("show 1 --home 'my home'", "noetl show 7 --home 'my home'"),
        ("show 1 --home=my", "noetl show 7 --home my"),
        ("run a.yaml --store sqlite:///x.db", "noetl show 7 --store sqlite:///x.db"),
        ("list --server http://h:1 --token-file t", "noetl show 7 --server http://h:1 --token-file t"),
        ("run a --store postgresql://ada:se:cr@et@h/db", "noetl show 7 --store URL"),
        ("run a --store postgresql://h/db?password=secret", "noetl show 7 --store URL"),
        ("run a --store postgresql://ada@h/db", "noetl show 7 --store postgresql://ada@h/db"),
    ],
)
def test_a_command_repeats_where_the_user_asked(words, command, monkeypatch):
    monkeypatch.setattr(voice, "heard", shlex.split(words))

    assert list(commands("listed", id="7")) == [command]


def test_a_refused_token_is_not_the_one_to_make_another_with(monkeypatch):
    monkeypatch.setattr(voice, "heard", ["run", "a.yaml", "--server", "http://h:1", "--token-file", "viewer.token"])
    role = advice.role_wanted("POST /api/v1/executions needs the role runner; this token has viewer")

    assert list(commands("Forbidden", role=role)) == ["noetl token create --role runner --server http://h:1"]
    assert advice.role_wanted("this token is for others") is ...


def test_what_is_done_beside_the_store_is_not_advised_over_a_server(monkeypatch):
    monkeypatch.setattr(voice, "heard", ["export", "7", "--server", "http://h:1", "--token-file", "t"])

    assert list(commands("exported", file="7.noetl")) == ["noetl import 7.noetl"]


def test_facts_are_quoted_for_the_shell_of_the_system(monkeypatch):
    monkeypatch.setattr(voice, "heard", [])

    assert list(commands("explained", id="7", step="a b; rm -rf ~"))[1] == "noetl rerun 7 --from 'a b; rm -rf ~'"
    monkeypatch.setattr(advice.os, "name", "nt")
    assert advice.quoted(r"C:\Program Files\a.yaml") == r'"C:\Program Files\a.yaml"'
    assert advice.quoted(r"C:\a.yaml") == r"C:\a.yaml"


def test_a_command_whose_facts_are_not_known_is_left_out(monkeypatch):
    monkeypatch.setattr(voice, "heard", [])

    assert list(commands("shown.failed", id="7", step=None, child=None)) == ["noetl rerun 7 --from-failed"]


def test_every_fact_of_the_table_has_a_name_that_is_known():
    names = {name for lines in NEXT.values() for line in lines for name in re.findall(r"\{(.*?)\}", line)}

    assert names == set(FACTS)
