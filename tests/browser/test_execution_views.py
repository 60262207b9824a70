"""The views of an execution: time travel, timeline, data, logs, evaluate; and that payloads are text in all of them."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.execution_playbooks import HOSTILE, LARGE, MARKUP, ORDERS
from tests.browser.pages import keep, no_serious_faults


@pytest.fixture(scope="module")
def failed(site) -> str:
    site.register(ORDERS)
    return str(site.run("desk/orders"))


def test_time_is_scrubbed_by_keys_and_shows_what_each_event_did(visit, failed):
    page = visit("runner", f"/executions/{failed}/travel?seq=8")
    slider = page.get_by_role("slider", name="Event")
    expect(page.get_by_role("heading", name="step.done")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="ctx.divisor")).to_contain_text("not there")
    keep(page, "execution-travel")
    no_serious_faults(page)

    slider.press("ArrowRight")
    expect(page.get_by_role("heading", name="next.evaluated")).to_be_visible()
    taken = page.locator(".execution-verdict.is-chosen")
    expect(taken).to_have_count(2)
    expect(page.locator(".execution-verdict").filter(has_text="archive")).to_contain_text("false")
    expect(page.locator(".execution-verdict").filter(has_text="notify")).to_contain_text("ctx.orders")
    expect(page).to_have_url(re.compile(r"seq=9$"))
    slider.press("End")
    expect(page.get_by_role("heading", name="playbook.processed")).to_be_visible()
    slider.press("PageUp")
    slider.press("Home")

    expect(page.get_by_role("heading", name="playbook.execution.requested")).to_be_visible()
    expect(page.locator(".react-flow__node").filter(has_text="price")).to_contain_text("not run")
    fork = page.get_by_role("button", name="Fork from this event…")
    expect(fork).to_have_attribute("aria-disabled", "true")


def test_play_goes_to_the_end_by_itself(visit, failed, site):
    last = site.get(f"/executions/{failed}")["events"]
    page = visit("viewer", f"/executions/{failed}/travel?seq={last - 2}")

    page.get_by_role("button", name="Play").click()

    expect(page.get_by_role("slider", name="Event")).to_have_value(str(last))
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_a_fork_from_an_event_keeps_what_came_before(visit, site, failed):
    page = visit("runner", f"/executions/{failed}/travel?seq=9")

    page.get_by_role("button", name="Fork from this event…").click()
    page.get_by_label("ctx.divisor").fill("2")
    page.get_by_role("button", name="Start the new execution").click()

    expect(page.locator(".execution-title")).to_contain_text("success")
    expect(page.get_by_text(f"goes on from event 9 of {failed}")).to_be_visible()


def test_the_timeline_opens_runs_by_keys_and_is_a_table_too(visit, failed):
    page = visit("viewer", f"/executions/{failed}/timeline")
    grid = page.get_by_role("treegrid")
    expect(grid.get_by_role("row")).to_have_count(3)
    expect(page.locator(".execution-gantt-bar.is-critical")).to_have_count(2)

    grid.get_by_role("row").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(grid.get_by_role("row", level=2)).to_have_count(2)
    page.keyboard.press("+")
    keep(page, "execution-timeline")
    no_serious_faults(page)
    page.keyboard.press("0")
    page.keyboard.press("ArrowLeft")
    expect(grid.get_by_role("row", level=2)).to_have_count(0)
    page.get_by_role("button", name="Table").click()

    table = page.get_by_role("table", name="Step runs")
    expect(table.get_by_role("row").filter(has_text="price")).to_contain_text("critical")
    keep(page, "execution-timeline-table")
    no_serious_faults(page)


def test_data_is_shown_as_tables_and_large_results_as_previews(visit, site, failed):
    site.register(LARGE)
    large = site.run("desk/large")
    page = visit("viewer", f"/executions/{large}/data")

    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("table", name="result")).to_contain_text("row 0")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()

    assert download.value.suggested_filename.endswith(".json")
    keep(page, "execution-data")
    no_serious_faults(page)


def test_lines_are_found_by_level_step_and_text(visit, failed):
    page = visit("viewer", f"/executions/{failed}/logs")
    lines = page.locator(".execution-line")
    expect(lines.filter(has_text="fetching orders")).to_be_visible()
    keep(page, "execution-logs")
    no_serious_faults(page)

    page.get_by_label("Level").select_option("warning")
    expect(lines.filter(has_text="fetching orders")).to_have_count(0)
    expect(lines.filter(has_text="two orders have no address")).to_be_visible()
    page.get_by_label("Level").select_option("")
    page.get_by_label("Text").fill("FETCHING")

    expect(lines).to_have_count(1)
    expect(page).to_have_url(re.compile(r"q=FETCHING"))
    lines.first.get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"/travel\?seq=\d+$"))


def test_an_expression_is_evaluated_at_any_event(visit, failed):
    page = visit("viewer", f"/executions/{failed}/evaluate")
    field = page.get_by_label("Expression")

    field.fill("ctx.orders | length")
    field.press("Control+Enter")
    expect(page.get_by_label("result", exact=True)).to_contain_text("8")
    expect(page.locator(".execution-reads")).to_contain_text("ctx.orders")
    keep(page, "execution-evaluate")
    no_serious_faults(page)
    page.get_by_label("After event").fill("7")
    page.get_by_role("button", name="Evaluate").click()
    expect(page.get_by_text("after event 7")).to_be_visible()
    field.fill("ctx.orders |")
    page.get_by_role("button", name="Evaluate").click()
    expect(page.get_by_role("heading", name="It cannot be evaluated")).to_be_visible()
    page.reload()

    expect(page.get_by_role("button", name="ctx.orders | length")).to_be_visible()


@pytest.mark.parametrize("tab", ["?step=fail", "/timeline", "/travel?seq=8", "/data", "/logs", "/evaluate"])
def test_markup_in_payloads_errors_and_lines_is_text(visit, site, tab):
    site.register(MARKUP)
    execution_id = site.run("desk/markup", text=HOSTILE)
    page = visit("viewer", f"/executions/{execution_id}{tab}")
    expect(page.get_by_role("note").first).to_contain_text(HOSTILE)
    if tab == "/evaluate":
        page.get_by_label("Expression").fill("workload.text")
        page.get_by_role("button", name="Evaluate").click()
        expect(page.get_by_label("result", exact=True)).to_contain_text("<script>")

    expect(page.locator(".state-loading")).to_have_count(0)

    assert page.locator("main img, dialog img, main b").count() == 0
    assert "owned" not in page.title()
