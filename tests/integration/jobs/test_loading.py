"""Jobs that move data: what stands in the tables afterwards, and what was asked of the API."""

from datetime import date

import pytest

from noetl.testing.http_server import Answer

pytestmark = pytest.mark.slow


def order(number, customer, amount, updated_at):
    return {"id": number, "customer": customer, "amount": amount, "updated_at": updated_at}


# --- nightly_load ----------------------------------------------------------------------------------------------------

FIRST_NIGHT = [
    Answer(json={"rows": [order(1, "Ada", 10, "2026-03-01T08:00:00Z")], "has_more": True}),
    Answer(status=503),
    Answer(json={"rows": [order(2, "Linus", 5.5, "2026-03-01T09:30:00Z")], "has_more": False}),
]


def test_nightly_load_takes_what_changed_since_the_night_before_and_doubles_nothing(stage):
    stage.api.script("/orders", *FIRST_NIGHT)
    first = stage.run("nightly_load")
    stage.api.script(
        "/orders", Answer(json={"rows": [order(2, "Linus", 7, "2026-03-02T01:00:00Z")], "has_more": False})
    )
    second = stage.run("nightly_load")
    stage.api.script("/orders", Answer(json={"rows": [], "has_more": False}))
    third = stage.run("nightly_load")

    assert [night["output"]["data"][0]["loaded"] for night in (first, second, third)] == [2, 1, 0]
    assert stage.sql("SELECT id, customer, amount::float8 FROM orders ORDER BY id") == [(1, "Ada", 10), (2, "Linus", 7)]
    asked = [(seen.query["since"][0], seen.query["page"][0], seen.status) for seen in stage.api.requests("/orders")]
    assert asked == [
        ("1970-01-01T00:00:00+00:00", "1", 200),
        ("1970-01-01T00:00:00+00:00", "2", 503),
        ("1970-01-01T00:00:00+00:00", "2", 200),
        ("2026-03-01T09:30:00+00:00", "1", 200),
        ("2026-03-02T01:00:00+00:00", "1", 200),
    ]


def test_nightly_load_keeps_the_pages_it_has_when_a_later_one_is_refused_and_tells(stage):
    stage.api.script("/orders", FIRST_NIGHT[0], Answer(status=403))
    stage.api.script("/alarms", Answer(status=201, json={}))
    failed = stage.run("nightly_load")
    stage.api.script("/orders", FIRST_NIGHT[2])
    good = stage.run("nightly_load")

    assert (failed["status"], failed["error"]["step"]) == ("failed", "alarm")
    assert "HTTP 403" in stage.sent("/alarms")[0]["text"]
    assert good["output"]["data"][0] == {"loaded": 1, "orders": 2, "reached": "2026-03-01T09:30:00+00:00"}
    assert stage.api.requests("/orders")[-1].query["since"] == ["2026-03-01T08:00:00+00:00"]


# --- sales_report ----------------------------------------------------------------------------------------------------


def test_sales_report_sends_one_csv_made_of_all_branches(stage):
    stage.api.script("/reports/sales", Answer(status=503), Answer(status=201, json={"id": 1}))

    found = stage.run("sales_report")

    assert found["status"] == "success", found["error"]
    refused, taken = stage.api.requests("/reports/sales")
    assert taken.body.splitlines() == [
        "product,pieces,revenue,sold_in",
        "lamp,4,158.5,north south",
        "chair,4,100.0,south",
        '"book, signed",1,75.5,north',
    ]
    assert (refused.body, taken.headers["content-type"]) == (taken.body, "text/csv")


# --- tenant_export ---------------------------------------------------------------------------------------------------


