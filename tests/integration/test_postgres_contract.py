"""kind: postgres keeps the contract of tools: the suite of noetl.testing.tool_suite against a real server."""

import pytest

from noetl.testing.hands import call, hands
from noetl.testing.tool_suite import PLANTED_SECRET, Entry, Specimen, pair_name, pairs
from noetl.tools import postgres
from tests.integration.postgres_parts import backends, sql


def specimen_over(url: str) -> Specimen:
    credentials = {
        "db": {"dsn": url},
        "known": {"dsn": url, "password": PLANTED_SECRET},
        "gone": {"dsn": f"postgresql://me:{PLANTED_SECRET}@127.0.0.1:1/none"},
        "broken": {"dsn": f"postgresql://me:{PLANTED_SECRET}@[half"},
    }

    def given(auth: str = "db", **values):
        return call(postgres.KIND, auth=auth, credentials=credentials, **values)

    return Specimen(
        kind=postgres.KIND,
        make=postgres.make,
        hands=hands(),
        good=given(command=sql("SELECT ", 1, "::int AS id")),
        expected=[{"id": 1}],
        final=given(command="SELECT * FROM no_such_table"),
        retryable=given(auth="gone", command="SELECT 1"),
        late=given(command="SELECT pg_sleep(1000)", total_seconds=0.2),
        endless=given(command="SELECT pg_sleep(1000)"),
        is_under_way=lambda: bool(backends(url, "state = 'active'")),
        with_secret=(
            given(auth="known", command="SELECT 1"),
            given(auth="known", command="SELECT 1/0"),
            given(auth="gone", command="SELECT 1"),
            given(auth="broken", command="SELECT 1"),
            given(auth="missing", command="SELECT 1"),
        ),
        left_over=lambda: backends(url),
    )


@pytest.mark.spec("TK-04", "TK-18", "TK-19", "TL-01")
@pytest.mark.parametrize(("entry", "check"), pairs([Entry(name="postgres", open=lambda _: None)]), ids=pair_name)
async def test_a_tool_keeps_the_contract(entry, check, database_url):
    await check(specimen_over(database_url))
