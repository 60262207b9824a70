"""Credentials in a store that servers share, and their key ring: kept apart from those of the home (security 14)."""

import json

import pytest

from tests.cli.running import document, noetl
from tests.integration.cluster_canaries import tables

OWN, SHARED = "own-secret-value", "shared-secret-value"


@pytest.fixture
def home(tmp_path, database_url):
    """Runs a verb of the keychain: on the home's own, or on that of the store."""

    def run(*words, is_shared, secret=""):
        environ = {"NOETL_STORE_URL": database_url} if is_shared else {}
        stdin = json.dumps({"token": secret}).encode() if secret else b""
        done = noetl("keychain", *words, "--format", "json", home=tmp_path, stdin=stdin, **environ)
        assert done.returncode == 0, done.stderr
        return document(done)

    yield run
    for row in run("list", is_shared=True):
        run("remove", row["name"], is_shared=True)


def ids_in(file):
    return [key["id"] for key in json.loads(file.read_text())["keys"]]


@pytest.mark.spec("KC-02")
def test_rotating_the_keys_of_the_home_and_of_the_cluster_loses_neither(home, tmp_path, database_url):
    words = ("set", "orders_api", "--kind", "bearer", "--from-json", "-")
    home(*words, is_shared=False, secret=OWN)
    home(*words, is_shared=True, secret=SHARED)
    before = [ids_in(tmp_path / ".noetl" / name) for name in ("keychain.keys", "cluster.keys")]

    rotations = [home("rotate", is_shared=is_shared) for is_shared in (False, True, False)]

    proofs = [home("test", "orders_api", "--no-connect", is_shared=is_shared) for is_shared in (False, True)]
    after = [ids_in(tmp_path / ".noetl" / name) for name in ("keychain.keys", "cluster.keys")]
    assert [proof["is_ok"] for proof in proofs] == [True, True]
    assert [rotation["resealed"] for rotation in rotations] == [1, 1, 1]
    assert rotations[1]["dropped_key_ids"] == before[1]
    assert after == [[rotations[2]["key_id"]], [rotations[1]["key_id"]]]
    assert [table for table, data in tables(database_url) if SHARED.encode() in data] == []


def test_what_is_kept_on_the_servers_machine_is_what_its_servers_have(home):
    home("set", "kept_here", "--kind", "bearer", "--from-json", "-", is_shared=True, secret=SHARED)

    names = [row["name"] for row in home("list", is_shared=True)]
    home("remove", "kept_here", is_shared=True)

    assert "kept_here" in names
    assert "kept_here" not in [row["name"] for row in home("list", is_shared=True)]
    assert "kept_here" not in [row["name"] for row in home("list", is_shared=False)]
