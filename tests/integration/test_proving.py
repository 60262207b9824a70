"""A postgres_credential is proved by signing in."""

import pytest

from noetl.config import load
from noetl.proving import prove
from noetl.safekeeping import apply, keep


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.delenv("NOETL_MASTER_KEY", raising=False)
    return load(home=str(tmp_path / "home"), environ={}, folder=tmp_path)


@pytest.mark.spec("KC-04")
def test_a_credential_that_signs_in_says_where(settings, postgres_url):
    keep(settings, "db", "postgres_credential", {"dsn": postgres_url})

    proof = prove(settings, "db", None, is_connecting=True)

    assert proof.error is None
    assert proof.tried[1].startswith("signed in at ")
    assert postgres_url not in proof.tried[1]


@pytest.mark.spec("KC-04", "KC-05")
def test_a_credential_that_is_refused_says_why_without_the_password(settings, postgres_url):
    dsn = postgres_url.replace("postgres@", "nobody_here:planted-s3cret@")
    keep(settings, "db", "postgres_credential", {"dsn": dsn})

    proof = prove(settings, "db", None, is_connecting=True)

    assert 'role "nobody_here" does not exist' in proof.error
    assert not proof.is_unreachable
    assert "planted-s3cret" not in proof.error


@pytest.mark.spec("KC-04")
def test_a_document_that_calls_its_kind_by_another_name_signs_in_too(settings, postgres_url, monkeypatch):
    monkeypatch.setenv("WAREHOUSE_DSN", postgres_url)
    apply(settings, [("db", "postgres", {"dsn": {"env": "WAREHOUSE_DSN"}})], settings.home)

    proof = prove(settings, "db", None, is_connecting=True)

    assert proof.tried[1].startswith("signed in at ")
