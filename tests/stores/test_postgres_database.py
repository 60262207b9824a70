"""The URL of a PostgreSQL store: what is asked of the way there, and what is never shown. No server is needed."""

import sys

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from noetl.errors import DiskFull, MissingLibrary, RequestError, StoreUnusable, Unreachable
from noetl.stores.opening import open_postgres
from noetl.stores.postgres_database import database_of, faults

FAR = "postgresql://noetl:s3cret@db.example.com:5433/orders"


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    for name in ("PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE", "PGSSLMODE", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)


def sslmode_of(url):
    return conninfo_to_dict(database_of(url).conninfo).get("sslmode")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://noetl@localhost/orders",
        "postgresql://noetl@127.0.0.1/orders",
        "postgresql://noetl@127.9.9.9/orders",
        "postgresql://noetl@[::1]/orders",
        "postgresql://noetl@/orders?host=/run/postgresql",
        "postgresql:///orders",
    ],
)
def test_on_this_machine_nothing_is_asked_of_the_way(url):
    assert sslmode_of(url) is None


@pytest.mark.parametrize(
    "url",
    [
        FAR,
        "postgresql://noetl@10.0.0.7/orders",
        "postgresql://noetl@[2001:db8::1]/orders",
        "postgresql://noetl@localhost,db.example.com/orders",
        "postgresql://noetl@/orders?host=localhost&hostaddr=10.0.0.7",
        "postgresql://noetl@localhost.example.com/orders",
    ],
)
def test_off_this_machine_the_server_must_prove_who_it_is(url):
    found = conninfo_to_dict(database_of(url).conninfo)

    assert found["sslmode"] == "verify-full"
    assert found["sslrootcert"]


def test_a_host_of_the_environment_counts_as_one_of_the_url(monkeypatch):
    monkeypatch.setenv("PGHOST", "db.example.com")
    monkeypatch.setenv("PGSSLMODE", "disable")

    assert sslmode_of("postgresql:///orders") == "verify-full"


@pytest.mark.parametrize("mode", ["disable", "require", "verify-ca", "verify-full"])
def test_what_the_url_says_in_so_many_words_is_taken_as_said(mode):
    assert sslmode_of(f"{FAR}?sslmode={mode}") == mode


@pytest.mark.parametrize("mode", ["allow", "prefer"])
def test_what_leaves_it_to_the_network_is_refused(mode):
    with pytest.raises(StoreUnusable, match=f"sslmode={mode} leaves it to the network") as refused:
        database_of(f"{FAR}?sslmode={mode}")

    assert "s3cret" not in str(refused.value)


def test_a_file_of_authorities_is_kept():
    found = conninfo_to_dict(database_of(f"{FAR}?sslrootcert=/etc/ca.pem").conninfo)

    assert found["sslrootcert"] == "/etc/ca.pem"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (FAR, "postgresql://noetl@db.example.com:5433/orders"),
        ("postgresql://noetl:s3cret@[::1]/orders", "postgresql://noetl@[::1]:5432/orders"),
        ("postgresql://a%40b:s3cret@localhost/orders", "postgresql://a%40b@localhost:5432/orders"),
        ("postgresql://noetl@/orders?password=s3cret&host=/run/pg", "postgresql://noetl@/orders?host=/run/pg"),
    ],
)
def test_people_see_where_it_is_and_no_password(url, name):
    database = database_of(url)

    assert database.name == name
    assert "s3cret" not in repr(database)


def test_a_url_that_is_none_is_refused_without_showing_it():
    with pytest.raises(StoreUnusable, match="is wanted") as refused:
        database_of("postgresql://noetl:s3cret@db:notaport:x/orders?frobnicate=1")

    assert "s3cret" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_replica_is_not_taken_for_the_store():
    assert conninfo_to_dict(database_of(FAR).conninfo)["target_session_attrs"] == "read-write"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (psycopg.errors.DiskFull("no room"), DiskFull),
        (psycopg.errors.AdminShutdown("terminated"), Unreachable),
        (psycopg.errors.CannotConnectNow("starting up"), Unreachable),
        (psycopg.errors.DeadlockDetected("deadlock"), Unreachable),
        (psycopg.errors.LockNotAvailable("lock timeout"), Unreachable),
        (psycopg.errors.QueryCanceled("statement timeout"), Unreachable),
        (psycopg.errors.IdleInTransactionSessionTimeout("idle"), Unreachable),
        (psycopg.errors.ReadOnlySqlTransaction("a replica now"), Unreachable),
        (psycopg.errors.TooManyConnections("too many"), Unreachable),
        (psycopg.OperationalError("server closed the connection unexpectedly"), Unreachable),
        (psycopg.InterfaceError("the connection is closed"), Unreachable),
        (TimeoutError(), Unreachable),
        (psycopg.errors.UndefinedTable("no job"), StoreUnusable),
        (psycopg.errors.InsufficientPrivilege("denied"), StoreUnusable),
        (psycopg.errors.CharacterNotInRepertoire("0x00"), RequestError),
    ],
)
def test_what_postgresql_refuses_is_told_by_who_must_act(fault, error):
    with pytest.raises(error), faults("postgresql://noetl@db/orders"):
        raise fault


def test_a_wrong_password_is_final_only_where_nobody_got_in_yet():
    fault = psycopg.OperationalError('FATAL: password authentication failed for user "noetl"')

    with pytest.raises(StoreUnusable), faults("postgresql://db", is_refusal_final=True):
        raise fault
    with pytest.raises(Unreachable), faults("postgresql://db"):
        raise fault


def test_a_mistake_of_ours_is_not_dressed_up():
    with pytest.raises(psycopg.errors.SyntaxError), faults("postgresql://db"):
        raise psycopg.errors.SyntaxError("SELEC")


async def test_without_the_driver_the_extra_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("noetl.stores.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(MissingLibrary, match=r'pip install "noetl\[postgres\]"'):
        await open_postgres(FAR)
