"""What `noetl init --template etl` writes, run for real: its own API, a real PostgreSQL."""

import json

import pytest

from noetl.cli import exits
from tests.cli.running import serving_api


@pytest.fixture
def project(stage, tmp_path):
    folder = tmp_path / "project"
    assert stage.noetl("init", str(folder), "--template", "etl").returncode == exits.DONE
    return folder


@pytest.fixture
def shop_url(project):
    with serving_api(project) as url:
        yield url


def load_day(stage, project, api_url, day):
    words = ("--format", "json", "--set", f"api_url={api_url}", "--set", f"day={day}")
    return json.loads(stage.noetl("run", str(project / "daily_orders.yaml"), *words).stdout)


@pytest.mark.slow
def test_orders_of_a_day_are_stored_and_totalled_and_a_second_time_changes_nothing(stage, project, shop_url):
    found = [load_day(stage, project, shop_url, "2026-03-02") for _ in range(2)]

    assert [one["output"]["data"] for one in found] == [{"day": "2026-03-02", "stored": 9, "left_out": 0}] * 2
    assert stage.sql("SELECT count(*), sum(amount)::float8 FROM orders") == [(9, 175.5)]
    assert stage.sql("SELECT count(*), sum(orders), sum(amount)::float8 FROM order_totals") == [(5, 9, 175.5)]


@pytest.mark.slow
def test_a_day_without_orders_is_no_fault_and_an_api_that_is_not_there_is_one(stage, project, shop_url):
    empty = load_day(stage, project, shop_url, "2030-01-01")
    lost = load_day(stage, project, f"{shop_url}/nowhere", "2026-03-02")

    assert empty["output"]["data"] == {"day": "2030-01-01", "stored": 0, "left_out": 0}
    assert (lost["status"], lost["error"]["step"], lost["error"]["task"]) == ("failed", "alarm", "give_up")
    assert "orders of 2026-03-02 are not loaded: HTTP 404" in lost["error"]["message"]
