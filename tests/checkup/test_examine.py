"""The doctor's looks: bounded in time, independent of each other, and silent about secrets."""

import socket

import msgspec
import pytest

from noetl.checkup import machine
from noetl.checkup.clocks import clock_finding
from noetl.checkup.examine import examine
from noetl.checkup.servers import workers_finding
from noetl.checkup.work import named
from noetl.config import Settings


def settings(home, **changes):
    found = Settings(home=home, store_url=f"sqlite:///{home}/noetl.db")
    return msgspec.structs.replace(found, **changes)


def by_name(findings):
    return {f"{one.area} {one.name}": one for one in findings}


@pytest.fixture
def silent():
    """host:port of something that takes connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("field", "url", "finding"),
    [
        ("store_url", "postgresql://noetl:canary-s3cret@{}/noetl", "store answer"),
        ("queue_url", "nats://noetl:canary-s3cret@{}", "queue answer"),
    ],
)
async def test_what_hangs_costs_its_time_and_the_rest_is_looked_at(tmp_path, silent, field, url, finding):
    found = await examine(settings(tmp_path, **{field: url.format(silent)}), look_seconds_max=0.3)

    assert by_name(found)[finding].state == "fail"
    assert by_name(found)[finding].says == "none within 0.3 s"
    assert by_name(found)["servers here"].state == "ok"
    assert b"canary" not in msgspec.json.encode(found)


@pytest.mark.parametrize(
    ("free_mebibytes", "state"), [(100, "fail"), (511, "fail"), (512, "warn"), (2047, "warn"), (2048, "ok")]
)
def test_room_on_the_disk_is_judged_by_what_a_server_needs(tmp_path, monkeypatch, free_mebibytes, state):
    monkeypatch.setattr(machine, "free_bytes", lambda _folder: free_mebibytes * machine.MEBIBYTE)

    assert machine.room(tmp_path).state == state


async def test_a_server_without_tls_beyond_this_machine_is_warned_of(tmp_path):
    found = [one async for one in machine.addresses(settings(tmp_path, server_host="10.0.0.5", server_insecure=True))]

    assert [(one.name, one.state) for one in found] == [("transport", "warn")]


def test_an_extra_that_the_settings_need_and_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "installed", dict)

    missing = list(machine.needed_extras(settings(tmp_path, store_url="postgresql://db/noetl", queue_url="nats://n:1")))

    assert missing == [("psycopg", "postgres"), ("nats-py", "nats")]


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        ([], "none"),
        (["7"], "execution 7"),
        ([str(number) for number in range(8)], "executions 0, 1, 2, 3, 4 and 3 more"),
    ],
)
def test_a_long_list_is_cut_and_counted(ids, says):
    assert named(ids, "execution") == says


@pytest.mark.parametrize(
    ("there", "state", "says"),
    [
        (100.4, "ok", "the server is 0.400 s ahead of this machine"),
        (97.0, "warn", "the server is 3.000 s behind this machine"),
        (161.0, "fail", "the server is 61.000 s ahead of this machine"),
    ],
)
def test_a_clock_is_judged_by_the_middle_of_the_question(there, state, says):
    found = clock_finding("servers", "the server", there, asked_at=99.5, answered_at=100.5)

    assert (found.name, found.state, found.says) == ("clock", state, says)


def test_workers_of_another_version_than_the_servers_are_told_of():
    same = workers_finding("servers", "2 seen", {"1.0"}, "1.0")
    mixed = workers_finding("servers", "2 seen", {"1.0", "0.9"}, "1.0")

    assert (same.state, same.says) == ("ok", "2 seen")
    assert (mixed.state, mixed.says) == ("warn", "2 seen, some of version 0.9")
    assert "upgrade" in mixed.fix
