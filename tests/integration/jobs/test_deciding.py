"""Jobs that decide, ask and undo: what they did to tables and services, on the good way and on the bad one."""

import hashlib
import hmac
import json
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from noetl.cli import exits
from noetl.testing.http_server import Answer
from tests.cli.remote_server import serving

pytestmark = pytest.mark.slow
CREATED = Answer(status=201, json={})


# --- order_fulfilment ------------------------------------------------------------------------------------------------


@pytest.fixture
def shop(stage):
    stage.sql("CREATE TABLE stock (item text PRIMARY KEY, pieces int CHECK (pieces >= 0))")
    stage.sql("INSERT INTO stock VALUES ('lamp', 5)")
    stage.api.script("/payments", Answer(status=503), Answer(status=201, json={"id": "P1"}))
    stage.api.script("/payments/P1", Answer(json={}))
    stage.api.script("/parcels", Answer(status=201, json={"tracking": "T9"}))
    return stage


def test_order_fulfilment_takes_charges_and_ships(shop):
    found = shop.run("order_fulfilment")

    assert found["output"]["data"] == {"order": 1001, "payment": "P1", "tracking": "T9"}
    assert shop.sql("SELECT pieces FROM stock") == [3]
    assert len({seen.headers["idempotency-key"] for seen in shop.api.requests("/payments")}) == 2  # one an attempt
    assert shop.sent("/parcels") == [{"order": 1001, "city": "Oslo"}]


@pytest.mark.spec("ST-12")
def test_order_fulfilment_pays_back_and_puts_back_what_cannot_be_shipped(shop):
    shop.api.script("/parcels", Answer(status=422, json={"error": "no such city"}))

    found = shop.run("order_fulfilment")

    assert (found["status"], found["error"]["step"]) == ("failed", "ship")
    assert [(seen.method, seen.path) for seen in shop.api.requests() if seen.status != 503] == [
        ("POST", "/payments"),
        ("POST", "/parcels"),
        ("DELETE", "/payments/P1"),
    ]
    assert (shop.sql("SELECT pieces FROM stock"), shop.sql("SELECT count(*) FROM taken")) == ([5], [0])


def test_order_fulfilment_refuses_what_is_sold_out_and_charges_nothing(shop):
    found = shop.run("order_fulfilment", "order.pieces=6")

    assert (found["status"], found["output"]["data"]) == ("success", {"order": 1001, "refused": "sold out"})
    assert (shop.sql("SELECT pieces FROM stock"), shop.api.requests()) == ([5], [])


# --- quality_gate ----------------------------------------------------------------------------------------------------


@pytest.fixture
def staging(stage):
    stage.sql("CREATE TABLE staging_orders (id bigint, customer text, amount numeric, day date)")
    stage.sql("INSERT INTO staging_orders SELECT n, 'c' || n, n, '2026-03-01' FROM generate_series(1, 8) n")
    stage.sql("INSERT INTO staging_orders VALUES (9, '', -1, '2026-03-01'), (NULL, 'x', 1, '2999-01-01')")
    stage.api.script("/alerts", CREATED)
    return stage


def test_quality_gate_publishes_the_good_and_quarantines_the_bad_with_reasons(staging):
    found = staging.run("quality_gate")

    assert found["output"]["data"] == {"published": 8, "quarantined": 2}
    assert staging.sql("SELECT id FROM orders ORDER BY id") == [*range(1, 9)]
    assert staging.sql("SELECT reasons FROM quarantine ORDER BY (row ->> 'id') NULLS LAST") == [
        ["no customer", "amount is not a price"],
        ["no id", "day is in the future"],
    ]
    assert staging.sql("SELECT count(*) FROM staging_orders") == [0]
    assert "2 of 10 staged orders are bad" in staging.sent("/alerts")[0]["text"]


def test_quality_gate_publishes_nothing_when_too_much_is_bad(staging):
    found = staging.run("quality_gate", "bad_share_max=0.1")

    assert (found["status"], found["error"]["step"]) == ("failed", "refuse")
    assert staging.sql("SELECT count(*) FROM staging_orders") == [10]
    assert staging.sql("SELECT (SELECT count(*) FROM orders) + (SELECT count(*) FROM quarantine)") == [0]


