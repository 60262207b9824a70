"""What a URL may show of itself."""

import pytest

from noetl.daemons.places import shown_url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("", ""),
        ("sqlite:////home/a/noetl.db", "sqlite:////home/a/noetl.db"),
        ("postgresql://user:s3cret@db:5432/noetl?sslmode=verify-full&password=s3cret", "postgresql://db:5432/noetl"),
        ("postgresql://user:s3@cret@db1,db2:5433/noetl", "postgresql://db1,db2:5433/noetl"),
        ("postgresql://postgres@/noetl?host=%2Ftmp%2Fpg", "postgresql:///tmp/pg/noetl"),
        ("nats://s3cret@nats:4222", "nats://nats:4222"),
        ("tls://user:s3cret@[::1]:4222", "tls://[::1]:4222"),
    ],
)
def test_a_shown_url_has_no_password(url, shown):
    assert shown_url(url) == shown
