"""Schedules and triggers, workers and jobs, the keychain, and files of exported executions, in a real browser."""

import http.client
import re
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.house import API, House
from tests.browser.pages import PHONE, WAIT_MS_MAX, is_wider_than_its_window, keep, no_serious_faults
from tests.browser.writing import editor, line_with, write

CANARY = "canary-value-5d1f0c77"
SCHEDULE = """apiVersion: noetl.io/v2
kind: Schedule
metadata: {{name: {name}, description: "Each hour, <b>on</b> the hour."}}
spec:
  playbook: {{path: shop/hello}}
  cron: "0 * * * *"
  timezone: Europe/Berlin
  payload: {{name: Berlin}}
"""
TRIGGER = """apiVersion: noetl.io/v2
kind: Trigger
metadata: {name: new_order, description: A request of the shop.}
spec:
  playbook: {path: shop/hello}
  webhook: {auth: token, credential: order_hook}
  rate_per_minute: 60
"""
# One job at a time, for longer than anybody looks.
QUICK = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: quick, path: house/quick}
workflow:
  - step: each
    loop:
      in: "{{ range(5000) | list }}"
      iterator: n
    tool:
      kind: python
      input:
        code: |
          import time
          time.sleep(0.3)
"""
LONG = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: long, path: house/long}
workflow:
  - step: each
    loop:
      in: "{{ range(6) | list }}"
      iterator: one
      spec: {mode: parallel, max_in_flight: 3}
    tool:
      - name: hold
        kind: shell
        command: exec sleep 300
"""
NEEDY = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: needy, path: house/needy}
keychain:
  - name: orders_api
    kind: bearer
  - name: nobody_has_it
    kind: basic
workflow:
  - step: look
    tool: {kind: noop}
