"""One execution: see why it failed, change a value, run it again from there, and compare; the same by role."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.execution_playbooks import ORDERS
from tests.browser.pages import PHONE, is_wider_than_its_window, keep, no_serious_faults


@pytest.fixture(scope="module")
def failed(site) -> str:
    site.register(ORDERS)
    return str(site.run("desk/orders"))


def node(page: Page, step: str):
    return page.locator(".react-flow__node").filter(has=page.get_by_text(step, exact=True))


def difference(page: Page, name: str):
    return page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name, exact=True))


def test_a_failed_step_is_opened_changed_rerun_from_there_and_compared(visit, site, failed):
    page = visit("runner", f"/executions/{failed}")
    expect(page.get_by_role("note")).to_contain_text("Step price failed in task price_task: ZeroDivisionError")
    expect(node(page, "price")).to_contain_text("failed")
    expect(node(page, "notify")).to_contain_text("8/8")
    expect(node(page, "archive")).to_contain_text("not run")
    keep(page, "execution-graph")
    no_serious_faults(page)

    node(page, "price").click()
    drawer = page.get_by_role("dialog")
    expect(drawer).to_contain_text("2 attempts")
    expect(drawer.get_by_role("table", name="Attempts").get_by_role("row")).to_have_count(3)
    expect(drawer).to_contain_text("retry in 100 ms (rule 1)")
    drawer.get_by_role("button", name="Input", exact=True).click()
    expect(drawer).to_contain_text("divisor: 0")
    drawer.get_by_role("button", name="Why it ran, or did not").click()
    expect(drawer).to_contain_text("taken")
    keep(page, "execution-step")
    no_serious_faults(page)

    drawer.get_by_role("button", name="Rerun from here…").click()
    dialog = page.get_by_role("dialog", name=f"Rerun execution {failed}")
    dialog.get_by_label("ctx.divisor").fill("4")
    expect(dialog).to_contain_text(f"noetl rerun {failed} --from price --set ctx.divisor=4")
    keep(page, "execution-rerun")
    no_serious_faults(page)
    dialog.get_by_role("button", name="Start the new execution").click()
    page.get_by_role("link", name=f"compare with {failed}").click()

    expect(page).to_have_url(re.compile(rf"/executions/\d+/compare\?with={failed}$"))
    expect(page.locator(".execution-title")).to_contain_text("success")
    expect(page.get_by_text("This one was forked from the other after event 9")).to_be_visible()
    steps = page.get_by_role("table", name="Steps of both executions")
    expect(steps.get_by_role("row").filter(has_text="price")).to_contain_text("failed")
    expect(difference(page, "divisor")).to_contain_text("04")
    expect(difference(page, "mean")).to_contain_text("not there")
    keep(page, "execution-compare", is_whole=True)
    no_serious_faults(page)


def test_a_drawer_closes_and_the_address_knows_what_is_open(visit, failed):
    page = visit("viewer", f"/executions/{failed}?step=price")
    expect(page.get_by_role("dialog")).to_contain_text("Step price")

    page.keyboard.press("Escape")

    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page).to_have_url(re.compile(rf"/executions/{failed}$"))


def test_a_viewer_sees_the_deeds_and_why_they_are_not_for_this_role(visit, failed):
    page = visit("viewer", f"/executions/{failed}")

    button = page.get_by_role("button", name="Rerun…")

    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_attribute("title", re.compile("needs the role runner; this token has viewer"))


def test_another_text_of_the_playbook_needs_an_author(visit, failed):
    for role, is_off in (("runner", "true"), ("author", None)):
        page = visit(role, f"/executions/{failed}")
        page.get_by_role("button", name="Rerun…").click()
        button = page.get_by_role("button", name="With another text of the playbook…")
        if is_off:
            expect(button).to_have_attribute("aria-disabled", "true")
        else:
            button.click()
            expect(page.get_by_role("textbox", name="Text of the playbook")).to_be_visible()


def test_a_fork_is_refused_with_the_words_of_the_server(visit, failed, site):
    visit.allowed.append(r"40[09]|422")
    page = visit("runner", f"/executions/{failed}")
    last = site.get(f"/executions/{failed}")["events"]

    page.get_by_role("button", name="Fork…").click()
    page.get_by_role("spinbutton", name="Event").fill(str(last))
    page.get_by_role("button", name="Start the new execution").click()

    expect(page.get_by_role("alert")).to_contain_text("had ended by event")


@pytest.mark.parametrize("tab", ["", "/timeline", "/travel", "/data", "/logs", "/evaluate"])
def test_each_view_is_one_column_on_a_phone(visit, failed, tab):
    page = visit("viewer", f"/executions/{failed}{tab}", size=PHONE)

    expect(page.get_by_role("tab", selected=True)).to_be_in_viewport()

    expect(page.locator(".state-loading")).to_have_count(0)
    assert not is_wider_than_its_window(page)
    keep(page, f"execution{tab.replace('/', '-') or '-graph'}-phone")


def test_an_execution_is_exported_as_a_file(visit, failed):
    page = visit("viewer", f"/executions/{failed}")

    page.get_by_role("button", name="Export…").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Download orders-{failed}.noetl").click()

    lines = download.value.path().read_text().splitlines()
    header = json.loads(lines[0])
    assert (header["format"], header["events"]) == ("noetl.execution", len(lines) - 1)


def test_an_execution_that_is_not_there_says_so(visit):
    visit.allowed.append("404")
    page = visit("viewer", "/executions/999999999")

    expect(page.get_by_role("alert")).to_contain_text("There is no such thing here")