def test_quality_gate_tells_nobody_when_all_is_well(staging):
    staging.sql("DELETE FROM staging_orders WHERE id = 9 OR id IS NULL")

    found = staging.run("quality_gate")

    assert found["output"]["data"] == {"published": 8, "quarantined": 0}
    assert staging.api.requests("/alerts") == []


# --- enrich_customers ------------------------------------------------------------------------------------------------


def test_enrich_customers_joins_three_sources_into_profiles(stage):
    stage.sql("CREATE TABLE customers (id bigint, name text, city text)")
    stage.sql("CREATE TABLE orders (customer_id bigint, amount numeric)")
    stage.sql("INSERT INTO customers VALUES (1, 'Ada', 'São Paulo'), (2, 'Linus', 'Oslo'), (3, 'Grace', 'Oslo')")
    stage.sql("INSERT INTO orders VALUES (1, 10), (1, 2.5), (3, 4)")
    stage.api.script("/geo/S%C3%A3o%20Paulo", Answer(json={"country": "BR"}))
    stage.api.script("/geo/Oslo", Answer(status=500), Answer(json={"country": "NO"}))
    stage.api.script("/score/1", Answer(json={"score": 700}))
    stage.api.script("/score/2", Answer(json={"score": 650}))
    stage.api.script("/score/3", Answer(status=404))

    first, again = (stage.run("enrich_customers") for _ in range(2))

    assert first["output"]["data"] == {"profiles": 3, "without_score": 1}
    assert stage.sql("SELECT customer_id, country, score, bought::float8 FROM profiles ORDER BY 1") == [
        (1, "BR", 700, 12.5),
        (2, "NO", 650, 0.0),
        (3, "NO", None, 4.0),
    ]
    assert len(stage.api.requests("/geo/Oslo")) == 2  # once for both who live there, and once more after the 500
    assert (again["status"], len(stage.api.requests("/score/1"))) == ("success", 1)


# --- payout_approval -------------------------------------------------------------------------------------------------


@pytest.fixture
def bank(stage):
    rows = [{"id": 1, "amount": 900}, {"id": 2, "amount": 600}]
    stage.api.script("/payouts", Answer(json={"rows": rows}))
    for path in ("/payouts/1/pay", "/payouts/2/pay", "/messages"):
        stage.api.script(path, CREATED)
    return stage


def decide(bank, approved):
    """Signal the decision and go on with the run that waits for it."""
    words = ("--set", f"ctx.approved={approved}", "--set", "ctx.approved_by=ada")
    assert bank.noetl("signal", "last", *words).returncode == exits.DONE
    return json.loads(bank.noetl("resume", "last", "--format", "json").stdout)


def test_payout_approval_waits_for_a_yes_and_pays_each_once(bank):
    waiting = bank.run("payout_approval")
    before = bank.api.requests("/payouts/1/pay")
    done = decide(bank, "true")

    assert (waiting["status"], before) == ("waiting", [])
    assert done["output"]["data"] == {"asked_for": 1500, "paid": 1500, "by": "ada"}
    paid = [bank.sent(f"/payouts/{number}/pay") for number in (1, 2)]
    assert paid == [[{"approved_by": "ada"}]] * 2
    (message,) = bank.sent("/messages")
    assert message["yes"].startswith(f"noetl signal {waiting['execution_id']} --set ctx.approved=true")


def test_payout_approval_pays_nothing_after_a_no(bank):
    bank.run("payout_approval")
    done = decide(bank, "false")

    assert done["output"]["data"] == {"asked_for": 1500, "paid": 0, "by": "ada"}
    assert bank.api.requests("/payouts/1/pay") == bank.api.requests("/payouts/2/pay") == []
    assert "ada declined 2 payouts" in bank.sent("/messages")[1]["text"]


def test_payout_approval_asks_nobody_for_a_small_sum(bank):
    found = bank.run("payout_approval", "approve_from=5000")

    assert (found["status"], found["output"]["data"]["paid"]) == ("success", 1500)
    assert bank.api.requests("/messages") == []


# --- webhook_ingest --------------------------------------------------------------------------------------------------