"""
DROP = """([text, name]) => {
  const moved = new DataTransfer();
  moved.items.add(new File([text], name));
  const told = (kind) => dispatchEvent(new DragEvent(kind, { dataTransfer: moved, cancelable: true }));
  told("dragover");
  window.letGo = () => told("drop");
}"""


def apply(site: House, text: str, name: str, kind: str = "schedules") -> None:
    site.ask("PUT", f"/{kind}/{name}", text.encode(), media="application/yaml")


def exported(site: House, execution_id: str) -> str:
    """The file of an execution."""
    with closing(http.client.HTTPConnection(urlsplit(site.url).netloc, timeout=60)) as line:
        headers = {"Authorization": f"Bearer {site.tokens['admin']}"}
        line.request("GET", f"{API}/executions/{execution_id}/export", headers=headers)
        return line.getresponse().read().decode()


def drop(page: Page, text: str, name: str = "run.noetl") -> None:
    page.evaluate(DROP, [text, name])
    expect(page.get_by_text("Drop an exported execution here")).to_be_visible()
    page.evaluate("letGo()")


def opened(page: Page, name: str):
    """The drawer or dialog of that name."""
    return page.get_by_role("dialog", name=name)


@pytest.fixture
def hourly(site: House):
    """A schedule for one test."""
    apply(site, SCHEDULE.format(name="hourly"), "hourly")
    yield "hourly"
    if any(row["name"] == "hourly" for row in site.get("/schedules")["schedules"]):
        site.ask("DELETE", "/schedules/hourly")


# --- schedules and triggers ------------------------------------------------------------------------------------------


def test_a_schedule_is_paused_and_resumed_and_the_list_follows(visit, site, hourly):
    page = visit("runner", "/schedules")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=re.compile("^hourly")))
    expect(row).to_contain_text("active")
    expect(row.get_by_text(re.compile(r"^(in \d+ [hms]|now)$"))).to_be_visible()

    row.get_by_role("button", name="Pause hourly").click()
    expect(row).to_contain_text("paused")
    assert site.get("/schedules/hourly")["state"] == "paused"
    site.post("/schedules/hourly/resume", {})

    expect(row).to_contain_text("active")  # somebody else did that: the bell told of it
    keep(page, "schedules-list")
    no_serious_faults(page)


def test_the_details_of_a_schedule_have_its_times_its_firings_and_its_command_lines(visit, site, seed, hourly):
    page = visit("runner", "/schedules?show=hourly")
    drawer = opened(page, "hourly")
    times = drawer.locator("section", has=page.get_by_role("heading", name="Next 10 times")).get_by_role("listitem")
    expect(times).to_have_count(10)
    expect(times.first).to_contain_text(re.compile(r"T\d\d:00:00\+0[12]:00"))
    expect(drawer.get_by_text("Each hour, <b>on</b> the hour.")).to_be_visible()
    expect(drawer.get_by_role("button", name="Remove…")).to_have_attribute("title", re.compile("needs the role author"))

    drawer.locator("footer").get_by_role("button", name="Run now").click()
    site.follow(drawer.get_by_role("status").get_by_role("link").inner_text())
    drawer.locator(".schedules-commands").get_by_role("button", name="Pause").click()

    expect(drawer.get_by_text("noetl schedule pause hourly")).to_be_visible()
    keep(page, "schedule")
    no_serious_faults(page)
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(r"/ui/schedules$"))


def test_a_schedule_is_written_with_a_mistake_shown_in_its_place_then_applied_and_removed(visit, site, seed):
    visit.allowed.append("422")
    page = visit("author", "/schedules")
    page.get_by_role("button", name="New schedule").click()
    expect(line_with(page, "kind: Schedule")).to_be_visible()
    write(page, SCHEDULE.format(name="written").replace("0 * * * *", "0 25 * * *"))

    finding = page.get_by_role("list", name="Findings").get_by_role("listitem")
    expect(finding.first).to_contain_text("25")
    keep(page, "schedule-mistake")
    no_serious_faults(page)
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(finding.first).to_contain_text("25")
    write(page, SCHEDULE.format(name="written"))
    expect(finding).to_have_count(0)
    page.get_by_role("button", name="Apply", exact=True).click()
    page.get_by_role("link", name=re.compile("^written")).click()
    expect(opened(page, "written").get_by_text("active", exact=True)).to_be_visible()
    opened(page, "written").get_by_role("button", name="Edit").click()
    expect(line_with(page, "timezone: Europe/Berlin")).to_be_visible()
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(page.get_by_text("written was like this already")).to_be_visible()
    page.get_by_role("link", name=re.compile("^written")).click()
    opened(page, "written").get_by_role("button", name="Remove…").click()
    opened(page, "Remove written?").get_by_role("button", name="Remove written").click()

    expect(page.get_by_role("dialog")).to_have_count(0)
    assert not [row for row in site.get("/schedules")["schedules"] if row["name"] == "written"]


def test_a_trigger_says_where_requests_go_and_a_text_without_one_what_is_missing(visit, site, seed):
    page = visit("author", "/schedules?tab=triggers&edit=")
    expect(line_with(page, "kind: Trigger")).to_be_visible()
    write(page, SCHEDULE.format(name="other"))
    expect(page.get_by_text("There is no document with kind: Trigger in this text.")).to_be_visible()
    expect(page.get_by_role("button", name="Apply", exact=True)).to_have_attribute("aria-disabled", "true")

    write(page, TRIGGER)
    page.get_by_role("button", name="Apply", exact=True).click()
    page.get_by_role("link", name=re.compile("^new_order")).click()

    drawer = opened(page, "new_order")
    expect(drawer.get_by_text(f"{site.url}/api/v1/hooks/new_order")).to_be_visible()
    expect(drawer.get_by_text("order_hook", exact=True)).to_be_visible()
    keep(page, "trigger")
    no_serious_faults(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("row").filter(has_text="new_order")).to_contain_text("webhook, by token")
    keep(page, "triggers")
    page.get_by_role("link", name=re.compile("^new_order")).click()
    drawer.get_by_role("button", name="Edit").click()
    expect(line_with(page, "order_hook")).to_be_visible()
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(page.get_by_text("new_order was like this already")).to_be_visible()
    site.ask("DELETE", "/triggers/new_order")
    expect(page.get_by_text("No trigger is there yet")).to_be_visible()


def test_a_viewer_reads_a_schedule_and_changes_nothing(visit, hourly):
    page = visit("viewer", "/schedules?edit=hourly")

    expect(line_with(page, "kind: Schedule")).to_be_visible()
    expect(page.get_by_role("button", name="Apply", exact=True)).to_have_attribute(
        "title", "this needs the role author; this token has viewer"
    )
    editor(page).click()
    page.keyboard.type("x")
    expect(line_with(page, "apiVersion: noetl.io/v2")).to_be_visible()


# --- workers and jobs ------------------------------------------------------------------------------------------------


def test_who_holds_what_shows_while_a_long_loop_runs(visit, site):
    site.register(LONG)
    page = visit("viewer", "/workers")
    expect(page.get_by_role("table", name="Workers").get_by_role("row")).to_have_count(2)
    execution_id = site.start("house/long")
    site.follow(execution_id, "task.started")

    held = page.get_by_role("row").filter(has_text=execution_id).filter(has_text="leased")
    expect(held).to_have_count(3)
    expect(held.first).to_contain_text("each · iteration")
    expect(page.get_by_role("table", name="Workers").get_by_role("row").nth(1)).to_contain_text(
        re.compile("3 / [0-9]+")
    )
    keep(page, "workers-busy")
    no_serious_faults(page)
    page.get_by_role("button", name="parked", exact=True).click()
    expect(page).to_have_url(re.compile(r"/ui/workers\?state=parked$"))
    expect(held).to_have_count(0)
    page.get_by_role("button", name="leased", exact=True).click()
    page.reload()
    expect(held).to_have_count(3)
    held.first.get_by_role("link").click()
    expect(page).to_have_url(re.compile(rf"/ui/executions/{execution_id}$"))
    page.go_back()
    site.post(f"/executions/{execution_id}/cancel", {})

    expect(held).to_have_count(0)


def test_the_jobs_of_a_loop_are_shown_as_they_go_by_though_there_are_always_as_many(visit, site):
    site.register(QUICK)
    execution_id = site.start("house/quick")
    site.follow(execution_id, "task.started")
    page = visit("viewer", "/workers")
    row = page.get_by_role("row").filter(has_text=f"{execution_id} house/quick").first
    iteration = re.search(r"iteration \d+", row.inner_text())

    assert iteration is not None
    expect(page.get_by_role("row").filter(has_text=re.compile(rf"{iteration[0]}\b"))).to_have_count(0)
    expect(row).to_be_visible()
    site.post(f"/executions/{execution_id}/cancel", {})


def test_jobs_are_readable_on_a_phone(visit, site):
    site.register(LONG)
    execution_id = site.start("house/long")
    site.follow(execution_id, "task.started")
    page = visit("viewer", "/workers", size=PHONE)
    expect(page.get_by_role("row").filter(has_text=execution_id).first).to_be_visible()
    page.get_by_role("button", name="As a command line").first.click()

    box = page.get_by_text("noetl worker status").bounding_box()
    assert box is not None
    assert 0 <= box["x"] <= PHONE[0] - box["width"]
    page.get_by_role("button", name="As a command line").first.click()
    keep(page, "phone-workers-busy", is_whole=True)
    assert not is_wider_than_its_window(page)
    site.post(f"/executions/{execution_id}/cancel", {})


# --- keychain --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("KC-05")
def test_a_value_goes_into_the_keychain_and_never_comes_out(visit, site):
    site.register(NEEDY)
    page = visit("admin", "/keychain")
    came: list[str] = []
    page.on("response", lambda answer: came.append(answer.url) if "/keychain" in answer.url else None)
    missing = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="orders_api"))
    expect(missing.get_by_role("link", name="house/needy")).to_be_visible()
    missing.get_by_role("button", name="As a command line").click()
    expect(missing.get_by_text("noetl keychain set orders_api --kind bearer")).to_be_visible()
    missing.get_by_role("button", name="As a command line").click()

    missing.get_by_role("button", name="Store orders_api").click()
    field = page.get_by_label("token", exact=True)
    expect(field).to_have_attribute("type", "password")
    keep(page, "keychain-store")
    no_serious_faults(page)
    field.fill(CANARY)
    with page.expect_response(lambda answer: answer.request.method == "PUT") as told:
        page.get_by_role("button", name="Store it, encrypted").click()
    assert CANARY not in told.value.text()
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="orders_api", exact=True))
    expect(row).to_contain_text("token")
    expect(row.get_by_role("link", name="house/needy")).to_be_visible()
    expect(page.locator(".toast")).to_have_count(0, timeout=WAIT_MS_MAX)
    keep(page, "keychain-filled")
    no_serious_faults(page)
    row.get_by_role("link", name="orders_api", exact=True).click()
    drawer = opened(page, "orders_api")
    drawer.get_by_role("button", name="Test it").click()
    expect(drawer.get_by_text("It works")).to_be_visible()
    keep(page, "credential")
    no_serious_faults(page)

    held = "JSON.stringify({...sessionStorage, ...localStorage}) + document.documentElement.outerHTML"
    assert CANARY not in page.evaluate(f"{held} + [...document.querySelectorAll('input')].map((one) => one.value)")
    assert CANARY not in str(site.get("/keychain"))
    drawer.get_by_role("button", name="Remove…").click()
    gone = opened(page, "Remove orders_api?")
    expect(gone).to_contain_text("1 playbook will fail without it")
    gone.get_by_role("button", name="Remove orders_api").click()
    expect(missing.get_by_role("button", name="Store orders_api")).to_be_visible()
    assert came


def test_a_form_that_is_not_complete_says_so_and_empties_its_secrets(visit, site):
    page = visit("admin", "/keychain")
    page.get_by_role("button", name="Store a credential").first.click()
    page.get_by_label("Kind").select_option("basic")
    page.get_by_label("password", exact=True).fill(CANARY)
    page.get_by_label("Name", exact=True).fill("half")

    page.get_by_role("button", name="Store it, encrypted").click()

    expect(page.get_by_role("alert")).to_contain_text("Still needed: username.")
    expect(page.get_by_label("password", exact=True)).to_have_value("")
    assert not [row for row in site.get("/keychain")["credentials"] if row["name"] == "half"]


def test_roles_see_of_the_keychain_what_they_may(visit, site):
    site.register(NEEDY)
    viewer = visit("viewer", "/keychain")
    expect(viewer.get_by_text("This token may not see the keychain")).to_be_visible()
    keep(viewer, "keychain-viewer")
    no_serious_faults(viewer)

    author = visit("author", "/keychain")

    expect(author.get_by_role("heading", name="nobody_has_it")).to_be_visible()
    expect(author.get_by_role("button", name="Store nobody_has_it")).to_have_attribute(
        "title", "this needs the role admin; this token has author"
    )


# --- files -----------------------------------------------------------------------------------------------------------


def test_an_exported_execution_is_dropped_on_any_page_and_looked_at(visit, site, seed):
    text = exported(site, seed["broken"])
    page = visit("viewer", "/playbooks")
    page.evaluate(DROP, [text, "broken.noetl"])
    expect(page.get_by_text("Drop an exported execution here")).to_be_visible()
    keep(page, "drop")
    page.evaluate(DROP, [text, "broken.noetl"])

    page.evaluate("letGo()")

    expect(page.get_by_text("kept for an hour, for this token alone")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/ui/executions/\d+$"))
    viewed = page.url.rpartition("/")[2]
    assert viewed != seed["broken"]
    expect(page.get_by_role("main")).to_contain_text("shop/broken")
    with pytest.raises(AssertionError, match="404"):
        site.get(f"/executions/{viewed}", "runner")


def test_a_file_is_a_record_nothing_is_offered_that_cannot_be_done(visit, site, seed):
    page = visit("admin", "/open")
    drop(page, exported(site, seed["broken"]))
    expect(page.get_by_text("A record out of a file")).to_be_visible()
    tabs = page.get_by_role("tablist", name="Views of the execution").get_by_role("tab")

    for tab in tabs.all():
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        expect(page.locator(".state-loading")).to_have_count(0)
        expect(page.get_by_role("button", name=re.compile("^(Rerun|Fork|Export|Cancel)"))).to_have_count(0)
        expect(page.get_by_role("button", name="As a command line", exact=True)).to_have_count(0)
        no_serious_faults(page)
    page.get_by_role("link", name="divide").click()

    drawer = page.get_by_role("dialog")
    expect(drawer).to_contain_text("ZeroDivisionError")
    expect(drawer.get_by_role("button", name=re.compile("Rerun|command line"))).to_have_count(0)
    keep(page, "open-step")
    drawer.get_by_role("button", name="Close").last.click()
    page.get_by_role("button", name="Keep it here").click()
    expect(page.get_by_text("noetl import FILE.noetl", exact=True)).to_be_visible()


def test_a_file_is_chosen_and_one_that_is_damaged_says_where_and_why(visit, site, seed):
    visit.allowed.append("422")
    lines = exported(site, seed["hello"]).splitlines()
    page = visit("viewer", "/open")
    expect(page.get_by_text("keeps it in its memory for an hour")).to_be_visible()
    expect(page.get_by_text(re.compile(r"Only the token that brings it sees it \(a viewer, viewer\)"))).to_be_visible()

    lines[2] = "{ no event"
    page.get_by_label("An exported execution").set_input_files(
        {"name": "cut.noetl", "mimeType": "text/plain", "buffer": "\n".join(lines).encode()}
    )
    expect(page.get_by_role("alert")).to_contain_text("Line 3:")
    keep(page, "open-damaged")
    no_serious_faults(page)
    page.get_by_label("An exported execution").set_input_files(
        {"name": "empty.noetl", "mimeType": "text/plain", "buffer": b""}
    )

    expect(page.get_by_role("alert")).to_contain_text("The file is empty")


def test_a_file_dropped_on_the_page_that_opens_files_takes_the_place_of_the_one_before(visit, site, seed):
    visit.allowed.append("422")
    page = visit("viewer", "/open")
    drop(page, "no export", "odd.noetl")
    expect(page.get_by_role("alert")).to_contain_text("odd.noetl is no whole export")

    drop(page, exported(site, seed["hello"]))

    expect(page).to_have_url(re.compile(r"/ui/executions/\d+$"))
    expect(page.get_by_role("main")).to_contain_text("shop/hello")
