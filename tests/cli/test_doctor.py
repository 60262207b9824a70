"""noetl doctor, with nothing but a home: what it finds, and how it ends."""

import json
import shutil
import stat
import sys

import pytest

from noetl.stores.sqlite_database import SCHEMA
from tests.cli.running import GREET, document, noetl

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A home in which something ran."""
    folder = tmp_path_factory.mktemp("used")
    (folder / "greet.yaml").write_text(GREET)
    assert noetl("run", "greet.yaml", home=folder).returncode == 0
    return folder


@pytest.fixture
def home(used, tmp_path):
    """A copy of it."""
    return shutil.copytree(used, tmp_path / "copy")


def findings(home, **environ):
    done = noetl("doctor", "--format", "json", home=home, **environ)
    found = document(done)
    assert (done.returncode == 0) == found["is_ok"]
    return {f"{one['area']} {one['name']}": one for one in found["findings"]}


def test_a_home_in_order_has_nothing_to_do(home):
    found = findings(home)

    assert {one["state"] for one in found.values()} == {"ok"}
    assert f"schema {SCHEMA}" in found["store sqlite"]["says"]
    assert found["work incidents"]["says"] == "none"


def test_a_home_that_is_not_there_is_not_made(tmp_path):
    done = noetl("doctor", home=tmp_path)

    assert done.returncode == 0
    assert "0 failures, 0 warnings" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_home_that_could_not_be_made_fails(tmp_path):
    (tmp_path / "file").write_text("")

    folder = findings(tmp_path, NOETL_HOME=str(tmp_path / "file" / "deep" / "home"))["home folder"]

    assert folder["state"] == "fail"
    assert folder["says"].endswith(f"this user cannot make it in {tmp_path / 'file'}")
    assert "NOETL_HOME" in folder["fix"]


@pytest.mark.skipif(sys.platform == "win32", reason="modes are of POSIX systems")
@pytest.mark.parametrize("name", ["server.token", "worker.token", "keychain.keys"])
def test_a_secret_file_that_others_can_read_fails(home, name):
    file = home / ".noetl" / name
    file.write_text("noetl_canary")
    file.chmod(stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP)

    done = noetl("doctor", home=home)

    assert done.returncode == 1
    assert f"fail  home {name}" in done.stdout
    assert f"chmod 600 {file}" in done.stdout
    assert "canary" not in done.stdout + done.stderr


def test_a_store_of_another_program_fails_and_the_rest_is_still_looked_at(home):
    (home / "other.db").write_bytes(b"not a database at all" * 100)

    found = findings(home, NOETL_STORE_URL=f"sqlite:///{home}/other.db")

    assert found["store answer"]["state"] == "fail"
    assert found["servers here"]["state"] == "ok"


@pytest.mark.parametrize(
    ("name", "url", "area"),
    [
        ("NOETL_STORE_URL", "postgresql://noetl:hunter2-canary@127.0.0.1:1/noetl", "store"),
        ("NOETL_QUEUE_URL", "nats://worker:hunter2-canary@127.0.0.1:1", "queue"),
        ("NOETL_SERVER_URL", "http://127.0.0.1:1", "servers"),
    ],
)
def test_what_does_not_answer_fails_with_what_to_do_and_no_password(home, name, url, area):
    (home / "token").write_text("noetl_canary-token")
    (home / "token").chmod(0o600)
    done = noetl("doctor", home=home, NOETL_SERVER_TOKEN_FILE=str(home / "token"), **{name: url})

    failed = [line for line in done.stdout.splitlines() if line.startswith("fail")]

    assert done.returncode == 1
    assert [line.split()[1] for line in failed] == [area]
    assert "canary" not in done.stdout
    assert done.stderr == "next: noetl doctor\n"


def test_json_is_one_document(home):
    done = noetl("doctor", "--format", "json", home=home)

    assert set(json.loads(done.stdout)) == {"is_ok", "findings"}
    assert done.stderr == ""