def call_hook(url, body, key=b"shop-secret"):
    """Post a signed request to the hook; the status."""
    data, now = json.dumps(body).encode(), str(int(time.time()))
    signature = hmac.new(key, f"{now}.".encode() + data, hashlib.sha256).hexdigest()
    headers = {"Content-Type": "application/json", "X-NoETL-Timestamp": now, "X-NoETL-Signature": f"sha256={signature}"}
    request = Request(f"{url}/api/v1/hooks/shop_orders", data, headers)  # noqa: S310 - the server of this test
    try:
        with urlopen(request) as answer:  # noqa: S310
            return answer.status
    except HTTPError as error:
        with error:
            return error.code


def wait_for(ask, wanted, seconds=30.0):
    """Until an answer is as wanted, which the caller then asserts."""
    end = time.monotonic() + seconds
    while (found := ask()) != wanted and time.monotonic() < end:
        time.sleep(0.05)
    return found


def test_webhook_ingest_stores_each_signed_order_once_and_keeps_aside_what_is_none(stage):
    stage.environ["NOETL_SECRET_SHOP_KEY"] = json.dumps({"value": "shop-secret"})
    for words in (
        ("catalog", "register", "examples/jobs/webhook_ingest.yaml"),
        ("trigger", "apply", "examples/jobs/webhook_ingest.trigger.yaml"),
    ):
        assert stage.noetl(*words).returncode == exits.DONE
    order = {"order": {"id": 7, "customer": "Ada", "lines": [{"item": "lamp", "pieces": 2, "price": 40.0}]}}

    with serving(stage.home, **stage.environ) as server:
        answers = [
            call_hook(server.url, order),
            call_hook(server.url, order),
            call_hook(server.url, order, key=b"somebody else"),
            call_hook(server.url, {"order": {"id": 8, "customer": "Linus", "lines": []}}),
        ]
        counts = "SELECT (SELECT count(*) FROM shop_orders), (SELECT count(*) FROM shop_refused)"
        wait_for(
            lambda: stage.sql("SELECT count(*) FROM pg_class WHERE relname IN ('shop_orders', 'shop_refused')"), [2]
        )
        found = wait_for(lambda: stage.sql(counts), [(1, 1)])

    assert answers == [202, 202, 401, 202]
    assert found == [(1, 1)]
    assert stage.sql("SELECT id, customer, amount::float8 FROM shop_orders") == [(7, "Ada", 80.0)]
    assert stage.sql("SELECT fault FROM shop_refused") == ["an order without lines"]


# --- retention_cleanup -----------------------------------------------------------------------------------------------


def test_retention_cleanup_archives_before_it_deletes_in_batches(stage):
    stage.sql("CREATE TABLE audit_events (id bigint PRIMARY KEY, at timestamptz, body jsonb)")
    stage.sql(
        "INSERT INTO audit_events SELECT n, now() - interval '100 days', '{\"n\": 1}' FROM generate_series(1, 25) n"
    )
    stage.sql("INSERT INTO audit_events SELECT n, now(), '{}' FROM generate_series(26, 30) n")
    stage.api.script("/archive/audit_events-25.ndjson", Answer(status=503), Answer(status=201, json={}))

    first, again = (stage.run("retention_cleanup", "batch=10") for _ in range(2))

    assert first["output"]["data"] == {"archived": 25, "deleted": 25}
    assert again["output"]["data"] == {"archived": 0, "deleted": 0}
    _, archive = stage.api.requests("/archive/audit_events-25.ndjson")
    assert [json.loads(line)["id"] for line in archive.body.splitlines()] == [*range(1, 26)]
    assert stage.sql("SELECT id FROM audit_events ORDER BY id") == [*range(26, 31)]


def test_retention_cleanup_deletes_nothing_that_the_archive_refused(stage):
    stage.sql("CREATE TABLE audit_events (id bigint PRIMARY KEY, at timestamptz, body jsonb)")
    stage.sql("INSERT INTO audit_events VALUES (1, '2020-01-01', '{}')")
    stage.api.script("/archive/audit_events-1.ndjson", Answer(status=403))

    found = stage.run("retention_cleanup")

    assert (found["status"], found["error"]["step"]) == ("failed", "archive")
    assert stage.sql("SELECT id FROM audit_events") == [1]


