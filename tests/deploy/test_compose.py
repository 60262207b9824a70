"""The compose file: what runs, as whom, and what prepare.sh makes for it."""

import shutil
import stat
import subprocess

import pytest

from noetl.config import load
from noetl.identity.tokens import TOKEN
from tests.deploy.texts import COMPOSE, compose

NEEDS_OPENSSL = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")


def test_two_servers_and_three_workers_stand_behind_postgresql_and_nats():
    services = compose()["services"]

    assert set(services) == {"postgres", "nats", "server", "worker"}
    assert {name: services[name].get("deploy", {}).get("replicas", 1) for name in services} == {
        "postgres": 1,
        "nats": 1,
        "server": 2,
        "worker": 3,
    }


@pytest.mark.parametrize("role", ["server", "worker"])
def test_a_role_is_nobody_special_and_cannot_write_but_to_its_own_folder(role):
    service = compose()["services"][role]

    assert service["user"].startswith("${NOETL_UID:?")
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["volumes"] == [f"./state/{role}:/var/lib/noetl"]
    assert "environment" not in service


def test_nothing_listens_beyond_this_machine_and_nobody_reaches_docker():
    services = compose()["services"].values()

    ports = [port for service in services for port in service.get("ports", [])]

    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert "docker.sock" not in COMPOSE.read_text("utf-8")
    assert not any(service.get("privileged") or service.get("network_mode") for service in services)


def test_docker_waits_longer_than_a_worker_drains():
    worker = compose()["services"]["worker"]
    drain = int(worker["command"][worker["command"].index("--drain") + 1])

    assert int(worker["stop_grace_period"].removesuffix("s")) > drain


def test_images_have_a_version_and_secrets_are_files():
    found = compose()
    images = [service["image"].partition(":")[2] for service in found["services"].values()]

    assert all(image not in ("", "latest") for image in images)
    assert all(secret["file"].startswith("./state/secrets/") for secret in found["secrets"].values())


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A copy of the folder in which prepare.sh has run."""
    folder = tmp_path_factory.mktemp("deploy") / "compose"
    shutil.copytree(COMPOSE.parent, folder, ignore=shutil.ignore_patterns("state", ".env"))
    subprocess.run(["sh", "prepare.sh"], cwd=folder, check=True, capture_output=True, timeout=60)
    return folder


@NEEDS_OPENSSL
def test_what_was_prepared_is_for_its_owner_alone_and_is_not_overwritten(prepared):
    again = subprocess.run(["sh", "prepare.sh"], cwd=prepared, capture_output=True, text=True, timeout=60, check=False)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (prepared / "state").rglob("*")}

    assert again.returncode == 1
    assert "is there already" in again.stderr
    assert {mode & 0o077 for mode in modes.values()} == {0}


@NEEDS_OPENSSL
def test_the_prepared_settings_are_settings(prepared):
    server = load(environ={}, folder=prepared / "state" / "server")
    worker = load(environ={}, folder=prepared / "state" / "worker")

    assert server.is_shared
    assert server.store_url.endswith("?sslmode=verify-full&sslrootcert=/var/lib/noetl/ca.pem")
    assert server.server_names == ("server", "localhost")
    assert server.server_tls_cert is not None
    assert worker.queue_url.startswith("nats://noetl-worker:")
    assert not worker.is_shared  # a worker has no way to the database


@NEEDS_OPENSSL
def test_the_prepared_tokens_are_tokens_and_a_worker_has_only_its_own(prepared):
    tokens = {path: path.read_text().strip() for path in (prepared / "state").glob("*/*.token")}

    assert all(TOKEN.fullmatch(token) for token in tokens.values())
    assert sorted(str(path.relative_to(prepared / "state")) for path in tokens) == [
        "server/server.token",
        "server/worker.token",
        "worker/worker.token",
    ]
    assert len(set(tokens.values())) == 2
    assert not (prepared / "state" / "worker" / "server.key").exists()


def test_what_is_prepared_is_never_committed():
    ignored = (COMPOSE.parent / ".gitignore").read_text("utf-8").split()

    assert ignored == ["/state/", "/.env"]
