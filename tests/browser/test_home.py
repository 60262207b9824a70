"""Home: how things stand at a glance; and the first visit, which leads to a first execution."""

import re

from playwright.sync_api import expect

from tests.browser.house import house
from tests.browser.pages import PHONE, is_wider_than_its_window, keep, no_serious_faults

MARKUP = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: odd, path: home/odd}
workflow:
  - step: break_it
    tool:
      kind: python
      code: raise ValueError("<img src=x onerror=alert(1)> broke")
"""


def test_the_first_visit_leads_to_a_first_execution(visit, tmp_path):
    visit.allowed.append("ERR_")  # this server ends before the page does
    with house(tmp_path) as fresh:
        page = visit("admin", "/", house=fresh)
        expect(page.get_by_role("heading", name="Welcome to NoETL")).to_be_visible()
        expect(page.get_by_text("noetl catalog register hello.yaml")).to_be_visible()
        keep(page, "home-first")
        no_serious_faults(page)

        page.get_by_role("button", name="New playbook").click()
        page.get_by_role("textbox", name="Path").fill("hello")
        page.get_by_role("button", name="Write it").click()
        page.get_by_role("button", name="Register", exact=True).click()
        page.get_by_role("link", name="Run it").click()
        page.get_by_role("button", name="Run hello").click()
        expect(page).to_have_url(re.compile(r"/ui/executions/\d+$"))
        fresh.follow(page.url.rpartition("/")[2])
        page.get_by_role("link", name="Home", exact=True).click()

        expect(page.get_by_role("link", name="1 succeeded in a day")).to_be_visible()


def test_what_fails_shows_at_once_with_its_reason_as_text(visit, site, seed):
    site.register(MARKUP)
    page = visit("viewer", "/")
    failed = page.locator("section", has=page.get_by_role("heading", name="Failed in the last day"))
    expect(failed.get_by_role("link", name=re.compile(seed["broken"]))).to_be_visible()

    execution_id = site.run("home/odd")

    one = failed.get_by_role("listitem").filter(has=page.get_by_role("link", name=re.compile(rf"\b{execution_id}$")))
    expect(one).to_contain_text("break_it / break_it_task: ValueError: <img src=x onerror=alert(1)> broke")
    assert page.locator("img[src='x']").count() == 0
    one.get_by_role("link").click()
    expect(page).to_have_url(re.compile(rf"/ui/executions/{execution_id}$"))


def test_what_is_under_way_shows_at_once_and_goes_when_it_ends(visit, site, seed):
    page = visit("viewer", "/")
    under_way = page.locator("section", has=page.get_by_role("heading", name="Under way"))
    expect(under_way.get_by_role("link", name=re.compile(rf"\b{seed['waiting']}$"))).to_be_visible()

    execution_id = site.start("shop/waiting")
    one = under_way.get_by_role("link", name=re.compile(rf"\b{execution_id}$"))
    expect(one).to_be_visible()
    site.post(f"/executions/{execution_id}/cancel", {})

    expect(one).to_have_count(0)


def test_the_day_is_a_chart_and_a_table(visit, seed):
    page = visit("viewer", "/")
    bar = page.get_by_role("link", name=re.compile(r"^\d\d:00: \d+ success, [1-9]\d* failed, \d+ cancelled$"))
    expect(bar).to_be_visible()

    page.get_by_role("button", name="Table").click()

    expect(page.get_by_role("columnheader", name="failed")).to_be_visible()
    expect(page.get_by_role("rowheader")).to_have_count(24)
    no_serious_faults(page)


def test_counts_lead_to_the_executions_that_they_count(visit, seed):
    page = visit("viewer", "/", size=PHONE)
    tile = page.get_by_role("link", name=re.compile(r"^\d+ failed in a day$"))
    expect(tile).to_be_visible()
    assert not is_wider_than_its_window(page)

    tile.click()

    expect(page).to_have_url(re.compile(r"/ui/executions\?status=failed&since=24h$"))


def test_health_names_store_queue_and_workers(visit, seed):
    page = visit("viewer", "/")
    health = page.locator("section", has=page.get_by_role("heading", name="Health"))

    for part in ("store", "queue", "workers"):
        expect(health.get_by_text(part, exact=True)).to_be_visible()