def test_tenant_export_waits_for_rate_limits_and_remembers_what_a_tenant_lacks(stage):
    page = {"rows": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Linus"}], "has_more": True}
    stage.api.script(
        "/acme/contacts",
        Answer(json=page),
        Answer(status=429, headers={"Retry-After": "1"}),
        Answer(json={"rows": [{"id": 3, "name": "Grace"}], "has_more": False}),
    )
    stage.api.script("/acme/deals", Answer(json={"rows": [{"id": 1, "worth": 5}], "has_more": False}))
    stage.api.script("/globex/contacts", Answer(status=404))
    stage.api.script("/globex/deals", Answer(status=403))

    found = stage.run("tenant_export")

    assert found["output"]["data"] == {
        "rows": 4,
        "not_bought": ["globex/contacts"],
        "refused": ["globex/deals: HTTP 403 from 127.0.0.1"],
    }
    assert stage.sql("SELECT tenant, list, id, body ->> 'name' FROM crm_rows ORDER BY 1, 2, 3") == [
        ("acme", "contacts", "1", "Ada"),
        ("acme", "contacts", "2", "Linus"),
        ("acme", "contacts", "3", "Grace"),
        ("acme", "deals", "1", None),
    ]
    _, limited, again = stage.api.requests("/acme/contacts")
    assert again.started_at - limited.ended_at >= 1.0
    assert {seen.headers["authorization"] for seen in stage.api.requests()} == {"Bearer crm-token"}


# --- long_export -----------------------------------------------------------------------------------------------------

READINGS = """\
{"sensor": "a", "at": "2026-03-01T00:00:00Z", "value": 1.5}
{"sensor": "b", "at": "2026-03-01T00:00:00Z", "value": 2}
"""


@pytest.fixture
def exports(stage):
    stage.sql("CREATE TABLE readings (sensor text, at timestamptz, value float8)")
    stage.api.script("/exports", Answer(status=201, json={"id": "E7"}))
    stage.api.script("/exports/E7/rows", Answer(text=READINGS, headers={"Content-Type": "application/x-ndjson"}))
    return stage


def test_long_export_asks_until_it_is_ready_and_loads_its_rows(exports):
    working, ready = Answer(json={"state": "working"}), Answer(json={"state": "ready"})
    exports.api.script("/exports/E7", working, Answer(status=502), working, ready)

    found = exports.run("long_export")

    assert found["output"]["data"] == {"export": "E7", "rows": 2}
    assert exports.sql("SELECT sensor, value FROM readings ORDER BY 1") == [("a", 1.5), ("b", 2.0)]
    assert exports.sent("/exports") == [{"day": "2026-03-01"}]
    assert [seen.method for seen in exports.api.requests("/exports/E7")] == ["GET"] * 4


def test_long_export_is_cancelled_there_when_it_breaks(exports):
    exports.api.script("/exports/E7", Answer(json={"state": "broken"}))

    found = exports.run("long_export")

    assert (found["status"], found["error"]["step"]) == ("failed", "cancel")
    assert "export E7 was cancelled" in found["error"]["message"]
    assert [seen.method for seen in exports.api.requests("/exports/E7")] == ["GET", "DELETE"]
    assert exports.sql("SELECT count(*) FROM readings") == [0]


# --- backfill --------------------------------------------------------------------------------------------------------


def visits_of(stage, day, *pages):
    rows = [{"page": page, "visits": 3} for page in pages]
    stage.api.script(f"/visits?day={day}", Answer(json={"rows": rows}))


def test_backfill_loads_each_day_by_a_child_and_a_second_time_changes_nothing(stage):
    for day in ("2026-02-27", "2026-02-28", "2026-03-01"):
        visits_of(stage, day, "/", f"/{day}")

    found = [stage.run("backfill", "first=2026-02-27", "last=2026-03-01") for _ in range(2)]

    assert [one["output"]["data"] for one in found] == [{"days": 3, "rows": 6}] * 2
    assert stage.sql("SELECT day, count(*) FROM visits GROUP BY day ORDER BY day") == [
        (date(2026, 2, 27), 2),
        (date(2026, 2, 28), 2),
        (date(2026, 3, 1), 2),
    ]
    listed = stage.noetl("list", "--path", "jobs/backfill_day", "--format", "json").stdout
    assert listed.count('"success"') == 6
    assert stage.api.concurrency_max("/visits") <= 3


def test_backfill_goes_on_past_a_day_that_fails_and_names_it(stage):
    visits_of(stage, "2026-03-01", "/")
    visits_of(stage, "2026-03-03", "/")
    stage.api.script("/visits?day=2026-03-02", Answer(status=410))

    found = stage.run("backfill", "last=2026-03-03")

    assert found["status"] == "failed"
    assert "1 of 3 days failed, run them again: 2026-03-02" in found["error"]["message"]
    assert stage.sql("SELECT count(*) FROM visits") == [2]


# --- replicate_table -------------------------------------------------------------------------------------------------


@pytest.fixture
def two_databases(stage, database_url):
    """Two schemas, which two credentials see as their own: two databases to the job."""
    for name in ("production", "warehouse"):
        stage.sql(f"CREATE SCHEMA {name}")
        stage.sql(f"CREATE TABLE {name}.invoices (id bigint PRIMARY KEY, customer text, amount numeric(12, 2), "
                  "issued_at timestamptz)")  # fmt: skip
        stage.environ[f"NOETL_SECRET_{name.upper()}"] = f'{{"dsn": "{database_url}&options=-csearch_path%3D{name}"}}'
    stage.sql(
        "INSERT INTO production.invoices SELECT n, 'c' || n, n * 1.25, '2026-02-01' FROM generate_series(1, 500) n"
    )
    stage.sql("INSERT INTO warehouse.invoices VALUES (7, 'old', 1, '2020-01-01')")
    yield stage
    stage.sql("DROP SCHEMA production CASCADE; DROP SCHEMA warehouse CASCADE")


def test_replicate_table_replaces_the_copy_and_proves_it(two_databases):
    two_databases.sql("INSERT INTO production.invoices VALUES (501, 'late', 9, '2026-03-02')")

    found = two_databases.run("replicate_table")

    assert found["output"]["data"] == {"copied": 500, "here": {"rows": 500, "amount": "156562.50"}}
    same = "SELECT id, customer, amount, issued_at FROM {}.invoices WHERE id < 501 ORDER BY id"
    assert two_databases.sql(same.format("warehouse")) == two_databases.sql(same.format("production"))


def test_replicate_table_raises_an_alarm_when_the_copy_differs(two_databases):
    two_databases.sql(
        "CREATE FUNCTION warehouse.lose() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN IF NEW.id = 250 THEN RETURN NULL; END IF; RETURN NEW; END $$"
    )
    two_databases.sql(
        "CREATE TRIGGER lose BEFORE INSERT ON warehouse.invoices FOR EACH ROW EXECUTE FUNCTION warehouse.lose()"
    )
    two_databases.api.script("/alarms", Answer(status=201, json={}))

    found = two_databases.run("replicate_table")

    assert (found["status"], found["error"]["step"]) == ("failed", "alarm")
    assert "invoices differ after a copy of 500 rows" in two_databases.sent("/alarms")[0]["text"]
