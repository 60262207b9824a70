"""noetl token, over a store of this machine."""

import json
import re
import stat
import subprocess
import sys

import pytest

from noetl.cli import exits
from noetl.cli.main import main
from tests.cli.remote_server import serving
from tests.cli.running import noetl


@pytest.fixture
def said(tmp_path, monkeypatch, capfd):
    """Run a verb in this process, in an empty home: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOETL_HOME", str(tmp_path / ".noetl"))

    def run(*words):
        code = main(words)
        return code, *capfd.readouterr()

    return run


def test_a_token_goes_alone_to_standard_output(said):
    code, output, told = said("token", "create", "--role", "runner", "--label", "nightly", "--expires", "30d")

    assert code == exits.DONE
    assert re.fullmatch(r"noetl_[\w-]{43}\n", output)
    assert re.fullmatch(r"runner token [0-9a-f]{12} \(nightly\), until 2\d{3}-.*\nnext: noetl token list\n", told)


@pytest.mark.skipif(sys.platform == "win32", reason="modes are of POSIX systems")
def test_a_file_that_a_token_is_put_into_can_be_used_as_it_is(tmp_path):
    file, home = tmp_path / "nightly.token", tmp_path / ".noetl"
    with serving(home) as server, file.open("w") as output:
        file.chmod(0o644)
        words = ["token", "create", "--role", "viewer", "--server", server.url, "--home", str(home)]
        subprocess.run([sys.executable, "-m", "noetl", *words], stdout=output, check=True)
        done = noetl("list", "--server", server.url, "--token-file", str(file), home=tmp_path)

    assert done.returncode == exits.DONE, done.stderr
    assert stat.S_IMODE(file.stat().st_mode) == stat.S_IRUSR | stat.S_IWUSR


def test_a_list_shows_tokens_until_they_are_revoked_and_after(said):
    made = json.loads(said("token", "create", "--role", "worker", "--pool", "gpu", "--format", "json")[1])
    before = said("token", "list")

    revoked = said("token", "revoke", made["id"])

    rows = json.loads(said("token", "list", "--format", "json")[1])
    assert before[1].splitlines()[1].split()[:3] == [made["id"], "worker", "active"]
    assert revoked[:2] == (exits.DONE, f"{made['id']}  worker (worker) revoked\n")
    assert [(row["id"], row["status"], row["pool"]) for row in rows] == [(made["id"], "revoked", "gpu")]
    assert made["token"] not in str((before, revoked, rows))


def test_an_empty_home_has_no_tokens_and_gets_no_store(said, tmp_path):
    code, output, told = said("token", "list")

    assert (code, output) == (exits.DONE, "")
    assert "no tokens in sqlite:///" in told
    assert not (tmp_path / ".noetl").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("create",), "--role"),
        (("create", "--role", "root"), "root"),
        (("create", "--role", "runner", "--expires", "soon"), "90m, 12h, 30d, 4w"),
        (("create", "--role", "runner", "--expires", "0d"), "90m, 12h, 30d, 4w"),
        (("create", "--role", "runner", "--pool", "gpu"), "role worker only"),
        (("create", "--role", "worker", "--path-prefix", "a"), "not for workers"),
        (("revoke", "000000000000"), "no token with this id"),
        (("revoke", "noetl_secret"), "never by itself"),
    ],
)
def test_wrong_input_makes_and_changes_nothing(said, words, says):
    code, output, told = said("token", *words)

    assert (code, output) == (exits.WRONG_INPUT, "")
    assert says in told
    assert json.loads(said("token", "list", "--format", "json")[1]) == []


@pytest.mark.slow
def test_a_store_that_a_server_has_is_changed_by_that_server(tmp_path):
    with serving(tmp_path / ".noetl") as server:
        made = noetl("token", "create", "--role", "viewer", home=tmp_path)
        listed = noetl("token", "list", "--format", "json", home=tmp_path)
        over_server = noetl("token", "create", "--role", "viewer", "--server", server.url, home=tmp_path)

    assert made.returncode == exits.WRONG_INPUT
    assert "add --server http://127.0.0.1:" in made.stderr
    assert {row["label"] for row in json.loads(listed.stdout)} == {"server.token", "worker.token"}
    assert over_server.returncode == exits.DONE


@pytest.mark.slow
def test_a_token_made_before_the_first_start_is_honoured(tmp_path):
    token = noetl("token", "create", "--role", "admin", home=tmp_path).stdout.strip()

    with serving(tmp_path / ".noetl") as server:
        done = noetl("list", "--server", server.url, home=tmp_path, NOETL_TOKEN=token)

    assert done.returncode == exits.DONE
    assert not (tmp_path / ".noetl" / "server.token").exists()  # there is an administrator already
    assert (tmp_path / ".noetl" / "worker.token").exists()