# --- press_review ----------------------------------------------------------------------------------------------------


def test_press_review_publishes_the_best_articles_once(stage):
    stage.api.script("/feed", Answer(json={"articles": ["a", "b", "c", "d", "a"]}))
    texts = {"a": "data and cloud", "b": "nothing to say", "c": "a data pipeline"}
    for name, text in texts.items():
        stage.api.script(f"/articles/{name}", Answer(json={"title": f"On {name}", "text": text}))
    stage.api.script("/articles/d", Answer(status=404))
    for name in "ac":
        stage.api.script(f"/review/{name}", Answer(status=503), Answer(status=201, json={}))

    found = stage.run("press_review")

    assert found["output"]["data"] == {"read": 4, "gone": ["d"], "published": ["c", "a"]}
    assert stage.sent("/review/c")[-1] == {"title": "On c", "score": 5}
    assert len(stage.api.requests("/articles/a")) == 1
    assert stage.api.requests("/review/b") == []


# --- credentials_check -----------------------------------------------------------------------------------------------


@pytest.fixture
def credentials(stage, database_url):
    token = Answer(json={"access_token": "mail-token", "expires_in": 3600})
    stage.api.script("/token", token)
    stage.api.script("/me", Answer(json={"name": "noetl"}))
    stage.api.script("/alerts", CREATED)
    mail = {"token_url": f"{stage.api.url}/token", "client_id": "noetl", "client_secret": "mail-secret"}
    stage.environ["NOETL_SECRET_MAIL"] = json.dumps(mail)
    yield stage
    stage.sql("DROP ROLE IF EXISTS short_lived")


def test_credentials_check_is_silent_when_all_of_them_work(credentials):
    found = credentials.run("credentials_check")

    assert (found["status"], found["output"]["data"]) == ("success", {"problems": []})
    assert credentials.api.requests("/alerts") == []
    assert credentials.api.requests("/me")[0].headers["authorization"] == "Bearer crm-token"


def test_credentials_check_tells_what_is_refused_and_what_ends_soon_and_no_secret(credentials, database_url):
    credentials.sql("CREATE ROLE short_lived LOGIN")
    credentials.sql(
        "DO $$ BEGIN EXECUTE format('ALTER ROLE short_lived VALID UNTIL %L', now() + interval '3 days 1 hour'); END $$"
    )
    credentials.environ["NOETL_SECRET_WAREHOUSE"] = json.dumps(
        {"dsn": database_url.replace("postgres@", "short_lived@")}
    )
    credentials.api.script("/me", Answer(status=401, json={"error": "expired"}))

    found = credentials.run("credentials_check")

    (alert,) = credentials.sent("/alerts")
    assert (found["status"], found["error"]["step"]) == ("failed", "alert")
    assert "the password of short_lived ends in 3 days" in alert["text"]
    assert "crm: auth" in alert["text"]
    assert "crm-token" not in json.dumps(found) + alert["text"]


def test_credentials_check_tells_of_an_oauth_client_that_is_refused(credentials):
    credentials.api.script("/token", Answer(status=401, json={"error": "invalid_client"}))

    found = credentials.run("credentials_check")

    (alert,) = credentials.sent("/alerts")
    assert (found["status"], found["error"]["step"]) == ("failed", "alert")
    assert 'the token endpoint of credential "mail" answered HTTP 401' in alert["text"]
    assert "mail-secret" not in json.dumps(found) + alert["text"]


# --- schedules -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("job", "hour"), [("nightly_load", "2:30"), ("retention_cleanup", "4:00")])
def test_the_schedule_of_a_job_is_applied_as_its_head_says(stage, job, hour):
    registered = stage.noetl("catalog", "register", f"examples/jobs/{job}.yaml")
    applied = stage.noetl("schedule", "apply", f"examples/jobs/{job}.schedule.yaml")
    coming = stage.noetl("schedule", "next", job, "--count", "3")

    assert [registered.returncode, applied.returncode] == [exits.DONE, exits.DONE], applied.stderr
    assert coming.stdout.count(f"{hour}:") == 3 or coming.stdout.count(f"0{hour}:00") == 3, coming.stdout
