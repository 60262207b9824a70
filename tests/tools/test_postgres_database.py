"""A credential as a database to connect to: what is proved without any server."""

import pytest
from psycopg.conninfo import conninfo_to_dict

from noetl.secret import sealed
from noetl.tools.postgres_database import database_of
from noetl.tools.postgres_failures import Failed

PASSWORD = "planted-Secret-7f3a91"


def keywords(**entry):
    return conninfo_to_dict(database_of("db", sealed(entry)).conninfo)


@pytest.mark.spec("KC-04")
@pytest.mark.parametrize(
    "entry",
    [
        {"dsn": f"postgresql://me:{PASSWORD}@127.0.0.1:5433/shop"},
        {"dsn": f"host=127.0.0.1 port=5433 user=me password={PASSWORD} dbname=shop"},
        {"host": "127.0.0.1", "port": 5433, "user": "me", "password": PASSWORD, "database": "shop"},
        {"db_host": "127.0.0.1", "db_port": "5433", "db_user": "me", "db_password": PASSWORD, "db_name": "shop"},
        {"host": "127.0.0.1", "port": 5433, "username": "me", "password": PASSWORD, "dbname": "shop", "note": "ours"},
    ],
)
def test_every_spelling_of_a_credential_means_the_same(entry):
    found = keywords(**entry)

    wanted = {"host": "127.0.0.1", "port": "5433", "user": "me", "password": PASSWORD, "dbname": "shop"}
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize("host", ["db.example.com", "10.0.0.7", "127.0.0.1,db.example.com", "localhost.example.com"])
def test_off_this_machine_the_server_has_to_prove_who_it_is(host):
    found = keywords(host=host)

    assert found["sslmode"] == "verify-full"
    assert found["sslrootcert"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "::1", "/run/postgresql", "@abstract"])
def test_on_this_machine_no_certificate_is_asked_for(host):
    assert "sslmode" not in keywords(host=host)


@pytest.mark.parametrize("entry", [{"sslmode": "disable"}, {"dsn": "postgresql://db.example.com/shop?sslmode=disable"}])
def test_what_a_credential_says_in_so_many_words_counts(entry):
    found = keywords(host="db.example.com", **entry)

    assert found["sslmode"] == "disable"
    assert "sslrootcert" not in found


def test_the_authorities_that_a_credential_names_are_kept():
    assert keywords(host="db.example.com", sslrootcert="/etc/ours.pem")["sslrootcert"] == "/etc/ours.pem"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"user": "me", "password": PASSWORD}, "names no host"),
        ({"dsn": f"postgresql://me:{PASSWORD}@[half"}, "is none: postgresql://"),
        ({"dsn": f"no such keyword={PASSWORD}"}, "is none: postgresql://"),
    ],
)
def test_a_credential_that_cannot_be_used_is_refused_without_showing_it(entry, message):
    with pytest.raises(Failed, match=message) as refused:
        database_of("db", sealed(entry))

    assert refused.value.kind == "auth"
    assert PASSWORD not in str(refused.value)


def test_a_database_shows_where_it_is_and_no_more():
    assert repr(database_of("db", {"host": "localhost", "password": PASSWORD})) == "Database(localhost:5432/)"
