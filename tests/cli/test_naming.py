"""An execution is named by its number, a beginning of it that no other has, or `last`: in every verb, on both sides."""

import json
import re

import pytest

from noetl.cli.main import main
from noetl.config import load
from noetl.errors import RequestError, Unauthenticated
from tests.cli.remote_server import serving
from tests.cli.running import GREET, HEAD, WAIT, noetl

HELLO = HEAD + "workflow: [{step: start, tool: {kind: noop}}]\n"


@pytest.fixture
def said(tmp_path, monkeypatch, capfd):
    """Run a verb in this process: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOETL_HOME", str(tmp_path / ".noetl"))
    for name, text in {"hello": HELLO, "greet": GREET, "wait": WAIT}.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")

    def run(*words):
        code = main(words)
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def twelve(said):
    """Executions 1 to 12."""
    for _ in range(12):
        assert said("run", "hello.yaml", "-q")[0] == 0


VERBS = {
    "show": (),
    "events": (),
    "replay": (),
    "why": ("start",),
    "eval": ("ctx",),
    "diff": ("1",),
    "export": ("-o", "-"),
    "rerun": ("-q",),
    "resume": ("-q",),
}


def shift_ids(tmp_path, by):
    """Let the store count on from a larger number, as one that is in use for long does."""
    import sqlite3

    with sqlite3.connect(tmp_path / ".noetl" / "noetl.db") as base:
        base.execute("UPDATE meta SET value = ? WHERE key = 'execution_id'", (by,))
    base.close()


@pytest.fixture
def far(said, tmp_path):
    """Executions 1, 4097 and 4098."""
    said("run", "hello.yaml", "-q")
    shift_ids(tmp_path, 4096)
    said("run", "hello.yaml", "-q")
    said("run", "wait.yaml", "-q")


@pytest.mark.parametrize("verb", VERBS)
def test_a_unique_beginning_names_an_execution(said, far, tmp_path, verb):
    shift_ids(tmp_path, 50_000)
    said("run", "hello.yaml", "-q")

    code, output, told = said(verb, "5", *VERBS[verb])

    assert code == 0, told
    assert "50001" in output + told or verb in ("events", "eval", "resume", "rerun")


def test_verbs_that_change_something_take_a_beginning_too(said, far, tmp_path):
    shift_ids(tmp_path, 70_000)
    said("run", "wait.yaml", "-q")

    signalled = said("signal", "7", "--set", "ctx.approved=true")
    cancelled = said("cancel", "7")

    assert "execution 70001: " in signalled[1]
    assert "execution 70001: " in cancelled[1]


def test_the_exact_number_wins_over_those_that_begin_so(said, twelve):
    shown = json.loads(said("show", "1", "--format", "json")[1])

    assert shown["execution_id"] == "1"


def test_an_ambiguous_beginning_lists_whom_it_could_mean(said, far):
    code, output, told = said("cancel", "40")

    assert (code, output) == (2, "")
    assert "several executions in sqlite:///" in told
    assert re.search(r"^  4098  tests/trial@\d+, waiting, \S+ \S+ ago$", told, re.MULTILINE)
    assert re.search(r"^  4097  tests/trial@\d+, success, \S+ \S+ ago$", told, re.MULTILINE)
    assert json.loads(said("show", "4098", "--format", "json")[1])["status"] == "waiting"


def test_many_candidates_are_cut_and_that_is_seen(said, tmp_path):
    said("run", "hello.yaml", "-q")
    shift_ids(tmp_path, 699)
    for _ in range(7):
        said("run", "hello.yaml", "-q")

    told = said("show", "7")[2]

    assert len(re.findall(r"^  70\d  ", told, re.MULTILINE)) == 5
    assert "\n  …\n" in told


def test_a_near_miss_is_guessed(said, far):
    code, _, told = said("show", "4907")

    assert code == 2
    assert "there is no execution 4907 in sqlite:///" in told
    assert "did you mean 4097 (tests/trial@" in told


def test_an_older_server_that_knows_no_beginnings_still_takes_whole_ids(monkeypatch, tmp_path):
    from noetl import remote
    from noetl.cli.executions import execution_id

    settings = load(home=str(tmp_path), environ={}, folder=tmp_path, flags={"server.url": ("", "http://127.0.0.1:1")})

    def refused(error):
        def named(*_):
            raise error

        return named

    monkeypatch.setattr(remote, "named", refused(RequestError('the query: it has unknown field "id"')))
    assert execution_id("17", settings) == 17
    monkeypatch.setattr(remote, "named", refused(Unauthenticated("no")))
    with pytest.raises(Unauthenticated):
        execution_id("17", settings)


@pytest.mark.slow
def test_a_server_knows_beginnings_too(said, far, tmp_path):
    with serving(tmp_path / ".noetl") as server:
        asked = [noetl(*words, "--server", server.url, home=tmp_path) for words in (("show", "40"), ("show", "4097"))]
        unknown = noetl("show", "4099", "--server", server.url, home=tmp_path)

    assert "several executions in http://127.0.0.1:" in asked[0].stderr
    assert "  4098  tests/trial@" in asked[0].stderr
    assert asked[1].returncode == 0, asked[1].stderr
    assert "did you mean 4098 (" in unknown.stderr


def test_a_token_is_named_by_the_beginning_of_its_id(said):
    made = json.loads(said("token", "create", "--role", "viewer", "--format", "json")[1])

    too_short = said("token", "revoke", made["id"][:3])
    code, output, _ = said("token", "revoke", made["id"][:4])

    assert "its first 4 hexadecimal digits or more" in too_short[2]
    assert (code, output.split()[0]) == (0, made["id"])
